"""The oracles of maps and search against scikit-learn, which shares no code with them."""

import numpy as np
import pytest
from embedding_conformance.suites.retrieval import oracle as search
from embedding_conformance.suites.retrieval.vectors import collection, collection_scores
from embedding_conformance.suites.semantic_map.vectors import components, points

from embedding_conformance import bounds

pytest.importorskip("sklearn")


@pytest.mark.parametrize("name", ["sentences", "separate", "square", "tied"])
def test_components_are_those_of_scikit_learn(name):
    """Mean, variances, and the spaces of axes with close variances."""
    from sklearn.decomposition import PCA

    vectors, ours = points(name, 0).astype(np.float64), components(name, 0)
    theirs = PCA(n_components=3, svd_solver="full").fit(vectors)
    np.testing.assert_allclose(ours.mean, theirs.mean_, rtol=0, atol=bounds.mean(len(vectors), vectors, scale=10.0).value)
    bound = bounds.decomposition(vectors.shape, vectors, scale=2 * ours.squares[0]).value
    np.testing.assert_allclose(ours.squares[:3], theirs.explained_variance_ * (len(vectors) - 1), rtol=0, atol=bound)
    for group in ours.groups(3):
        axes = theirs.components_[group.start:group.stop]
        strays = axes - axes @ ours.axes[group].T @ ours.axes[group]
        assert np.linalg.norm(strays, axis=1).max() <= ours.turned(group, vectors).value


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_neighbours_are_those_of_scikit_learn(metric):
    """The ten nearest of 257 vectors for four queries, by brute force in float64."""
    from sklearn.neighbors import NearestNeighbors

    vectors, queries = (array.astype(np.float64) for array in collection(257, 0))
    judge = NearestNeighbors(n_neighbors=10, algorithm="brute", metric=metric).fit(vectors)
    distances, indices = judge.kneighbors(queries)
    exact = collection_scores(257, 0, metric)
    np.testing.assert_array_equal(np.argsort(-exact, axis=1)[:, :10], indices)
    theirs = 1 - distances if metric == "cosine" else -distances
    bound = np.max(search.bound(queries, vectors, metric, theirs).value)
    np.testing.assert_allclose(np.take_along_axis(exact, indices, axis=1), theirs, rtol=0, atol=bound)
