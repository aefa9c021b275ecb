"""The subject ``torch``: torch.nn.Embedding, built on the spot around the tables that the checks need."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from ..data import numbered_table
from . import LayerSource, Subject, declared, require_installed


@cache
def torch() -> Any:
    """PyTorch, imported on first use, with one thread: two make small models many times slower."""
    import torch

    torch.set_num_threads(1)
    return torch


class TorchLayer:
    """A layer around an ``nn.Embedding``, which may stand alone or in a model."""

    def __init__(self, embedding: Any):
        self.embedding = embedding
        self.padding_id = embedding.padding_idx

    @classmethod
    def holding(cls, table: np.ndarray, padding_id: int | None = None) -> TorchLayer:
        """A new nn.Embedding that holds a copy of `table` [V, d]."""
        embedding = torch().nn.Embedding(*table.shape, padding_idx=padding_id, dtype=torch().from_numpy(table).dtype)
        with torch().no_grad():
            embedding.weight.copy_(torch().from_numpy(table))
        return cls(embedding)

    def table(self) -> np.ndarray:
        """[V, d]; shares memory with the weight where NumPy knows its format."""
        return to_numpy(self.embedding.weight)

    def lookup(self, ids: Any) -> np.ndarray:
        """ids.shape + [d]"""
        return to_numpy(self.embedding(torch().from_numpy(ids) if isinstance(ids, np.ndarray) else ids))

    def gradient(self, ids: np.ndarray, output_gradient: np.ndarray) -> np.ndarray:
        """[V, d]: what autograd gives for the table; a sparse gradient is added up to a dense one."""
        output = self.embedding(torch().from_numpy(ids))
        (found,) = torch().autograd.grad(output, self.embedding.weight, torch().from_numpy(output_gradient).to(output.dtype))
        return to_numpy(found.to_dense() if found.is_sparse else found)

    def step(self, ids: np.ndarray, output_gradient: np.ndarray, learning_rate: float) -> None:
        """One step of torch.optim.SGD, in place."""
        optimizer = torch().optim.SGD([self.embedding.weight], lr=learning_rate)
        optimizer.zero_grad()
        output = self.embedding(torch().from_numpy(ids))
        output.backward(torch().from_numpy(output_gradient).to(output.dtype))
        optimizer.step()


def lookup_of(embedding: Any) -> Any:
    """The lookup alone, of the very same weight, where a class of Transformers' scales the rows that it has looked up.

    Models of the families of Gemma and BART do: what they multiply by is a step of the network that follows the lookup.
    """
    if scale_of(embedding) is None:
        return embedding
    lookup = torch().nn.Embedding(*embedding.weight.shape, padding_idx=embedding.padding_idx, _weight=embedding.weight)
    lookup.weight = embedding.weight
    return lookup.train(embedding.training)


def scale_of(embedding: Any) -> float | None:
    """What a class of Transformers' multiplies the rows by that it has looked up; None for any other class."""
    scale = getattr(embedding, "embed_scale", None)
    known = isinstance(embedding, torch().nn.Embedding) and type(embedding).__module__.startswith("transformers.")
    return float(scale) if known and scale is not None else None


def scaling(model: Any) -> dict[str, str]:
    """What a report says of a model that scales its rows."""
    scale = scale_of(model.get_input_embeddings())
    return {} if scale in (None, 1) else {"scaling": f"rows are multiplied by {scale:.6g} after the lookup"}


def of_a_model(embedding: Any) -> frozenset[str]:
    """What a TorchLayer around the word table of a model can do; not every model has a row for padding."""
    padding = {"layer.padding_id"} if embedding.padding_idx is not None else set()
    return frozenset({"layer.table", "layer.lookup", "layer.gradient", *padding})


class TorchModule:
    """The facet ``module`` of one nn.Module."""

    def __init__(self, module: Any):
        self._module = module

    def module(self) -> Any:
        return self._module

    def library(self, name: str) -> Any:
        """What PyTorch or Transformers offers by this dotted name."""
        package, _, attribute = name.rpartition(".")
        return getattr(import_module(package), attribute)


def to_numpy(tensor: Any) -> np.ndarray:
    """A tensor as an array; bfloat16, which NumPy does not know, as the float32 numbers that it stands for."""
    tensor = tensor.detach().cpu()
    array: np.ndarray = (tensor.float() if tensor.dtype == torch().bfloat16 else tensor).numpy()
    return array


def open_subject(rest: str = "") -> Subject:
    """The default subject for layers; it needs PyTorch, but imports it only when a layer is made."""
    from . import torch_tied
    from .torch_maker import TorchMaker
    from .torch_training import TorchStep, TorchTrainer

    require_installed("torch", "default", "torch")
    source = LayerSource(lambda: TorchLayer.holding(numbered_table(30, 8)), TorchLayer.holding)
    return Subject(
        name="torch", title=f"torch.nn.Embedding, torch {version('torch')}",
        capabilities=frozenset({"layer.table", "layer.lookup", "layer.with_table", "layer.gradient", "layer.step",
                                "layer.padding_id", "layer_maker.make_layer", "module.module", "module.library",
                                "training_step.mse_step", "trainer.train"}) | torch_tied.capabilities(),
        makers={"layer": lambda: source, "module": lambda: TorchModule(source.default().embedding),
                "layer_maker": TorchMaker, "training_step": TorchStep, "trainer": TorchTrainer,
                "tied_model": torch_tied.small_gpt2},
        declares=declared({"out_of_range_below": "raise", "out_of_range_above": "raise", "precision": "float32",
                           "deterministic": True}, "torch.nn.Embedding"),
        facts={"torch": version("torch")}, shared=False)
