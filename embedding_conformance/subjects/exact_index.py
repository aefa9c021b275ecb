"""Exact search: every stored vector is compared with every query."""

from __future__ import annotations

import numpy as np

from .pooling import unit


class ExactIndex:
    """The facet index, in the floating format of the vectors that it is built from."""

    def build(self, vectors: np.ndarray, metric: str) -> None:
        """Store vectors [N, d]; what was stored before is gone. Raises ValueError on an unknown metric."""
        if metric not in ("cosine", "dot", "euclidean"):
            raise ValueError(f'the metric is cosine, dot or euclidean, not "{metric}"')
        self._rows = unit(vectors) if metric == "cosine" else np.array(vectors)
        self._metric = metric
        self._deleted = np.zeros(len(vectors), dtype=bool)

    def scores(self, queries: np.ndarray) -> np.ndarray:
        """[M, d] -> [M, N]: cosine, inner product or negative distance; -inf for a row that was deleted."""
        if self._metric == "euclidean":
            found = np.stack([-np.linalg.norm(self._rows - query, axis=1) for query in queries])
        else:
            found = (unit(queries) if self._metric == "cosine" else queries) @ self._rows.T
        found[:, self._deleted] = -np.inf
        return found

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """[M, d] -> indices and scores [M, min(k, N)], the largest score first; equal scores by row."""
        found = self.scores(queries)
        order = largest(found, min(k, found.shape[1]))
        return order, np.take_along_axis(found, order, axis=1)

    def delete(self, row: int) -> None:
        """Take a row out of every later search; the other rows keep their numbers."""
        self._deleted[row] = True


def largest(scores: np.ndarray, k: int) -> np.ndarray:
    """[M, N] -> [M, k]: where the k largest of each row are, the largest first, equal ones by their place."""
    away = -scores
    if k * 4 >= away.shape[1]:
        return np.argsort(away, axis=1, kind="stable")[:, :k]
    # Whoever is no worse than the last of k may be among them, what is no number too; the rest need not be sorted.
    near = [np.flatnonzero(~(row > last)) for row, last in zip(away, np.partition(away, k - 1, axis=1)[:, k - 1], strict=True)]
    return np.stack([places[np.argsort(row[places], kind="stable")[:k]] for row, places in zip(away, near, strict=True)])
