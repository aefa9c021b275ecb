"""A lookup knows nothing of word order."""

from itertools import permutations

import numpy as np
import pytest

from ... import bounds
from ...data import generated_ids, generator, texts


def order_ids(made):
    """The document's three ids, within this table."""
    return np.array(texts()["order"]["ids"]) % made.shape[0]


@pytest.mark.claim("ORDER-01")
def test_reversed_ids_give_reversed_vectors(layer, evidence):
    """The three tokens forwards and backwards; where all three differ, so do the two results as wholes."""
    for made in layer.over(((30, 8), (28, 1), (769, 16))):
        ids = order_ids(made)
        forwards, backwards = made.lookup(ids), made.lookup(ids[::-1].copy())
        evidence.equal(backwards, forwards[::-1])
        if len(set(ids)) == 3:
            smallest = np.finfo(np.float32).tiny
            evidence.differs(forwards, backwards, float(smallest), "rows of different tokens are different")


@pytest.mark.claim("ORDER-02")
def test_permuted_ids_give_permuted_vectors(layer, evidence, seed):
    """All six orders of three tokens, and generated orders of a longer sequence."""
    for made in layer.over():
        ids = order_ids(made)
        vectors = made.lookup(ids)
        for order in permutations(range(3)):
            evidence.equal(made.lookup(ids[list(order)]), vectors[list(order)])
        long = generated_ids(made.shape[0], seed)[0]
        order = generator(seed, "order").permutation(len(long))
        evidence.equal(made.lookup(long[order]), made.lookup(long)[order])


@pytest.mark.claim("ORDER-03")
def test_readers_that_ignore_order_cannot_see_it(layer, evidence, seed):
    """Maximum bit for bit; sum and mean within the rounding of another order of summation."""
    for made in layer.over():
        for ids in (order_ids(made), generated_ids(made.shape[0], seed)[0]):
            forwards, backwards = made.lookup(ids), made.lookup(ids[::-1].copy())
            evidence.equal(backwards.max(axis=0), forwards.max(axis=0))
            # Added in float64, where a column of large numbers cannot overflow; both sums round, each in its own order.
            forwards, backwards = forwards.astype(np.float64), backwards.astype(np.float64)
            size = np.abs(forwards)
            bound = bounds.sum(len(ids), forwards, scale=size.sum(axis=0)).scaled(2, "twice, both sums round")
            evidence.close(backwards.sum(axis=0), forwards.sum(axis=0), bound)
            bound = bounds.mean(len(ids), forwards, scale=size.mean(axis=0)).scaled(2, "twice, both means round")
            evidence.close(backwards.mean(axis=0), forwards.mean(axis=0), bound)


@pytest.mark.claim("ORDER-04")
def test_a_vector_depends_on_its_id_alone(layer, evidence, seed):
    """One token in generated sequences, at every position and between all kinds of neighbours."""
    for made in layer.over():
        token = order_ids(made)[0]
        sequences = generated_ids(made.shape[0], seed)
        for position in range(sequences.shape[1]):
            row = position % len(sequences)
            sequences[row, position] = token
        vectors = made.lookup(sequences)[sequences == token]
        evidence.equal(vectors, np.broadcast_to(made.table()[token], vectors.shape))


@pytest.mark.claim("ORDER-05")
def test_positions_tell_the_orders_apart(encodings, evidence, seed):
    """A token at position 0 of one sentence and 2 of its reversal, with the codes of the positions added."""
    table = generator(seed, "order table").standard_normal((3, 8))
    codes = encodings.positions(3, 8)
    forwards, backwards = table + codes, table[::-1] + codes
    # cos 0 - cos 2 = 1.416 is the largest difference of the codes of positions 0 and 2.
    evidence.differs(forwards[0], backwards[2], 0.1, "a fourteenth of what sine and cosine of 0 and 2 differ by")


def same_rows(first, second):
    """Whether the rows of two arrays [L, d] are the same, in whatever order."""
    return sorted(map(tuple, first.tolist())) == sorted(map(tuple, second.tolist()))


@pytest.mark.claim("ORDER-06")
def test_an_encoder_tells_the_orders_apart(encoder, embedder, evidence):
    """The document's sentence and its reversal: embeddings differ, means of the looked-up rows do not.

    Between two other words where a word has one id at the beginning of a text and another one after a space.
    """
    pair = texts()["order"]["texts"]
    if not same_rows(*encoder.input_embeddings(pair)):
        pair = [f"so {text} again" for text in pair]
    rows = encoder.input_embeddings(pair)
    size = np.abs(rows[0]).astype(np.float64).mean(axis=0)
    bound = bounds.mean(len(rows[0]), rows[0], scale=size).scaled(2, "twice, both means round")
    evidence.close(rows[1].mean(axis=0), rows[0].mean(axis=0), bound)
    vectors = embedder.embed(pair)
    evidence.differs(vectors[0], vectors[1], 1e-3, "a thousand times the rounding of a mean of unit-sized states")
