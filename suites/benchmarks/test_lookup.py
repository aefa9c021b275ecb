"""A lookup costs the same whatever the size of the vocabulary; a product with one-hot vectors grows with it."""

import numpy as np
import pytest

from embedding_conformance.data import generator, numbered_table
from embedding_conformance.subjects import open_subject
from embedding_conformance.subjects.numpy_layer import NumpyLayer

from .measure import peak_bytes, seconds

ROWS, WIDTH, COUNT = (1_000, 10_000, 100_000), 32, 64


def ids(rows):
    return generator(0, f"benchmark {rows}").integers(0, rows, COUNT)


def lookups(make):
    """Size -> a lookup in a table of that many rows, once it gives the right rows."""
    calls = {}
    for rows in ROWS:
        table, chosen = numbered_table(rows, WIDTH), ids(rows)
        layer = make(table)
        assert np.array_equal(layer.lookup(chosen), table[chosen])
        calls[rows] = lambda layer=layer, chosen=chosen: layer.lookup(chosen)
    return calls


def products(one_hot):
    """Size -> a product with one-hot vectors, once it gives the right rows."""
    calls = {}
    for rows in ROWS:
        table, chosen = numbered_table(rows, WIDTH), ids(rows)
        calls[rows] = lambda table=table, chosen=chosen: one_hot(chosen, len(table)).astype(table.dtype) @ table
        assert np.array_equal(calls[rows](), table[chosen])
    return calls


def growth(measured, what, calls, memory=True):
    """Time and peak memory of the largest size over those of the smallest; every size goes into the table."""
    times = {rows: seconds(call)[0] for rows, call in calls.items()}
    peaks = {rows: peak_bytes(call) for rows, call in calls.items()} if memory else {}
    first, last = ROWS[0], ROWS[-1]
    for rows, taken in times.items():
        measured.add(what, f"V={rows}", taken, to=f"V={first}", ratio=taken / times[first], peak=peaks.get(rows))
    return times[last] / times[first], peaks[last] / peaks[first] if memory else None


@pytest.mark.benchmark(group="lookup")
def test_lookup_is_flat(benchmark, measured):
    """NumPy: at most ten times the time and twice the memory for a vocabulary a hundred times as large."""
    calls = lookups(NumpyLayer)
    time, memory = growth(measured, "lookup, NumPy", calls)
    benchmark(calls[ROWS[-1]])
    assert time <= 10
    assert memory <= 2


@pytest.mark.benchmark(group="lookup")
def test_lookup_in_torch_is_flat(benchmark, measured):
    """nn.Embedding: at most ten times the time for a vocabulary a hundred times as large."""
    calls = lookups(open_subject("torch").facet("layer").make)
    time, _ = growth(measured, "lookup, nn.Embedding", calls, memory=False)
    benchmark(calls[ROWS[-1]])
    assert time <= 10


@pytest.mark.benchmark(group="lookup")
def test_one_hot_product_grows(benchmark, measured):
    """At least ten times the time and memory for a vocabulary a hundred times as large."""
    calls = products(open_subject("formulas").facet("encodings").one_hot)
    time, memory = growth(measured, "one-hot product", calls)
    benchmark.pedantic(calls[ROWS[-1]], rounds=5)
    assert time >= 10
    assert memory >= 10
