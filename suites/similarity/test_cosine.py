"""Inner product, cosine and distance of two vectors: the documents' pair at an angle of 34 degrees and generated ones."""

from math import acos, cos, degrees, radians, sin

import numpy as np
import pytest

from ... import bounds
from ...data import generator, texts
from . import oracle

THETA = radians(texts()["angle"]["degrees"])
LENGTHS = tuple(texts()["angle"]["lengths"])

in_both_formats = pytest.mark.parametrize("dtype", ["float64", "float32"])


def at_an_angle(dtype, lengths=LENGTHS):
    """Two vectors [2] of these lengths at the documents' angle; the first lies on the first axis."""
    first, second = lengths
    return np.array([first, 0], dtype), np.array([second * cos(THETA), second * sin(THETA)], dtype)


def generated(seed, dtype):
    """Five pairs of vectors [33], with lengths from a hundredth to a hundred."""
    lengths = 10.0 ** np.arange(-2, 3)[:, None, None]
    return (generator(seed, "pairs").standard_normal((5, 2, 33)) * lengths).astype(dtype)


def pairs(seed, dtype):
    """The documents' pair and the generated ones."""
    return [at_an_angle(dtype), *generated(seed, dtype)]


def dot_bound(found, a, b, roundings=0):
    """Of an inner product, with some roundings more of what goes in."""
    return bounds.dot(len(a) + roundings, found, a, scale=oracle.dot(np.abs(a), np.abs(b)))


@pytest.mark.claim("COS-01")
@in_both_formats
def test_lengths_of_the_pair(similarity, evidence, dtype):
    """Inner products with themselves and with the axes, and distances from the origin: 1.2 and 2.4 at 34 degrees."""
    for vector, length, angle in zip(at_an_angle(dtype), LENGTHS, (0.0, THETA), strict=True):
        square = similarity.dot(vector, vector)
        evidence.close(square, length**2, dot_bound(square, vector, vector, 6))  # three roundings of each vector
        away = similarity.distance(vector, np.zeros(2, dtype), "euclidean")
        evidence.close(away, length, bounds.norm(8, away, vector).scaled(length, "times the length"))
        for axis, share in zip(np.eye(2, dtype=dtype), (cos(angle), sin(angle)), strict=True):
            number = similarity.dot(vector, axis)
            evidence.close(number, length * share, dot_bound(number, vector, axis, 3))


@pytest.mark.claim("COS-02")
@in_both_formats
def test_inner_product_of_the_pair(similarity, evidence, dtype):
    """The product of the lengths and the cosine of the angle: 2.3876282090."""
    a, b = at_an_angle(dtype)
    found = similarity.dot(a, b)
    evidence.close(found, LENGTHS[0] * LENGTHS[1] * cos(THETA), dot_bound(found, a, b, 4))
    evidence.close(found, 2.3876282089585197, dot_bound(found, a, b, 4))


@pytest.mark.claim("COS-02")
@in_both_formats
def test_inner_products_of_generated_pairs(similarity, evidence, seed, dtype):
    """Against exact sums."""
    for a, b in generated(seed, dtype):
        found = similarity.dot(a, b)
        evidence.close(found, oracle.dot(a, b), dot_bound(found, a, b))


@pytest.mark.claim("COS-03")
@in_both_formats
@pytest.mark.parametrize("lengths", [LENGTHS, (1.0, 1.0), (1e-3, 1e3)], ids=str)
def test_cosine_of_the_pair(similarity, evidence, dtype, lengths):
    """0.8290375726 at three pairs of lengths; the angle of that cosine is 34 degrees."""
    a, b = at_an_angle(dtype, lengths)
    found = similarity.cosine(a, b)
    bound = bounds.cosine(4, found, a)  # as of four numbers: the vectors themselves are rounded
    evidence.close(found, 0.8290375725550417, bound)
    angle = degrees(acos(np.clip(float(found), -1, 1)))
    evidence.close(angle, 34.0, bound.scaled(degrees(1 / sin(THETA)), "times the slope of the arc cosine, in degrees"))


