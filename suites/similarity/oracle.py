"""Inner products, cosines and distances by plain loops with exact sums."""

from math import fsum, nan, sqrt

import numpy as np


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Of two vectors [d]: the products round, their sum is exact until it is rounded once (`math.fsum`)."""
    return fsum(float(p) * float(q) for p, q in zip(a, b, strict=True))


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """Of two vectors [d]; NaN where one of them has no direction, so that a subject which answers zeros is refuted."""
    lengths = sqrt(dot(a, a) * dot(b, b))
    return dot(a, b) / lengths if lengths else nan


def distance(a: np.ndarray, b: np.ndarray, kind: str) -> float:
    """Of two vectors [d], "euclidean" or "manhattan"."""
    differences = [float(p) - float(q) for p, q in zip(a, b, strict=True)]
    return sqrt(fsum(x * x for x in differences)) if kind == "euclidean" else fsum(map(abs, differences))


def cosine_matrix(vectors: np.ndarray) -> np.ndarray:
    """[N, d] -> [N, N]"""
    return np.array([[cosine(a, b) for b in vectors] for a in vectors])
