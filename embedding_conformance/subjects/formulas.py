"""The subject ``formulas``: what the documents compute by formula, in NumPy."""

from __future__ import annotations

import numpy as np

from . import Subject, declared
from .exact_index import ExactIndex
from .facets import recognise
from .formula_training import FormulaStep
from .maps import Maps
from .pooling import Pooling
from .small_embedder import DECLARES, SmallEmbedder


class Formulas(Maps, ExactIndex, Pooling):
    """Results have the floating format of the vectors that go in."""

    def one_hot(self, ids: np.ndarray, rows: int) -> np.ndarray:
        """[*ids.shape, rows]: whole numbers, a one at the place of the id; ids outside 0..rows-1 raise IndexError."""
        if ids.size and not (ids.min() >= 0 and ids.max() < rows):
            raise IndexError(f"ids must lie in 0..{rows - 1}")
        code = np.zeros((*ids.shape, rows), np.int64)
        np.put_along_axis(code, ids[..., None], 1, axis=-1)
        return code

    def positions(self, length: int, width: int) -> np.ndarray:
        """[length, width]: sines in the even columns, cosines in the odd ones.

        Column pair i of position p turns by p / 10000^(2 i / width) (Vaswani et al. 2017, section 3.5).
        """
        columns = np.arange(0, width, 2)
        angles = np.arange(length)[:, None] / 10000.0 ** (columns / width)
        code = np.zeros((length, width))
        code[:, 0::2] = np.sin(angles)
        code[:, 1::2] = np.cos(angles)[:, :width // 2]
        return code

    def matrix(self, vectors: np.ndarray) -> np.ndarray:
        """[N, d] -> [N, N]: every row divided by its own length, then all inner products."""
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        cosines: np.ndarray = unit @ unit.T
        return cosines

    def dot(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """[d], [d] -> []: the inner product."""
        return np.asarray(a @ b)

    def cosine(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """[d], [d] -> []: the inner product over the product of the two lengths."""
        return np.asarray(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))

    def distance(self, a: np.ndarray, b: np.ndarray, kind: str) -> np.ndarray:
        """[d], [d] -> []: "euclidean" or "manhattan"; another kind raises ValueError."""
        orders = {"euclidean": 2, "manhattan": 1}
        if kind not in orders:
            raise ValueError(f'kind is "{kind}", and must be one of {", ".join(orders)}')
        return np.asarray(np.linalg.norm(a - b, ord=orders[kind]))


def open_subject(rest: str = "") -> Subject:
    """The default subject for what is computed and not learned."""
    formulas = Formulas()
    facets = recognise(formulas, "formulas")
    return Subject(
        name="formulas", title="the documents' formulas: one-hot codes, positions, pooling, cosines, maps, search, "
                               "analogies; a small embedder of hashed words",
        capabilities=frozenset({"training_step.mse_step", "embedder.embed", "embedder.embed_query"}).union(*facets.values()),
        # A maker for each facet, so that a fault of one facet is judged on that facet alone.
        makers={facet: lambda: formulas for facet in facets}
        | {"training_step": FormulaStep, "embedder": SmallEmbedder},
        declares=declared({"exact": True}, "formulas") | declared(DECLARES, "small_embedder"), facts={"numpy": np.__version__})
