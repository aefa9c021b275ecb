"""Pooling and lengths by plain loops with exact sums."""

from math import fsum, sqrt

import numpy as np


def pool(states: np.ndarray, mask: np.ndarray, mode: str) -> np.ndarray:
    """states [B, L, d] and mask [B, L] -> [B, d] float64, each text by itself over its real positions."""
    rows = []
    for text, real in zip(states.tolist(), mask.tolist(), strict=True):
        columns = list(zip(*(state for state, one in zip(text, real, strict=True) if one), strict=True))
        rows.append([{"mean": lambda c: fsum(c) / len(c), "max": max, "cls": lambda c: c[0]}[mode](c) for c in columns])
    return np.array(rows)


def lengths(vectors: np.ndarray) -> np.ndarray:
    """[N, d] -> [N]: the Euclidean length of each row."""
    return np.array([sqrt(fsum(value * value for value in row)) for row in vectors.astype(np.float64).tolist()])
