"""The subject ``formulas``: what the documents compute by formula, in NumPy."""

from __future__ import annotations

import numpy as np

from . import Subject, declared
from .facets import recognise
from .formula_training import FormulaStep
from .pooling import Pooling


class Formulas(Pooling):
    """Results have the floating format of the vectors that go in."""

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


def open_subject(rest: str = "") -> Subject:
    """The default subject for what is computed and not learned."""
    formulas = Formulas()
    facets = recognise(formulas, "formulas")
    return Subject(
        name="formulas", title="the documents' positions, pooling and cosine matrix, in NumPy",
        capabilities=frozenset({"training_step.mse_step"}).union(*facets.values()),
        makers=dict.fromkeys(facets, lambda: formulas) | {"training_step": FormulaStep},
        declares=declared({"deterministic": True}, "formulas"), facts={"numpy": np.__version__})
