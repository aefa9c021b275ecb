"""Exact search against the product of queries and vectors, which gives the scores but ranks nothing."""

import numpy as np
import pytest

from embedding_conformance import bounds
from embedding_conformance.data import generator
from embedding_conformance.subjects import open_subject

from .measure import seconds

QUERIES, WIDTH, K = 16, 64, 10


@pytest.mark.benchmark(group="topk")
@pytest.mark.parametrize("count", [1_000, 10_000, 100_000])
def test_exact_search(benchmark, measured, count):
    """The ten nearest of up to a hundred thousand vectors."""
    index = open_subject("formulas").facet("index")
    vectors, queries = (generator(0, f"benchmark {name} {count}").standard_normal((rows, WIDTH)).astype(np.float32)
                        for name, rows in (("vectors", count), ("queries", QUERIES)))
    index.build(vectors, "dot")
    exact = queries.astype(np.float64) @ vectors.astype(np.float64).T
    indices, scores = index.search(queries, K)
    best = np.sort(exact, axis=1)[:, ::-1][:, :K]
    bound = bounds.dot(WIDTH, vectors, scale=(np.abs(queries) @ np.abs(vectors).T).max()).value
    assert np.abs(scores - best).max() <= bound
    assert np.abs(np.take_along_axis(exact, indices, axis=1) - best).max() <= 2 * bound
    floor, taken = seconds(lambda: queries @ vectors.T, lambda: index.search(queries, K))
    measured.add("exact top 10", f"N={count}", taken, to="the product", ratio=taken / floor)
    benchmark.pedantic(index.search, args=(queries, K), rounds=5)
