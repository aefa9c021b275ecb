"""A map: vectors projected on the axes along which they vary most."""

from functools import cache

import numpy as np
import pytest

from ... import bounds
from ...bounds import Bound
from ..similarity.oracle import cosine_matrix
from . import oracle
from .vectors import components, points

every_map = pytest.mark.parametrize("name", ["sentences", "separate", "square", "tied"])


def longest(vectors):
    return np.linalg.norm(vectors.astype(np.float64), axis=1).max()


def rounding(vectors, *answers):
    """Of a coordinate: the mean, the centring and the inner product of the longest vector, which centring may double."""
    count, width = vectors.shape
    return bounds.dot(count + width + 2, vectors, *answers, scale=2 * longest(vectors))


@pytest.mark.claim("MAP-01")
@every_map
def test_the_points_are_centred(projector, evidence, seed, name):
    """The mean is that of the vectors, and the points of the map have mean zero."""
    vectors = points(name, seed)
    mapped, mean, axes = projector.project(vectors, 3)
    scale = np.abs(vectors.astype(np.float64)).mean(axis=0)
    evidence.close(mean, components(name, seed).mean, bounds.mean(len(vectors), vectors, mean, scale=scale))
    evidence.close(mapped.astype(np.float64).mean(axis=0), np.zeros(3), rounding(vectors, mapped, axes))


@pytest.mark.claim("MAP-02")
@every_map
def test_the_axes_are_orthonormal(projector, evidence, seed, name):
    """Every axis has length one and is at right angles to the others."""
    vectors = points(name, seed)
    axes = projector.project(vectors, 3)[2]
    exact = axes.astype(np.float64)
    evidence.close(exact @ exact.T, np.eye(3), bounds.decomposition(vectors.shape, vectors, axes, scale=2.0))


@pytest.mark.claim("MAP-02")
@every_map
def test_the_axes_are_eigenvectors_of_the_covariance(projector, evidence, seed, name):
    """Each axis lies in the space of the oracle's axes with its variance; where variances are close, in their common one.

    Maps of one, two and three axes: the first may cut a space of equal variances apart.
    """
    vectors, expected = points(name, seed), components(name, seed)
    for n in (1, 2, 3):
        axes = projector.project(vectors, n)[2]
        for group in expected.groups(n):
            ours = axes[group.start:min(group.stop, n)].astype(np.float64)
            space = expected.axes[group]
            strays = np.linalg.norm(ours - ours @ space.T @ space, axis=1)
            evidence.close(strays, np.zeros(len(ours)), expected.turned(group, vectors, axes))


@pytest.mark.claim("MAP-02", "MAP-03")
@every_map
def test_the_variances_are_the_largest(projector, evidence, seed, name):
    """The sums of squares along the axes are the largest eigenvalues, in falling order: no other axes catch more."""
    vectors, expected = points(name, seed), components(name, seed)
    mapped = projector.project(vectors, 3)[0]
    caught = (mapped.astype(np.float64) ** 2).sum(axis=0)
    bound = bounds.decomposition(vectors.shape, vectors, mapped, scale=2 * expected.squares[0])
    evidence.close(caught, expected.squares[:3], bound)


@pytest.mark.claim("MAP-03")
@every_map
def test_the_points_are_projections_on_the_axes(projector, evidence, seed, name):
    """Each coordinate is the inner product of a centred vector and an axis."""
    vectors, expected = points(name, seed), components(name, seed)
    mapped, _, axes = projector.project(vectors, 3)
    centred = vectors.astype(np.float64) - expected.mean
    evidence.close(mapped, centred @ axes.astype(np.float64).T, rounding(vectors, mapped, axes))


@pytest.mark.claim("MAP-03")
def test_three_axes_catch_more_than_any_three_coordinates(projector, evidence):
    """On the documents' sentences: more than their next three axes, and more than their three widest coordinates."""
    vectors, expected = points("sentences", 0), components("sentences", 0)
    caught = (projector.project(vectors, 3)[0].astype(np.float64) ** 2).sum()
    next_three = expected.squares[3:6].sum()
    widest = np.sort(((vectors.astype(np.float64) - expected.mean) ** 2).sum(axis=0))[-3:].sum()
    why = "half of the exact difference"
    exact = expected.squares[:3].sum()
    evidence.greater(caught, next_three, (exact - next_three) / 2, why)
    evidence.greater(caught, widest, (exact - widest) / 2, why)


