"""The gradient of nn.Embedding as the vocabulary grows: a dense one has V rows, a sparse one as many as there are ids."""

import numpy as np
import pytest

from embedding_conformance.data import generator, numbered_table
from embedding_conformance.subjects import open_subject
from embedding_conformance.subjects.torch_stack import torch

from .measure import seconds

ROWS, WIDTH, COUNT = (1_000, 10_000, 100_000), 32, 64


def gradients(sparse):
    """Size -> the gradient of a table of that many rows, once it is the sum of the output gradients of every id."""
    make = open_subject("torch").facet("layer").make
    calls = {}
    for rows in ROWS:
        draw = generator(0, f"benchmark gradient {rows}")
        ids, upstream = draw.integers(0, rows, COUNT), np.exp2(draw.integers(-3, 3, (COUNT, WIDTH))).astype(np.float32)
        ids[-1] = ids[0]
        layer = make(numbered_table(rows, WIDTH))
        layer.embedding.sparse = sparse
        expected = np.zeros((rows, WIDTH), np.float32)
        np.add.at(expected, ids, upstream)
        assert np.array_equal(layer.gradient(ids, upstream), expected)
        calls[rows] = gradient_of(layer.embedding, ids, upstream)
    return calls


def gradient_of(embedding, ids, upstream):
    """Forward and backward pass, with the gradient in the layout in which PyTorch gives it."""
    ids, upstream = torch().from_numpy(ids), torch().from_numpy(upstream)
    return lambda: torch().autograd.grad(embedding(ids), embedding.weight, upstream)


@pytest.mark.benchmark(group="gradient")
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_gradient(benchmark, measured, layout):
    """64 ids in tables of up to a hundred thousand rows."""
    calls = gradients(layout == "sparse")
    times = {rows: seconds(call)[0] for rows, call in calls.items()}
    for rows, taken in times.items():
        measured.add(f"{layout} gradient", f"V={rows}", taken, to=f"V={ROWS[0]}", ratio=taken / times[ROWS[0]])
    benchmark.pedantic(calls[ROWS[-1]], rounds=20)
