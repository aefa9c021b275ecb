"""The dense vectors that stand in the place of one-hot codes."""

from math import dist

import numpy as np
import pytest

from ... import bounds
from ...bounds import Bound
from ...data import generator


def zeros(rows):
    """The share of the numbers that are zero."""
    return np.mean(rows == 0)


def few_zeros(layer):
    """Bound of that share, by the precision that the layer declares."""
    declared = layer.subject.declares.get("precision")
    if declared is not None and declared.value in bounds.UNIT_ROUNDOFF:
        return Bound(1e-4, "floating-point numbers hardly ever are exactly zero; trained tables were measured at 3e-7")
    return Bound(0.25, "coarse steps round small numbers to zero, in 4 bits a fifth of a normal table; a ReLU half")


@pytest.mark.claim("DENSE-01")
def test_a_table_is_dense(layer, evidence):
    """All rows but that of padding, looked up."""
    ids = np.array([i for i in range(layer.shape[0]) if i != layer.padding_id])
    evidence.at_most(zeros(layer.lookup(ids)), few_zeros(layer), "the share of zeros")


@pytest.mark.claim("DENSE-01")
@pytest.mark.parametrize("padding", [None, 7])
def test_a_fresh_table_is_dense(layer_maker, evidence, seed, padding):
    """Half a million numbers of a layer as it is made, without the row of padding."""
    made = layer_maker.make_layer(1000, 512, padding_id=padding, seed=seed)
    rows = np.delete(made.table(), [] if padding is None else [padding], axis=0)
    evidence.at_most(zeros(rows), few_zeros(made), "the share of zeros")


@pytest.mark.claim("DENSE-02")
@pytest.mark.parametrize(("width", "times"), [(512, 97.65625), (768, 65.104166666666666)])
def test_dense_vectors_are_far_shorter_than_codes(encodings, evidence, width, times):
    """How often a dense vector of a usual width fits into the code of one of fifty thousand words."""
    evidence.equal(encodings.one_hot(np.array(49_999), 50_000).size / width, times)


@pytest.mark.claim("ONEHOT-12")
def test_a_dense_vector_does_not_grow_with_the_vocabulary(layer, evidence):
    """Bytes of one looked-up row in tables of 30, 3,000 and 30,000 rows: as many as its numbers need."""
    size = layer.table().itemsize
    found = {}
    for made in layer.over(((30, 8), (3_000, 8), (30_000, 8))):
        found[made.shape[0]] = made.lookup(np.array(1)).nbytes
        evidence.equal(found[made.shape[0]], made.shape[1] * size)
    if len(found) > 1:
        evidence.figure("curve", "Bytes of one word's vector, as the vocabulary grows", {
            "x": list(found), "x_name": "words in the vocabulary", "log": True,
            "lines": {"one-hot code": [rows * size for rows in found], "row that is looked up": list(found.values())}})


@pytest.mark.claim("DENSE-03")
def test_a_rotation_changes_the_numbers_and_no_similarity(similarity, evidence, seed):
    """Four-dimensional whole-number vectors, turned by a rotation that rounds nothing: half a Hadamard matrix whose axes
    are permuted and mirrored as the seed says."""
    random = generator(seed, "rotation")
    vectors = random.integers(-8, 9, size=(6, 4)) + 9.0 * np.eye(6, 4)  # none is zero, none like another
    sign = np.array([[1, 1], [1, -1]])
    rotation = np.kron(sign, sign)[random.permutation(4)] * random.choice([-1, 1], size=4) / 2
    turned = vectors @ rotation
    evidence.differs(turned, vectors, 1.0, "the numbers are whole, up to eight and beyond, and not all can stay")
    for (a, b), (c, d) in [((vectors[i], vectors[j]), (turned[i], turned[j])) for i in range(6) for j in range(i)]:
        before, after = similarity.dot(a, b), similarity.dot(c, d)
        scale = float(np.abs(a * b).sum() + np.abs(c * d).sum())
        evidence.close(after, before, bounds.dot(4, before, a, scale=scale))
        before, after = similarity.cosine(a, b), similarity.cosine(c, d)
        evidence.close(after, before, bounds.cosine(4, before, a).scaled(2, "twice, both cosines round"))
        before, after = (similarity.distance(*pair, "euclidean") for pair in ((a, b), (c, d)))
        bound = bounds.norm(6, before, a)  # two terms more: the differences round as well
        evidence.close(after, before, bound.scaled(2 * dist(a, b), "times twice the distance, both round"))
