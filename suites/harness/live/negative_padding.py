"""Transformers takes pad_token_id=-1 for an id, and nn.Embedding counts it from the end: the last token never trains.

The same kind: huggingface/transformers#25773, ibalazevic/TuckER#17.
"""

from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaForCausalLM

from embedding_conformance.subjects.torch_stack import TorchLayer


class Layer(TorchLayer):
    """The input embeddings of a Llama whose configuration says that it has no padding."""

    def __init__(self):
        config = LlamaConfig(vocab_size=11, hidden_size=8, intermediate_size=16, num_hidden_layers=1,
                             num_attention_heads=2, pad_token_id=-1)
        super().__init__(LlamaForCausalLM(config).get_input_embeddings())
        self.padding_id = None
