"""Scores by plain loops with exact sums."""

from __future__ import annotations

from math import fsum, sqrt

import numpy as np

from ... import bounds
from ...bounds import Bound
from ..similarity.oracle import cosine

METRICS = ("cosine", "dot", "euclidean")


def score(query: np.ndarray, vector: np.ndarray, metric: str) -> float:
    """Of two vectors [d], larger is closer."""
    if metric == "cosine":
        return cosine(query, vector)
    pairs = [(float(a), float(b)) for a, b in zip(query, vector, strict=True)]
    return fsum(a * b for a, b in pairs) if metric == "dot" else -sqrt(fsum((a - b) ** 2 for a, b in pairs))


def scores(queries: np.ndarray, vectors: np.ndarray, metric: str) -> np.ndarray:
    """[M, N]: every query against every vector."""
    return np.array([[score(query, vector, metric) for vector in vectors] for query in queries])


def bound(queries: np.ndarray, vectors: np.ndarray, metric: str, answer: np.ndarray) -> Bound:
    """What the scores of a search may be off by, for every query and vector, [M, N] or a number."""
    width = vectors.shape[1]
    if metric == "cosine":
        return bounds.cosine(width, queries, vectors, answer)
    q, x = (array.astype(np.float64) for array in (queries, vectors))
    if metric == "dot":
        return bounds.dot(width, queries, vectors, answer, scale=np.abs(q) @ np.abs(x).T)
    lengths = np.linalg.norm(q, axis=1)[:, None] + np.linalg.norm(x, axis=1)
    exact = np.linalg.norm(q[:, None] - x, axis=2)
    return bounds.distance(width, queries, vectors, answer, exact=exact, lengths=lengths)
