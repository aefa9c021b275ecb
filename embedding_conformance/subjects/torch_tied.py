"""The facet ``tied_model`` of the subject ``torch``: a small GPT-2 whose output projection is its input table.

Press and Wolf 2017 (arXiv:1608.05859) and Inan et al. 2017 (arXiv:1611.01462) tie the two; GPT-2 does so by default.
"""

from __future__ import annotations

import copy
import tempfile
from importlib.util import find_spec
from typing import Any

import numpy as np

from .torch_stack import to_numpy, torch

#: rows and width of the table: odd, and small enough that a test takes hundreds of forward passes
ROWS, WIDTH = 23, 8
NEW_ROWS = 3


class TorchTiedModel:
    """A causal language model of Transformers in evaluation mode. Ids are one sequence [L] or several [N, L]."""

    def __init__(self, model: Any):
        self.model = model

    @property
    def padding_id(self) -> int | None:
        """The id whose row gets nothing from the input side, as its ``nn.Embedding`` says."""
        return self.model.get_input_embeddings().padding_idx  # type: ignore[no-any-return]

    def table(self) -> np.ndarray:
        """[V, d]"""
        return to_numpy(self.model.get_input_embeddings().weight)

    def assign(self, table: np.ndarray) -> None:
        """Write the numbers of a table [V, d] into the input table, in place."""
        with torch().no_grad():
            self.model.get_input_embeddings().weight.copy_(torch().from_numpy(table))

    def hidden(self, ids: np.ndarray) -> np.ndarray:
        """[*ids.shape, d]: the states of the last layer, normalised as the output projection reads them."""
        with torch().no_grad():
            states = self.model.base_model(sequences(ids)).last_hidden_state
        return to_numpy(states).reshape(*ids.shape, -1)

    def logits(self, ids: np.ndarray) -> np.ndarray:
        """[*ids.shape, V]"""
        with torch().no_grad():
            return to_numpy(self.model(sequences(ids)).logits).reshape(*ids.shape, -1)

    def gradient(self, ids: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """[V, d]: what autograd gives for the input table under the mean cross-entropy."""
        (found,) = torch().autograd.grad(self.loss(ids, targets), self.model.get_input_embeddings().weight)
        return to_numpy(found)

    def step(self, ids: np.ndarray, targets: np.ndarray, learning_rate: float) -> None:
        """One step of torch.optim.SGD on all parameters, in place."""
        optimizer = torch().optim.SGD(self.model.parameters(), lr=learning_rate)
        optimizer.zero_grad()
        self.loss(ids, targets).backward()
        optimizer.step()

    def loss(self, ids: np.ndarray, targets: np.ndarray) -> Any:
        """The mean cross-entropy of the targets at their own places; nothing is shifted."""
        logits = self.model(sequences(ids)).logits.flatten(0, 1)
        return torch().nn.functional.cross_entropy(logits, torch().from_numpy(targets).flatten())

    def parameter_count(self) -> int:
        """Every number once, however many names it has."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def after(self, operation: str) -> TorchTiedModel:
        """A copy after an operation; this model stays as it is."""
        return TorchTiedModel(OPERATIONS[operation](copy.deepcopy(self.model)).eval())


def sequences(ids: np.ndarray) -> Any:
    """Ids as a tensor [N, L]."""
    return torch().from_numpy(ids.reshape(-1, ids.shape[-1]))


def through_state_dict(model: Any) -> Any:
    """A new model with other weights that takes over all weights by name."""
    fresh = type(model)(model.config).to(model.dtype)
    fresh.load_state_dict(model.state_dict())
    return fresh


def through_files(model: Any) -> Any:
    """Written as safetensors and read again."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        return type(model).from_pretrained(folder, local_files_only=True)


def resized(model: Any) -> Any:
    """With a few rows more, drawn by the model's own initialisation."""
    model.resize_token_embeddings(model.config.vocab_size + NEW_ROWS, mean_resizing=False)
    return model


def untied(model: Any) -> Any:
    """With an output projection of its own, which begins with the same numbers."""
    head = model.get_output_embeddings()
    head.weight = torch().nn.Parameter(head.weight.detach().clone())
    model.config.tie_word_embeddings = False
    return model


OPERATIONS = {
    "deepcopy": lambda model: model, "to float64": lambda model: model.double(), "state dict": through_state_dict,
    "save and load": through_files, "resize": resized, "untie": untied,
}


def small_gpt2() -> TorchTiedModel:
    """A new GPT-2 of two layers with the same weights each time; other random numbers are left undisturbed."""
    from transformers.models.gpt2.configuration_gpt2 import GPT2Config
    from transformers.models.gpt2.modeling_gpt2 import GPT2LMHeadModel

    config = GPT2Config(vocab_size=ROWS, n_embd=WIDTH, n_layer=2, n_head=2, n_positions=16, bos_token_id=0,
                        eos_token_id=0)
    config._attn_implementation = "eager"
    with torch().random.fork_rng(devices=[]):
        torch().manual_seed(0)
        return TorchTiedModel(GPT2LMHeadModel(config).eval())


def capabilities() -> set[str]:
    """What the subject ``torch`` offers beyond PyTorch itself, where Transformers is installed."""
    if find_spec("transformers") is None:
        return set()
    return {f"tied_model.{method}" for method in ("table", "assign", "hidden", "logits", "gradient", "step",
                                                  "parameter_count", "after")}
