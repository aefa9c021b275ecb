"""Mean, first and largest over the real tokens."""

import numpy as np
import pytest

from ... import bounds
from ...data import generator, states
from ..encoder_input.oracle import gaps
from . import oracle
from .inputs import batch, designed, ragged, unpadded

BATCHES = ["documents", "words", "one text", "padding at the end", "padding at the start", "padding around", "one token",
           "length as width"]
MODES = ["mean", "cls", "max"]


def mean_bound(found, array, mask):
    """Of each mean of a batch: as many terms as the longest text has tokens, scaled by the mean of their sizes."""
    return bounds.mean(int(mask.sum(axis=1).max()), found, array, scale=oracle.pool(np.abs(array), mask, "mean"))


@pytest.mark.claim("POOL-01")
@pytest.mark.parametrize("name", BATCHES)
def test_mean_over_the_real_tokens(pooler, evidence, seed, name):
    """Each number against an exact sum over the unmasked tokens of its text."""
    array, mask = designed(seed)[name]
    found = pooler.pool(array, mask, "mean")
    evidence.close(found, oracle.pool(array, mask, "mean"), mean_bound(found, array, mask))


@pytest.mark.claim("POOL-01")
def test_mean_of_three_small_states(pooler, evidence):
    """Two real tokens and a large padding state: -2 and -1.25 exactly."""
    array = np.array([[[-1, -2], [-3, -0.5], [9, 9]]], np.float32)
    evidence.equal(pooler.pool(array, np.array([[1, 1, 0]]), "mean"), np.array([[-2, -1.25]], np.float32))


@pytest.mark.claim("POOL-01")
def test_mean_in_half_precision(pooler, evidence, seed):
    """Forty tokens in float16, whose sums float16 can hold."""
    array, mask = batch([rows.astype(np.float16) for rows in ragged(seed, "half", (40, 3, 17), 9)])
    found = pooler.pool(array, mask, "mean")
    evidence.close(found, oracle.pool(array, mask, "mean"), mean_bound(found, array, mask))


@pytest.mark.claim("POOL-02")
@pytest.mark.parametrize(("before", "after"), [(0, 1), (0, 64), (3, 0), (2, 7)])
def test_padding_changes_no_mean(pooler, evidence, seed, before, after):
    """Texts of unequal lengths, each alone and without padding, against one batch with more of it, and that reversed."""
    texts = ragged(seed, "padded", (9, 2, 5, 1, 9), 33)
    array, mask = batch(texts, before, after)
    alone = np.concatenate([pooler.pool(*batch([text]), "mean") for text in texts])
    together = pooler.pool(array, mask, "mean")
    bound = mean_bound(together, array, mask).scaled(2, "twice, both means round")
    evidence.close(together, alone, bound)
    evidence.close(pooler.pool(array[::-1], mask[::-1], "mean")[::-1], alone, bound)


@pytest.mark.claim("POOL-03")
def test_a_text_of_padding_alone_has_mean_zero(pooler, evidence, seed):
    """Such a row between two ordinary ones, which keep their means."""
    array, mask = batch(ragged(seed, "nothing", (4, 4, 2), 6), after=1)
    mask[1] = 0
    found = pooler.pool(array, mask, "mean")
    evidence.close(found[1], np.zeros(6), bounds.Bound(0.0, "a sum of nothing"))
    evidence.close(found[[0, 2]], oracle.pool(array[[0, 2]], mask[[0, 2]], "mean"),
                   mean_bound(found, array[[0, 2]], mask[[0, 2]]))


@pytest.mark.claim("POOL-04")
@pytest.mark.parametrize("name", BATCHES)
def test_cls_is_the_first_real_token(pooler, evidence, seed, name):
    """Its state bit for bit; position 0 where padding stands at the end."""
    array, mask = designed(seed)[name]
    evidence.equal(pooler.pool(array, mask, "cls"), np.stack([text[0] for text in unpadded(array, mask)]))


@pytest.mark.claim("POOL-05")
@pytest.mark.parametrize("name", BATCHES)
def test_max_over_the_real_tokens(pooler, evidence, seed, name):
    """The largest number of each column, of the real tokens of each text."""
    array, mask = designed(seed)[name]
    evidence.equal(pooler.pool(array, mask, "max"), oracle.pool(array, mask, "max").astype(array.dtype))


