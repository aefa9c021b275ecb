"""Small model directories, made on the spot: random weights, a small vocabulary."""

import json
from pathlib import Path

WORDS = ["▁The", "▁bank", "▁approved", "▁the", "▁loan", ".", "▁queen", "▁king", "▁", "s", "e"]


def write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def changed(path: Path, **entries: object) -> None:
    """Some entries of a JSON file, replaced or added."""
    write(path, json.loads(path.read_text(encoding="utf-8")) | entries)


def copied(source: Path, target: Path) -> Path:
    """A copy that a test may change; the weights are shared."""
    for path in source.rglob("*.json"):
        (target / path.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
        (target / path.relative_to(source)).write_bytes(path.read_bytes())
    (target / "model.safetensors").hardlink_to(source / "model.safetensors")
    return target


def unigram(folder: Path) -> None:
    """A tokenizer as XLM-R has it, of 15 pieces."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *((word, -3.0) for word in WORDS)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    tokenizer.save(str(folder / "tokenizer.json"))
    write(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>",
                                             "cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>"})


def save(folder: Path, kind: str, precision: str = "float32", **config: object) -> int:
    """The configuration and random weights of a model of Transformers of this kind; returns the width of its table."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoConfig, AutoModel, AutoModelForTextEncoding
    from transformers.models.auto.modeling_auto import MODEL_FOR_TEXT_ENCODING_MAPPING

    settings = AutoConfig.for_model(kind, **config)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        kind_of_model = AutoModelForTextEncoding if type(settings) in MODEL_FOR_TEXT_ENCODING_MAPPING else AutoModel
        made = kind_of_model.from_config(settings).to(getattr(torch, precision))
    write(folder / "config.json", settings.to_dict() | {"dtype": precision})
    tensors = {}
    for name, tensor in made.state_dict().items():
        if not any(tensor is other or tensor.data_ptr() == other.data_ptr() for other in tensors.values()):
            tensors[name] = tensor
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return int(made.get_input_embeddings().weight.shape[1])


def small(folder: Path, kind: str, **config: object) -> Path:
    """A model of Transformers of this kind with random weights; its configuration is the kind's own but for `config`."""
    save(folder, kind, **config)
    unigram(folder)
    return folder


def small_bert(folder: Path) -> Path:
    """A BertModel of two layers, 384 wide, with mean pooling and no normalisation."""
    small(folder, "bert", vocab_size=40, hidden_size=384, num_hidden_layers=2, num_attention_heads=12,
          intermediate_size=1536)
    write(folder / "sentence_bert_config.json", {"max_seq_length": 128})
    write(folder / "modules.json", [
        {"idx": 0, "name": "0", "type": "sentence_transformers.models.Transformer", "path": ""},
        {"idx": 1, "name": "1", "type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}])
    (folder / "1_Pooling").mkdir()
    write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True,
                                                 "pooling_mode_cls_token": False})
    return folder
