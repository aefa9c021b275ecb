"""Vectors scaled to length one."""

import numpy as np
import pytest

from ... import bounds
from ...data import generator, pooled, states
from . import oracle


def vectors(seed, name):
    """[N, d]: the documents' pooled vectors, or generated ones of very different lengths."""
    if name == "documents":
        return pooled("retrieval")
    sizes = 10.0 ** np.arange(-6, 7)[:, None]
    return (generator(seed, "lengths").standard_normal((13, 33)) * sizes).astype(np.float32)


def one(found):
    """Of the length of a vector that was divided by its length: the error of that length, and of the division."""
    return bounds.norm(found.shape[1] + 2, found)


@pytest.mark.claim("NORM-01")
@pytest.mark.parametrize("name", ["documents", "generated"])
def test_rows_have_length_one(pooler, evidence, seed, name):
    """Every row, whatever its length was."""
    found = pooler.normalize(vectors(seed, name))
    evidence.close(oracle.lengths(found), np.ones(len(found)), one(found))


@pytest.mark.claim("NORM-01")
def test_rows_have_length_one_in_half_precision(pooler, evidence, seed):
    """Seven rows in float16."""
    found = pooler.normalize(vectors(seed, "generated")[3:10].astype(np.float16))
    evidence.equal(str(found.dtype), "float16")
    evidence.close(oracle.lengths(found), np.ones(7), one(found))


@pytest.mark.claim("NORM-02", "NORM-07")
def test_the_switch_is_between_two_vectors(pooler, evidence):
    """Off: the pooled vector as it is, about five long. On: that divided by its length, and the first is unchanged."""
    array, mask = states()["retrieval"]
    raw = pooler.pool(array, mask, "mean")
    kept = raw.copy()
    scale = oracle.pool(np.abs(array), mask, "mean")
    evidence.close(raw, oracle.pool(array, mask, "mean"), bounds.mean(int(mask.sum(axis=1).max()), raw, scale=scale))
    size = oracle.lengths(raw)
    evidence.greater(size.min(), 1, 1.0, "the shortest of these vectors is 4.8 long")
    # Called without the handle's copy of the input, so that a change of the input would show.
    found = pooler.array("normalize", pooler.call("normalize", pooler.object.normalize, raw), raw.shape)
    evidence.equal(raw, kept)
    exact = kept / size[:, None]
    evidence.close(found, exact, bounds.Bound(np.abs(exact) * one(found).value, one(found).why))


@pytest.mark.claim("NORM-03")
@pytest.mark.parametrize("row", [0, 3, 6])
def test_each_row_is_scaled_by_itself(pooler, evidence, row):
    """One vector replaced by a very long one: the others keep every bit."""
    before = pooled("retrieval")
    after = before.copy()
    after[row] = -1000 * before[(row + 1) % 7]
    others = np.arange(7) != row
    evidence.equal(pooler.normalize(after)[others], pooler.normalize(before)[others])


@pytest.mark.claim("NORM-04")
def test_a_single_vector_is_scaled_over_its_numbers(pooler, evidence):
    """The query by itself, against the query divided by its length."""
    query = pooled("retrieval")[:1]
    found = pooler.normalize(query)
    exact = query / oracle.lengths(query)[:, None]
    evidence.close(oracle.lengths(found), np.ones(1), one(found))
    evidence.close(found, exact, bounds.Bound(np.abs(exact) * one(found).value, one(found).why))


@pytest.mark.claim("NORM-05")
def test_the_six_lengths_are_one(pooler, evidence):
    """The documents' vectors, their lengths taken in float32 as well: not 1 exactly."""
    found = pooler.normalize(pooled("retrieval")[1:])
    lengths = np.linalg.norm(found, axis=1)
    evidence.close(lengths, np.ones(6), one(found).scaled(2, "twice, the lengths are rounded again"))
    before = np.linalg.norm(pooled("retrieval")[1:], axis=1)
    evidence.figure("table", "Lengths of the six documents' vectors", {
        "columns": ["document", "pooled", "normalised"],
        "rows": [[f"D{row + 1}", before[row], lengths[row]] for row in range(6)]})


@pytest.mark.claim("NORM-06")
@pytest.mark.parametrize("name", ["documents", "generated"])
def test_the_direction_is_kept(pooler, evidence, seed, name):
    """Length times unit vector is the vector; normalising again, or a longer or shorter vector, changes nothing."""
    given = vectors(seed, name)
    found = pooler.normalize(given)
    bound = one(found).scaled(2, "twice, both sides round")
    evidence.close(found * oracle.lengths(given)[:, None], given, bounds.Bound(np.abs(given) * bound.value, bound.why))
    for again in (found, given * np.float32(7), given * np.float32(1e-3)):
        evidence.close(pooler.normalize(again), found, bounds.Bound(np.abs(found) * bound.value, bound.why))


@pytest.mark.claim("NORM-08")
def test_a_zero_vector_stays_zero(pooler, evidence):
    """Between two ordinary ones, which get length one, and by itself."""
    given = pooled("retrieval")[:3]
    given[1] = 0
    found = pooler.normalize(given)
    evidence.equal(found[1], given[1])
    evidence.close(oracle.lengths(found[[0, 2]]), np.ones(2), one(found))
    evidence.equal(pooler.normalize(given[1:2]), given[1:2])
