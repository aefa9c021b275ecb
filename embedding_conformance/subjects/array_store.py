"""The subject ``store``: vectors in memory, the sound base of the faulty stores."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..data import generator
from . import Subject, declared
from .facets import recognise

#: where the batches of the default store begin: of unequal size, one of a single row
CUTS = (0, 700, 701, 1900)


class ArrayStore:
    """The facet store around one array [N, d]."""

    def __init__(self, vectors: np.ndarray, texts: list[str], cuts: tuple[int, ...] = CUTS):
        self.vectors = vectors
        self._texts = texts
        self._cuts = cuts

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.vectors)

    def batches(self) -> Iterator[tuple[int, np.ndarray]]:
        """(number of the first row, array [n, d]) for all rows, in order."""
        for start, stop in zip(self._cuts, (*self._cuts[1:], len(self.vectors)), strict=True):
            yield start, self.vectors[start:stop]

    def rows(self, numbers: np.ndarray) -> np.ndarray:
        """[K] -> [K, d]"""
        found: np.ndarray = self.vectors[numbers]
        return found

    def texts(self) -> list[str]:
        """One for each row."""
        return list(self._texts)


def sound_store() -> ArrayStore:
    """2,500 generated directions of 48 numbers, float32, of length one."""
    vectors = generator(0, "store").standard_normal((2500, 48))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return ArrayStore(vectors.astype(np.float32), [f"text {number}" for number in range(len(vectors))])


def open_subject(rest: str = "") -> Subject:
    """The default subject for stored vectors."""
    return Subject(
        name="store", title="2,500 generated vectors of length one, in memory",
        capabilities=frozenset().union(*recognise(sound_store(), "store").values()), makers={"store": sound_store},
        declares=declared({"normalized": True, "precision": "float32", "metric": "cosine"}, "store"))