@pytest.mark.claim("POOL-05")
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_padding_never_wins(pooler, evidence, dtype):
    """Columns of negative numbers, of very negative ones, and of a zero above negative ones; padding is large."""
    array = np.array([[[-1, -20000, 0], [-3, -30000, -5], [9, 9, 9]], [[-2, -40000, -1], [0, 0, 0], [0, 0, 0]]], dtype)
    mask = np.array([[1, 1, 0], [1, 0, 0]])
    evidence.equal(pooler.pool(array, mask, "max"), np.array([[-1, -20000, 0], [-2, -40000, -1]], dtype))


@pytest.mark.claim("POOL-06")
@pytest.mark.parametrize("mode", ["sum", "Max", "MEAN", ""])
def test_other_modes_are_refused(pooler, evidence, mode):
    """Words that are none of the three, two of them in another case."""
    array, mask = states()["pooling"]
    evidence.refuses(lambda: pooler.pool(array, mask, mode))


@pytest.mark.claim("POOL-07")
def test_the_modes_give_different_vectors(pooler, evidence):
    """The cosines of the three vectors of each of the documents' sentences."""
    array, mask = states()["retrieval"]
    found = [pooler.pool(array, mask, mode) for mode in MODES]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        turned, _ = gaps(found[i], found[j])
        alike = bounds.Bound(0.99, "trained states give 0.72 at most, one mode for another gives 1")
        evidence.at_most(1 - turned.min(), alike, f"{MODES[i]} and {MODES[j]}")


@pytest.mark.claim("POOL-09")
def test_one_text_alone_has_the_plain_mean(pooler, evidence):
    """Each of the documents' sentences by itself, with a mask of ones, and again padded to 128 tokens with a mask."""
    for text in unpadded(*states()["retrieval"]):
        plain = oracle.pool(text[None], np.ones((1, len(text))), "mean")
        for array, mask in (batch([text]), batch([text], after=128 - len(text))):
            found = pooler.pool(array, mask, "mean")
            evidence.close(found, plain, mean_bound(found, array, mask))


@pytest.mark.claim("POOL-10")
@pytest.mark.parametrize("mode", ["cls", "max"])
@pytest.mark.parametrize(("before", "after"), [(0, 1), (0, 64), (3, 0), (2, 7)])
def test_padding_changes_no_first_and_no_largest(pooler, evidence, seed, mode, before, after):
    """Texts of unequal lengths, each alone, against one batch with padding, and that batch reversed."""
    texts = ragged(seed, "padded", (9, 2, 5, 1, 9), 33)
    array, mask = batch(texts, before, after)
    alone = np.concatenate([pooler.pool(*batch([text]), mode) for text in texts])
    evidence.equal(pooler.pool(array, mask, mode), alone)
    evidence.equal(pooler.pool(array[::-1], mask[::-1], mode)[::-1], alone)


@pytest.mark.claim("SHAPE-14")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("texts", [1, 4])
def test_the_mask_counts_for_whole_tokens(pooler, evidence, seed, mode, texts):
    """As many tokens as numbers in a state, and once as many texts, so that a mask laid over the numbers would fit.

    Two or four whole numbers a column, so that each mean is exact.
    """
    array = generator(seed, "whole numbers").integers(-8, 8, size=(texts, 4, 4)).astype(np.float32)
    mask = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [0, 1, 1, 0], [0, 0, 1, 1]])[:texts]
    evidence.equal(pooler.pool(array, mask, mode), oracle.pool(array, mask, mode).astype(np.float32))


@pytest.mark.claim("SHAPE-14")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_vectors_have_the_format_of_the_states(pooler, evidence, mode, dtype):
    """Whole numbers in each floating format, with a mask of integers."""
    array = np.array([[[1, 2], [3, -4], [7, 7]]], dtype)
    expected = {"mean": [2, -1], "cls": [1, 2], "max": [3, 2]}[mode]
    evidence.equal(pooler.pool(array, np.array([[1, 1, 0]]), mode), np.array([expected], dtype))
