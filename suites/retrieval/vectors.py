"""The vectors that are searched, with their exact scores."""

from __future__ import annotations

from functools import cache

import numpy as np

from ...data import generator, pooled
from . import oracle


def query() -> np.ndarray:
    """[1, 384] float32: the document's question, not normalised."""
    return pooled("retrieval")[:1]


def documents() -> np.ndarray:
    """[6, 384] float32: D1 to D6, not normalised; their lengths are between 4.7 and 5.8."""
    return pooled("retrieval")[1:]


@cache
def document_scores(metric: str) -> np.ndarray:
    """[1, 6]"""
    return oracle.scores(query(), documents(), metric)


@cache
def collection(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors [count, 12] and queries [4, 12], float32: lengths from a quarter to four, in no order, all directions."""
    random = generator(seed, f"collection {count}")
    vectors = random.standard_normal((count, 12)) * 2.0 ** random.uniform(-2, 2, (count, 1))
    queries = random.standard_normal((4, 12)) * [[0.1], [1], [10], [3]]
    return vectors.astype(np.float32), queries.astype(np.float32)


@cache
def collection_scores(count: int, seed: int, metric: str) -> np.ndarray:
    """[4, count]"""
    vectors, queries = collection(count, seed)
    return oracle.scores(queries, vectors, metric)


def repeated() -> np.ndarray:
    """[9, 3] float32: whole numbers, three vectors three times over, not side by side; sums and products are exact."""
    return np.array([[2, 1, 0], [0, 3, 1], [-1, 1, 2]] * 3, dtype=np.float32)
