"""Indexes, exact and approximate: what a caller of a search relies on."""

import numpy as np
import pytest

from ...bounds import Bound
from ...data import generator
from ..retrieval import oracle as exact_sums
from ..retrieval.vectors import collection, collection_scores
from . import layer_oracle as oracle

METRICS = [pytest.param(metric, marks=pytest.mark.metric(metric)) for metric in exact_sums.METRICS]
every_metric = pytest.mark.parametrize("metric", METRICS)


def judge(evidence, index, vectors, queries, metric, k, **layout):
    """Search, and judge the ranking by sums without rounding."""
    indices, scores = index.search(queries, k, **layout)
    exact = exact_sums.scores(queries, vectors, metric)
    evidence.ranked(indices, scores, exact, exact_sums.bound(queries, vectors, metric, scores))


@pytest.mark.claim("FIELD-45")
@every_metric
def test_the_declared_share_is_found(index, evidence, seed, metric):
    """Ten neighbours of 150 queries among 1,500 vectors in forty clusters; those that are tied with the tenth count."""
    vectors, queries = oracle.clusters(seed)
    index.build(vectors, metric)
    indices, _ = index.search(queries, 10)
    exact = oracle.brute_force(queries, vectors, metric)
    tenth = np.sort(exact, axis=1)[:, -10]
    limit = np.broadcast_to(exact_sums.bound(queries, vectors, metric, vectors).value, exact.shape)
    found = np.take_along_axis(exact + limit, indices, axis=1) >= tenth[:, None]
    different = np.array([len(set(row)) for row in indices.tolist()])
    hits = int(np.minimum(found.sum(axis=1), different).sum())
    declared = index.subject.declares
    share = 1.0 if declared["exact"].value else float(declared["recall"].value)
    least = oracle.fewest_hits(found.size, share)
    evidence.at_most(least - hits, Bound(0.0, f"{least} of {found.size} neighbours: fewer are found once in a billion runs "
                                              f"where the share is {share:g}"), f"{hits} found")


@pytest.mark.claim("FIELD-46")
@every_metric
@pytest.mark.parametrize("k", [1, 10, 100])
def test_what_is_returned_is_right(index, evidence, seed, metric, k):
    """Every score against that of the row beside it, every row once, no later score above an earlier one."""
    vectors, queries = oracle.clusters(seed)
    index.build(vectors, metric)
    indices, scores = index.search(queries[:40], k)
    evidence.equal([len(set(row)) for row in indices.tolist()], [k] * 40)
    exact = oracle.brute_force(queries[:40], vectors, metric)
    bound = exact_sums.bound(queries[:40], vectors, metric, scores)
    limit = np.take_along_axis(np.broadcast_to(bound.value, exact.shape), indices, axis=1)
    evidence.close(scores, np.take_along_axis(exact, indices, axis=1), Bound(limit, bound.why))
    if k > 1:
        evidence.at_most(np.diff(scores, axis=1).max(), Bound(2 * limit.max(), f"{bound.why}; twice, both scores round"))


@pytest.mark.claim("FIELD-47")
@every_metric
def test_the_same_query_finds_the_same_again(index, evidence, seed, metric):
    """Ten queries three times, with others and with longer lists in between."""
    vectors, queries = oracle.clusters(seed)
    index.build(vectors, metric)
    indices, scores = index.search(queries[:10], 10)
    for k in (1, 50):
        index.search(queries[10:60], k)
        again = index.search(queries[:10], 10)
        evidence.equal(again[0], indices)
        evidence.equal(again[1], scores)


@pytest.mark.claim("FIELD-48")
@every_metric
@pytest.mark.parametrize("width", [1, 3, 7, 8, 9, 18, 33, 130, 385])
def test_scores_at_every_width(index, evidence, seed, metric, width):
    """Nine vectors and four queries, whose last numbers weigh more than all others together."""
    random = generator(seed, f"width {width}")
    vectors, queries = (random.standard_normal((count, width)) for count in (9, 4))
    for array in (vectors, queries):
        array[:, -1] *= 2 * np.sqrt(width)
    vectors, queries = vectors.astype(np.float32), queries.astype(np.float32)
    index.build(vectors, metric)
    judge(evidence, index, vectors, queries, metric, 9)


@pytest.mark.claim("FIELD-49")
@every_metric
def test_what_is_given_is_not_changed(index, evidence, seed, metric):
    """The arrays that were handed over, after building and after a search."""
    vectors, queries = collection(40, seed)
    index.build(vectors, metric)
    evidence.equal(index.given[0], vectors)
    index.search(queries, 5)
    evidence.equal(index.given[0], queries)


@pytest.mark.claim("FIELD-49")
@every_metric
def test_the_index_keeps_its_own_vectors(index, evidence, seed, metric):
    """The array that the index was built from is overwritten before the search."""
    vectors, queries = collection(40, seed)
    index.build(vectors, metric)
    index.given[0][...] = 7
    indices, scores = index.search(queries, 5)
    evidence.ranked(indices, scores, collection_scores(40, seed, metric), exact_sums.bound(queries, vectors, metric, scores))


@pytest.mark.claim("FIELD-50")
@every_metric
@pytest.mark.parametrize("count", [19, 20, 300])
def test_many_queries_at_once(index, evidence, seed, metric, count):
    """On either side of twenty queries, where a library changes its method, and three hundred."""
    vectors, _ = collection(40, seed)
    queries = generator(seed, "many queries").standard_normal((count, 12)).astype(np.float32)
    index.build(vectors, metric)
    judge(evidence, index, vectors, queries, metric, 5)


@pytest.mark.claim("FIELD-51")
@every_metric
def test_building_anew_forgets(index, evidence, seed, metric):
    """Many vectors, then few, then few of another width; all rows are asked for."""
    many, queries = collection(257, seed)
    few = collection(6, seed)[0]
    index.build(many, metric)
    index.search(queries, 3)
    for vectors, asked in ((few, queries), (few[:, :5].copy(), queries[:, :5].copy())):
        index.build(vectors, metric)
        judge(evidence, index, vectors, asked, metric, 6)


@pytest.mark.claim("FIELD-52")
@every_metric
@pytest.mark.parametrize("layout", oracle.LAYOUTS)
def test_arrays_in_any_layout(index, evidence, seed, metric, layout):
    """Vectors and queries by columns, with gaps, as part of a larger array, and read-only."""
    vectors, queries = collection(40, seed)
    index.build(oracle.LAYOUTS[layout](vectors), metric, as_laid_out=True)
    judge(evidence, index, vectors, oracle.LAYOUTS[layout](queries), metric, 5, as_laid_out=True)


@pytest.mark.claim("FIELD-53")
@pytest.mark.metric("cosine")
def test_cosines_of_very_short_and_very_long_vectors(index, evidence, seed):
    """Vectors and queries whose lengths are between 1e-10 and 1e10."""
    vectors, queries = collection(40, seed)
    vectors = vectors * 10.0 ** np.linspace(-10, 9, 40, dtype=np.float32)[:, None]
    queries = queries * np.float32([[1e-9], [1], [1e-4], [1e9]])
    index.build(vectors, "cosine")
    judge(evidence, index, vectors, queries, "cosine", 40)


@pytest.mark.claim("FIELD-54")
@every_metric
def test_one_vector_is_found(index, evidence, seed, metric):
    """One stored vector, asked for by four queries; one result, and five of which there is one."""
    vectors, queries = collection(6, seed)
    index.build(vectors[:1], metric)
    for k in (1, 5):
        judge(evidence, index, vectors[:1], queries, metric, k)
