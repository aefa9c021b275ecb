"""Cosines by plain loops with exact sums."""

from math import fsum, sqrt

import numpy as np


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """Of two vectors [d]: every sum is exact until it is rounded once (`math.fsum`)."""
    x, y = [float(value) for value in a], [float(value) for value in b]
    product = fsum(p * q for p, q in zip(x, y, strict=True))
    return product / sqrt(fsum(p * p for p in x) * fsum(q * q for q in y))


def cosine_matrix(vectors: np.ndarray) -> np.ndarray:
    """[N, d] -> [N, N]"""
    return np.array([[cosine(a, b) for b in vectors] for a in vectors])
