"""A plain NumPy layer: the sound base of the faulty layers, so that `fault:` needs no PyTorch."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from . import LayerSource, Subject, declared


class NumpyLayer:
    """A table of V rows and d columns; ids outside 0..V-1 raise IndexError."""

    def __init__(self, table: np.ndarray, padding_id: int | None = None):
        self.weight = np.array(table)
        self.padding_id = padding_id

    def table(self) -> np.ndarray:
        """[V, d]"""
        return self.weight

    def lookup(self, ids: Any) -> np.ndarray:
        """ids.shape + [d]"""
        ids = np.asarray(ids)
        if not np.issubdtype(ids.dtype, np.integer):
            raise TypeError(f"ids must be integers, not {ids.dtype}")
        self._refuse_outside(ids)
        rows: np.ndarray = self.weight[ids].copy()
        return rows

    def _refuse_outside(self, ids: np.ndarray) -> None:
        if ids.size and not (ids.min() >= 0 and ids.max() < len(self.weight)):
            raise IndexError(f"ids must lie in 0..{len(self.weight) - 1}")

    def gradient(self, ids: np.ndarray, output_gradient: np.ndarray) -> np.ndarray:
        """[V, d]: the sum of the output gradients of every id, added in float64 and rounded once; none for padding."""
        self._refuse_outside(ids)
        total = np.zeros(self.weight.shape, np.float64)
        np.add.at(total, ids, output_gradient.astype(np.float64))
        if self.padding_id is not None:
            total[self.padding_id] = 0
        return total.astype(self.weight.dtype)

    def step(self, ids: np.ndarray, output_gradient: np.ndarray, learning_rate: float) -> None:
        """Plain gradient descent, in place."""
        self.weight -= (learning_rate * self.gradient(ids, output_gradient)).astype(self.weight.dtype)


class FrozenLayer(NumpyLayer):
    """The same without a gradient: the sound base of layers that are not trained."""

    declares: ClassVar = {"out_of_range_below": "raise", "out_of_range_above": "raise"}
    gradient = step = None  # type: ignore[assignment]


def open_subject(rest: str = "") -> Subject:
    """The NumPy layer as a subject; it has no string of its own, faults and sound variants are built from it."""
    from ..data import numbered_table

    source = LayerSource(lambda: NumpyLayer(numbered_table(30, 8)), NumpyLayer)
    return Subject(
        name="numpy", title="a table in NumPy",
        capabilities=frozenset({"layer.table", "layer.lookup", "layer.with_table", "layer.gradient", "layer.step",
                                "layer.padding_id"}),
        makers={"layer": lambda: source},
        declares=declared({"out_of_range_below": "raise", "out_of_range_above": "raise", "precision": "float32",
                           "deterministic": True}, "NumpyLayer"),
        shared=False)
