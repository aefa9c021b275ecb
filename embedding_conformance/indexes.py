"""Ready-made indexes of faiss and usearch, to be judged: ``check python:embedding_conformance.indexes:faiss_flat``.

Each is a factory of an object with the facet index. Scores are what the library computed; only distances are turned into
scores, and rows and queries are scaled to length one where a library has no cosine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .subjects import require_installed
from .subjects.pooling import unit

#: neighbours that the graphs are asked to keep and to look at; the recall that is declared is for these
EDGES, CANDIDATES, RECALL = 32, 200, 0.95
EXACT = {"exact": True, "deterministic": True}
APPROXIMATE = {"exact": False, "recall": RECALL, "deterministic": True}


class FaissIndex:
    """A faiss index of vectors that have their row numbers as ids."""

    def __init__(self, declares: dict[str, Any], *, graph: bool):
        require_installed("faiss", "faiss", "embedding_conformance.indexes")
        import faiss

        self.declares = declares
        self._faiss = faiss
        self._graph = graph
        if not graph:  # a graph of faiss forgets no row
            self.delete = self._delete

    def build(self, vectors: np.ndarray, metric: str) -> None:
        """Store vectors [N, d]."""
        kind = self._faiss.METRIC_L2 if metric == "euclidean" else self._faiss.METRIC_INNER_PRODUCT
        width = vectors.shape[1]
        inner: Any
        if self._graph:
            inner = self._faiss.IndexHNSWFlat(width, EDGES, kind)
            inner.hnsw.efConstruction = CANDIDATES
        else:
            inner = self._faiss.IndexFlat(width, kind)
        self._metric, self._count, self._gone = metric, len(vectors), set[int]()
        self._index = self._faiss.IndexIDMap2(inner)
        self._inner = inner
        self._index.add_with_ids(self._rows(vectors), np.arange(len(vectors)))

    def _rows(self, vectors: np.ndarray) -> np.ndarray:
        rows = np.ascontiguousarray(vectors, np.float32)
        return np.ascontiguousarray(unit(rows)) if self._metric == "cosine" else rows

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """[M, d] -> indices and scores [M, min(k, N)]; -1 where the index found no more, but for rows that were deleted."""
        k = min(k, self._count)
        if self._graph:
            self._inner.hnsw.efSearch = max(CANDIDATES, k)
        found, indices = self._index.search(self._rows(queries), k)
        scores = -np.sqrt(np.maximum(found, 0)) if self._metric == "euclidean" else found
        return struck_out(indices, scores, self._count - len(self._gone), sorted(self._gone))

    def _delete(self, row: int) -> None:
        self._index.remove_ids(self._faiss.IDSelectorBatch(np.array([row], np.int64)))
        self._gone.add(row)


#: metric -> the name that usearch has for it
USEARCH = {"cosine": "cos", "dot": "ip", "euclidean": "l2sq"}


class UsearchIndex:
    """A usearch index of float32 vectors, keyed by their row numbers."""

    def __init__(self, declares: dict[str, Any], *, graph: bool):
        require_installed("usearch", "usearch", "embedding_conformance.indexes")
        self.declares = declares
        self._graph = graph

    def build(self, vectors: np.ndarray, metric: str) -> None:
        """Store vectors [N, d]."""
        from usearch.index import Index

        self._metric, self._count, self._gone = metric, len(vectors), set[int]()
        self._index = Index(ndim=vectors.shape[1], metric=USEARCH[metric], dtype="f32", connectivity=EDGES,
                            expansion_add=CANDIDATES, expansion_search=CANDIDATES)
        # One thread, since the graph depends on the order in which rows arrive.
        self._index.add(np.arange(len(vectors)), np.ascontiguousarray(vectors, np.float32), threads=1)

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """[M, d] -> indices and scores [M, min(k, N)]."""
        k = min(k, self._count)
        asked = np.ascontiguousarray(queries, np.float32)
        matches = [self._index.search(one, k, exact=not self._graph, threads=1) for one in asked]
        indices, found = np.full((len(asked), k), -1), np.full((len(asked), k), np.inf, np.float32)
        for place, one in enumerate(matches):
            indices[place, :len(one.keys)], found[place, :len(one.keys)] = one.keys, one.distances
        scores = -np.sqrt(np.maximum(found, 0)) if self._metric == "euclidean" else 1 - found
        return struck_out(indices, scores, self._count - len(self._gone), sorted(self._gone))

    def delete(self, row: int) -> None:
        """Take a row out; the others keep their numbers."""
        self._index.remove(row)
        self._gone.add(row)


def struck_out(indices: np.ndarray, scores: np.ndarray, left: int, gone: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The same lists [M, k] with the deleted rows at the end, at -inf, where a list is longer than what is `left`."""
    extra = indices.shape[1] - left
    if extra > 0:
        indices[:, left:], scores[:, left:] = gone[:extra], -np.inf
    return indices, scores


def faiss_flat() -> FaissIndex:
    """faiss.IndexFlat: every vector is compared."""
    return FaissIndex(EXACT, graph=False)


def faiss_hnsw() -> FaissIndex:
    """faiss.IndexHNSWFlat: a graph is walked."""
    return FaissIndex(APPROXIMATE, graph=True)


def usearch_exact() -> UsearchIndex:
    """usearch.Index asked for an exact search."""
    return UsearchIndex(EXACT, graph=False)


def usearch_hnsw() -> UsearchIndex:
    """usearch.Index: a graph is walked."""
    return UsearchIndex(APPROXIMATE, graph=True)