@pytest.mark.claim("MAP-04")
@pytest.mark.parametrize(("t", "row"), [(0, 0), (1, 1)])
def test_the_moving_point_uses_the_same_mean_and_axes(projector, evidence, t, row):
    """At its ends the moving point lies on the points of the two sentences between which it moves."""
    vectors = points("sentences", 0)
    mapped, mean, axes = projector.project(vectors, 3)
    moving = (oracle.interpolated(vectors[0], vectors[1], t) - mean) @ axes.astype(np.float64).T
    evidence.close(moving, mapped[row], rounding(vectors, mapped, axes, mean))


@pytest.mark.claim("MAP-04")
@every_map
def test_mean_and_axes_give_the_points_again(projector, evidence, seed, name):
    """Every vector, less the mean that was returned, on the axes that were returned."""
    vectors = points(name, seed)
    mapped, mean, axes = projector.project(vectors, 3)
    evidence.close((vectors - mean.astype(np.float64)) @ axes.astype(np.float64).T, mapped,
                   rounding(vectors, mapped, axes, mean))


@pytest.mark.claim("MAP-06")
def test_eight_points_vary_along_seven_axes(projector, evidence):
    """There are eight axes; the sums of squares along seven of them are the eigenvalues, along the last one it is zero."""
    vectors, expected = points("sentences", 0), components("sentences", 0)
    mapped, _, axes = projector.project(vectors, 8)
    evidence.equal(list(axes.shape), [8, 384])
    squares = (mapped.astype(np.float64) ** 2).sum(axis=0)
    bound = bounds.decomposition(vectors.shape, vectors, mapped, scale=expected.squares[0])
    evidence.close(squares[:7], expected.squares[:7], bound.scaled(2, "twice, the points round too"))
    evidence.at_most(squares[7], bound, "the sum of squares along the eighth axis")


@pytest.mark.claim("SHAPE-15")
def test_a_point_for_every_sentence(projector, evidence):
    """Eight points of three numbers, a mean of 384, three axes; the moving point has three numbers."""
    vectors = points("sentences", 0)
    mapped, mean, axes = projector.project(vectors, 3)
    evidence.equal([list(mapped.shape), list(mean.shape), list(axes.shape)], [[8, 3], [384], [3, 384]])
    evidence.equal(list(((oracle.interpolated(vectors[0], vectors[1], 0.5) - mean) @ axes.T).shape), [3])


# --- neighbours: what a map must not be used for ----------------------------------------------------------------------


@cache
def similarities():
    return cosine_matrix(points("sentences", 0))


def nearest_other(scores):
    """[8]: for each row the column of the largest score but its own."""
    return np.where(np.eye(len(scores), dtype=bool), -np.inf, scores).argmax(axis=1)


@pytest.mark.claim("MAP-05")
def test_neighbours_are_those_of_the_full_space(index, evidence):
    """The neighbours of all eight sentences; on the map three of them have another nearest one."""
    vectors, expected = points("sentences", 0), components("sentences", 0)
    flat = (vectors - expected.mean) @ expected.axes[:3].T
    on_the_map = nearest_other(-np.linalg.norm(flat[:, None] - flat, axis=2))
    evidence.equal(int((on_the_map != nearest_other(similarities())).sum()), 3)
    index.build(vectors, "cosine")
    indices, scores = index.search(vectors, 8)
    evidence.ranked(indices, scores, similarities(), bounds.cosine(384, vectors, scores))


@pytest.mark.claim("MAP-07")
def test_a_sentence_is_its_own_nearest(index, evidence):
    """The four nearest of each sentence, best first: the first is the sentence itself, and scores one."""
    vectors = points("sentences", 0)
    index.build(vectors, "cosine")
    indices, scores = index.search(vectors, 4)
    bound = bounds.cosine(384, vectors, scores)
    evidence.equal(indices[:, 0].tolist(), list(range(8)))
    evidence.close(scores[:, 0], np.ones(8), bound)
    evidence.ranked(indices, scores, similarities(), bound)


@pytest.mark.claim("MAP-07")
def test_by_inner_product_a_longer_vector_can_be_nearer(index, evidence):
    """Without equal lengths a vector need not be its own nearest: (1, 0) with itself gives 1, with (3, 1) it gives 3."""
    vectors = np.array([[1, 0], [3, 1], [0, 2]], dtype=np.float32)
    index.build(vectors, "dot")
    indices, scores = index.search(vectors[:1], 2)
    evidence.equal(indices.tolist(), [[1, 0]])
    evidence.close(scores, np.array([[3.0, 1.0]]), Bound(0.0, "small whole numbers, no rounding"))
