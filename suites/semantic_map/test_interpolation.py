"""A point that moves straight from one vector to another and is scaled back to length one."""

from math import acos

import numpy as np
import pytest

from ... import bounds
from ...bounds import Bound
from ...data import generator
from ...evidence import ClaimViolation
from ..similarity.oracle import cosine
from . import oracle
from .vectors import sentences

GRID = [i / 20 for i in range(21)]
#: from the first sentence to its paraphrase and to an unrelated one
every_target = pytest.mark.parametrize("target", [1, 5])


def path(projector, target, grid=GRID):
    """[T, 384]: where the point is at each t, on the way from the first sentence to the target."""
    vectors = sentences()
    return np.stack([projector.interpolate(vectors[0], vectors[target], t) for t in grid])


def cosines(moving, row):
    """[T]: of each place with a sentence; its length is not divided out."""
    return moving.astype(np.float64) @ sentences()[row].astype(np.float64)


def rounding(moving):
    """Of the cosine of an interpolated vector: of an inner product, and of the vector, whose blend is not short."""
    return bounds.cosine(384, sentences(), moving).scaled(2, "twice, the vector is rounded and is not exactly one long")


@pytest.mark.claim("INTERP-01")
@every_target
@pytest.mark.parametrize("t", [0, 0.25, 0.5, 0.75, 1])
def test_the_blend_is_scaled_to_length_one(projector, evidence, target, t):
    """Each number against (1 - t) a + t b over its length."""
    a, b = sentences()[0], sentences()[target]
    found = projector.interpolate(a, b, t)
    evidence.close(found, oracle.interpolated(a, b, t), oracle.interpolation_bound(a, b, t, found))


@pytest.mark.claim("INTERP-01")
def test_generated_vectors_are_blended_with_their_lengths(projector, evidence, seed):
    """Vectors of lengths that differ a hundredfold: the line goes between the vectors as they are."""
    random = generator(seed, "line")
    a, b = (random.standard_normal((2, 7)) * [[10], [0.1]]).astype(np.float32)
    for t in (0.0, *random.uniform(size=5), 1.0):
        found = projector.interpolate(a, b, float(t))
        evidence.close(found, oracle.interpolated(a, b, t), oracle.interpolation_bound(a, b, t, found))


@pytest.mark.claim("INTERP-02")
@every_target
def test_the_ends_are_the_two_sentences(projector, evidence, target):
    """At 0 the first sentence, at 1 the target."""
    vectors = sentences()
    for t, end in ((0, 0), (1, target)):
        found = projector.interpolate(vectors[0], vectors[target], t)
        evidence.close(found, vectors[end], oracle.interpolation_bound(vectors[0], vectors[target], t, found))


@pytest.mark.claim("INTERP-03")
@every_target
def test_the_point_nears_one_and_leaves_the_other(projector, evidence, target):
    """On 21 places the cosine to the target never falls and that to the first sentence never rises."""
    moving = path(projector, target)
    bound = rounding(moving)
    for cosine_steps in (np.diff(cosines(moving, target)), -np.diff(cosines(moving, 0))):
        evidence.at_most(-cosine_steps.min(), bound, "the largest step back")
        evidence.greater(cosine_steps.sum(), 0, 0.2,
                         "the cosines of the two pairs are 0.73 and 0.09, so they change by 0.27 or more")


@pytest.mark.claim("INTERP-03")
@every_target
def test_half_way_both_are_equally_near(projector, evidence, target):
    """At one half the cosines to both sentences are equal."""
    moving = path(projector, target, [0.5])
    evidence.close(cosines(moving, 0), cosines(moving, target), rounding(moving).scaled(2, "twice, both cosines round"))


@pytest.mark.claim("INTERP-04")
@pytest.mark.parametrize("t", [0, 0.5, 1])
def test_the_two_vectors_stay_as_they_are(projector, evidence, t):
    """Vectors far from length one, which any scaling in place would change."""
    a, b = 5 * sentences()[0], 7 * sentences()[1]
    projector.interpolate(a, b, t)
    given = projector.given
    evidence.equal(given[0], a)
    evidence.equal(given[1], b)


@pytest.mark.claim("INTERP-05")
@every_target
def test_scores_along_the_way_are_cosines(projector, evidence, target):
    """Inner products of all sentences with the moving point against cosines with the exact blend; none beyond one."""
    vectors = sentences()
    moving = path(projector, target, [0, 0.25, 0.5, 0.75, 1])
    scores = moving.astype(np.float64) @ vectors.astype(np.float64).T
    exact = [[cosine(vector, oracle.blend(vectors[0], vectors[target], t)) for vector in vectors]
             for t in (0, 0.25, 0.5, 0.75, 1)]
    evidence.close(scores, np.array(exact), rounding(moving))
    evidence.at_most(np.abs(scores).max() - 1, rounding(moving), "the largest score, less one")


@pytest.mark.claim("INTERP-06")
def test_the_point_follows_the_chord(projector, evidence):
    """At a quarter it has gone 0.2409 of the angle, as a chord does; on the arc it would be 0.25."""
    vectors = sentences()
    whole = acos(cosine(vectors[0], vectors[1]))
    gone = acos(cosine(vectors[0], projector.interpolate(vectors[0], vectors[1], 0.25))) / whole
    exact = acos(cosine(vectors[0], oracle.blend(vectors[0], vectors[1], 0.25))) / whole
    evidence.at_most(abs(gone - exact), Bound((0.25 - exact) / 8, "an eighth of the distance from the arc's quarter"))


def interpolated_or_nan(projector, a, b, t):
    """The answer, or NaN where the subject refuses to give one, which is as good."""
    try:
        return projector.interpolate(a, b, t, finite=False)
    except ClaimViolation as violation:
        if not violation.raised:
            raise
        return np.full(a.shape, np.nan)


@pytest.mark.claim("INTERP-07")
def test_half_way_between_opposite_vectors_there_is_no_direction(projector, evidence):
    """The sum is zero: the answer is NaN, zeros or an exception, and no vector with a length."""
    a = sentences()[0]
    found = interpolated_or_nan(projector, a, -a, 0.5)
    evidence.equal(bool(np.linalg.norm(found) > 0), False)


@pytest.mark.claim("INTERP-07")
@pytest.mark.parametrize("t", [0, 0.25, 0.4375, 0.75, 1])
def test_everywhere_else_there_is_one(projector, evidence, t):
    """Opposite vectors off the middle: one of the two, whichever is nearer."""
    a = sentences()[0]
    found = projector.interpolate(a, -a, t)
    evidence.close(found, oracle.interpolated(a, -a, t), oracle.interpolation_bound(a, -a, t, found))
