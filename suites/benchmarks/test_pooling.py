"""Pooling against the plain sum over the positions, which reads the same numbers once."""

import numpy as np
import pytest

from embedding_conformance import bounds
from embedding_conformance.data import generator
from embedding_conformance.subjects import open_subject

from .measure import seconds

BATCH, LENGTH, WIDTH = 32, 128, 384


def expected(states, count, mode):
    """[d]: the first `count` states [L, d] of one text, in float64."""
    kept = states[:count].astype(np.float64)
    return {"mean": kept.sum(axis=0) / count, "cls": kept[0], "max": kept.max(axis=0)}[mode]


@pytest.mark.benchmark(group="pooling")
@pytest.mark.parametrize("mode", ["mean", "cls", "max"])
def test_pooling(benchmark, measured, mode):
    """Texts of 1 to 128 tokens, padded to 128."""
    pool = open_subject("formulas").facet("pooler").pool
    states = generator(0, "benchmark states").standard_normal((BATCH, LENGTH, WIDTH)).astype(np.float32)
    counts = np.linspace(1, LENGTH, BATCH).astype(int)
    mask = (np.arange(LENGTH) < counts[:, None]).astype(np.int64)
    exact = np.stack([expected(rows, count, mode) for rows, count in zip(states, counts, strict=True)])
    assert np.abs(pool(states, mask, mode) - exact).max() <= bounds.mean(LENGTH, states, scale=np.abs(states).max()).value
    floor, taken = seconds(lambda: states.sum(axis=1), lambda: pool(states, mask, mode))
    measured.add(f"pooling, {mode}", f"{BATCH} x {LENGTH} x {WIDTH}", taken, to="a plain sum", ratio=taken / floor)
    benchmark.pedantic(pool, args=(states, mask, mode), rounds=10)