@pytest.mark.claim("COS-03")
@in_both_formats
def test_cosines_of_generated_pairs(similarity, evidence, seed, dtype):
    """Against exact sums."""
    for a, b in generated(seed, dtype):
        found = similarity.cosine(a, b)
        evidence.close(found, oracle.cosine(a, b), bounds.cosine(33, found, a))


@pytest.mark.claim("COS-04")
@in_both_formats
def test_inner_product_of_unit_vectors_is_the_cosine(similarity, evidence, seed, dtype):
    """Both vectors divided by their lengths first, against the cosine of the vectors as they are."""
    for a, b in pairs(seed, dtype):
        unit_a, unit_b = ((x / np.linalg.norm(x.astype(np.float64))).astype(dtype) for x in (a, b))
        product, found = similarity.dot(unit_a, unit_b), similarity.cosine(a, b)
        evidence.close(product, found, bounds.cosine(len(a), found, a).scaled(2, "twice, both round"))


@pytest.mark.claim("COS-05")
@in_both_formats
@pytest.mark.parametrize("factor", [10.0, 0.125])
def test_length_changes_the_inner_product_alone(similarity, evidence, seed, dtype, factor):
    """The second vector ten times and an eighth as long: so is the inner product, and the cosine stays."""
    for a, b in pairs(seed, dtype):
        longer = (factor * b).astype(dtype)
        product, found = similarity.dot(a, longer), similarity.cosine(a, longer)
        evidence.close(product, factor * oracle.dot(a, b), dot_bound(product, a, longer, 1))
        evidence.close(found, oracle.cosine(a, b), bounds.cosine(len(a) + 1, found, a))


def across(vector):
    """A vector [d] at a right angle: numbers exchanged in pairs, one of each negated, an odd last one zero."""
    turned = np.zeros_like(vector)
    even = len(vector) // 2 * 2
    turned[:even:2], turned[1:even:2] = vector[1:even:2], -vector[:even:2]
    return turned


@pytest.mark.claim("COS-06")
@in_both_formats
def test_cosines_lie_between_minus_one_and_one(similarity, evidence, seed, dtype):
    """The two vectors of each pair, and with the first one another along it, one against it and one across it."""
    expected = {"along": 1.0, "against": -1.0, "across": 0.0}
    for a, b in pairs(seed, dtype):
        for way, other in {"any": b, "along": 3 * a, "against": -a / 2, "across": across(a)}.items():
            found = similarity.cosine(a, other)
            bound = bounds.cosine(len(a) + 1, found, a)
            evidence.at_most(abs(float(found)) - 1, bound, "the size of the cosine, less one")
            if way in expected:
                evidence.close(found, expected[way], bound)


@pytest.mark.claim("COS-07")
@in_both_formats
def test_squared_distance_of_unit_vectors_is_two_less_two_cosines(similarity, evidence, seed, dtype):
    """Unit vectors; a distance of d changes by 2 d times what the vectors and d itself round, a cosine counts twice."""
    for a, b in pairs(seed, dtype):
        unit_a, unit_b = ((x / np.linalg.norm(x.astype(np.float64))).astype(dtype) for x in (a, b))
        away, found = float(similarity.distance(unit_a, unit_b, "euclidean")), similarity.cosine(a, b)
        exact = oracle.distance(unit_a, unit_b, "euclidean")
        apart = bounds.norm(len(a) + 2, found, a).scaled(4 * exact + 2 * exact**2, "of unit vectors and their distance")
        cosines = bounds.cosine(len(a), found, a)
        evidence.close(away**2, 2 - 2 * float(found),
                       bounds.Bound(2 * cosines.value + apart.value, f"{cosines.why}, twice; {apart.why}"))
