"""The matrix of cosines against the matrix product alone, which no implementation can do without."""

import numpy as np
import pytest

from embedding_conformance import bounds
from embedding_conformance.data import generator
from embedding_conformance.subjects import open_subject

from .measure import seconds

WIDTH = 384


@pytest.mark.benchmark(group="matrix")
@pytest.mark.parametrize("count", [6, 64, 512, 4096])
def test_matrix_of_cosines(benchmark, measured, count):
    """From the documents' 6 x 6 to 4096 x 4096 cells."""
    matrix = open_subject("formulas").facet("similarity").matrix
    vectors = generator(0, f"benchmark {count}").standard_normal((count, WIDTH)).astype(np.float32)
    exact = vectors.astype(np.float64)
    unit = exact / np.sqrt((exact**2).sum(axis=1, keepdims=True))
    found = matrix(vectors)
    assert np.abs(found[:6] - unit[:6] @ unit.T).max() <= bounds.cosine(WIDTH, vectors).value
    rows = unit.astype(np.float32)
    floor, taken = seconds(lambda: rows @ rows.T, lambda: matrix(vectors))
    measured.add("matrix of cosines", f"{count} x {count}", taken, to="the product", ratio=taken / floor)
    benchmark.pedantic(matrix, args=(vectors,), rounds=3 if count > 1000 else 20)
