"""Search among stored vectors: the best rows, their scores, in order."""

import numpy as np
import pytest

from ...bounds import Bound
from ...data import texts
from . import oracle
from .vectors import collection, collection_scores, document_scores, documents, query, repeated


def only(*metrics):
    """Parameters of a test that is about one metric each, for subjects that declare no other."""
    return [pytest.param(metric, marks=pytest.mark.metric(metric)) for metric in metrics]


every_metric = pytest.mark.parametrize("metric", only(*oracle.METRICS))


def ranked(evidence, index, vectors, queries, metric, exact, k):
    """Build, search, and judge the ranking; the answer is returned."""
    index.build(vectors, metric)
    indices, scores = index.search(queries, k)
    evidence.ranked(indices, scores, exact, oracle.bound(queries, vectors, metric, scores))
    return indices, scores


@pytest.mark.claim("RETR-02")
@every_metric
def test_a_planted_document_is_found_in_its_row(index, evidence, metric):
    """The question's own vector, three times as long as it is, stands in one row after the other."""
    asked = 3 * query() if metric == "euclidean" else query()
    for row in range(6):
        vectors = documents().copy()
        vectors[row] = 3 * query()[0]
        index.build(vectors, metric)
        evidence.equal(index.search(asked, 1)[0].tolist(), [[row]])


@pytest.mark.claim("RETR-03")
@pytest.mark.metric("cosine")
def test_scores_are_cosines(index, evidence):
    """The question against the six documents, and the documents against themselves, where no score exceeds one."""
    index.build(documents(), "cosine")
    indices, scores = index.search(query(), 6)
    bound = oracle.bound(query(), documents(), "cosine", scores)
    evidence.close(scores[0], document_scores("cosine")[0, indices[0]], bound)
    _, own = index.search(documents(), 1)
    evidence.at_most(own.max() - 1, bound, "the largest score, less one")


@pytest.mark.claim("RETR-03")
@pytest.mark.metric("cosine")
def test_scores_are_cosines_of_vectors_of_any_length(index, evidence, seed):
    """Forty generated vectors whose lengths differ sixteenfold, and queries whose lengths differ a hundredfold."""
    vectors, queries = collection(40, seed)
    ranked(evidence, index, vectors, queries, "cosine", collection_scores(40, seed, "cosine"), 40)


@pytest.mark.claim("RETR-04")
@pytest.mark.metric("cosine", "dot")
def test_inner_products_favour_the_longer_vector(index, evidence):
    """Against (1, 0): by cosine (1, 0) is before (3, 3), by inner product after it."""
    vectors, asked = np.array([[1, 0], [3, 3]], dtype=np.float32), np.array([[1, 0]], dtype=np.float32)
    for metric, order in (("cosine", [[0, 1]]), ("dot", [[1, 0]])):
        exact = oracle.scores(asked, vectors, metric)
        indices, _ = ranked(evidence, index, vectors, asked, metric, exact, 2)
        evidence.equal(indices.tolist(), order)


@pytest.mark.claim("RETR-04")
@pytest.mark.metric("cosine", "dot")
def test_only_inner_products_grow_with_a_document(index, evidence):
    """Each document in turn is made a hundred times as long: its inner product grows a hundredfold, no cosine does."""
    for row in range(6):
        longer, dots = documents().copy(), document_scores("dot").copy()
        longer[row] *= 100
        dots[0, row] *= 100
        ranked(evidence, index, longer, query(), "dot", dots, 6)
        ranked(evidence, index, longer, query(), "cosine", document_scores("cosine"), 6)


@pytest.mark.claim("RETR-05")
@every_metric
def test_all_documents_in_falling_order(index, evidence, metric):
    """All six documents, each once, best first; one of the scores is negative."""
    indices, _ = ranked(evidence, index, documents(), query(), metric, document_scores(metric), 6)
    evidence.equal(sorted(indices[0].tolist()), list(range(6)))


@pytest.mark.claim("RETR-06")
@every_metric
@pytest.mark.parametrize(("count", "k"), [(6, 3), (2, 3), (40, 1), (257, 10), (1000, 3), (1000, 100)])
def test_nothing_better_is_left_out(index, evidence, seed, metric, count, k):
    """The best k of generated collections, for queries of many lengths, against sums without rounding."""
    vectors, queries = collection(count, seed)
    ranked(evidence, index, vectors, queries, metric, collection_scores(count, seed, metric), k)


@pytest.mark.claim("RETR-06")
@every_metric
def test_equal_scores_may_come_in_any_order(index, evidence, metric):
    """Three vectors three times over: wherever the list ends, what is in it scores no less than what is not."""
    asked = np.array([[2, 1, 0], [1, 1, 1]], dtype=np.float32)
    exact = oracle.scores(asked, repeated(), metric)
    for k in range(1, 10):
        ranked(evidence, index, repeated(), asked, metric, exact, k)


@pytest.mark.claim("RETR-07")
@pytest.mark.metric("cosine")
def test_a_line_for_each_rank(index, evidence):
    """The lines "rank id score" of the best three, read back: ranks from one, and beside each id its own score."""
    index.build(documents(), "cosine")
    indices, scores = index.search(query(), 3)
    names = [document["id"] for document in texts()["retrieval"]["documents"]]
    lines = [f"{rank} {names[row]} {score:.6f}"
             for rank, (row, score) in enumerate(zip(indices[0], scores[0], strict=True), start=1)]
    exact = document_scores("cosine")[0]
    expected = [f"{rank} {names[row]}" for rank, row in enumerate(np.argsort(-exact)[:3], start=1)]
    evidence.equal([line.rpartition(" ")[0] for line in lines], expected)
    own = [exact[names.index(line.split()[1])] for line in lines]
    bound = oracle.bound(query(), documents(), "cosine", scores)
    evidence.close(np.array([float(line.split()[2]) for line in lines]), np.array(own),
                   Bound(bound.value + 5e-7, f"{bound.why}, and half of the sixth decimal"))


@pytest.mark.claim("RETR-09")
@every_metric
def test_irrelevant_documents_are_returned_too(index, evidence, metric):
    """Every document points away from the question, and there are still three results."""
    away = -np.abs(documents()) * np.sign(query())
    ranked(evidence, index, away, query(), metric, oracle.scores(query(), away, metric), 3)


@pytest.mark.claim("RETR-09")
@every_metric
def test_more_results_than_documents_are_all_documents(index, evidence, metric):
    """Asked for more than there are, the index returns every row, and each once."""
    for k in (7, 100):
        indices, _ = ranked(evidence, index, documents(), query(), metric, document_scores(metric), k)
        evidence.equal(sorted(indices[0].tolist()), list(range(6)))


@pytest.mark.claim("RETR-10", "SHAPE-12")
@every_metric
def test_every_document_has_one_score(index, evidence, metric):
    """Six scores in the order of the documents, whatever their ranks are."""
    index.build(documents(), metric)
    scores = index.scores(query())
    evidence.equal(list(scores.shape), [1, 6])
    evidence.close(scores, document_scores(metric), oracle.bound(query(), documents(), metric, scores))


@pytest.mark.claim("SHAPE-13")
def test_a_cell_for_every_pair(similarity, evidence):
    """The matrix of six documents has six rows and six columns."""
    evidence.equal(list(similarity.matrix(documents()).shape), [6, 6])


@pytest.mark.claim("RETR-11")
@every_metric
@pytest.mark.parametrize("count", [6, 257])
def test_a_longer_list_begins_with_the_shorter_one(index, evidence, seed, metric, count):
    """One result, two, ten, all: each list has the scores of the head of the whole one, and its rows but for ties."""
    vectors, queries = collection(count, seed)
    exact = collection_scores(count, seed, metric)
    _, whole = ranked(evidence, index, vectors, queries, metric, exact, count)
    for k in (1, 2, min(10, count)):
        indices, scores = index.search(queries, k)
        bound = oracle.bound(queries, vectors, metric, scores)
        evidence.ranked(indices, scores, exact, bound)
        evidence.close(scores, whole[:, :k], Bound(2 * np.max(bound.value), f"{bound.why}; twice, both lists round"))


@pytest.mark.claim("RETR-12")
@every_metric
def test_a_deleted_row_is_gone_and_the_others_keep_their_numbers(index, evidence, metric):
    """The first document is deleted, then the last, then a middle one; in the whole list the deleted ones are last."""
    exact = document_scores(metric).copy()
    index.build(documents(), metric)
    for row in (0, 5, 2):
        index.delete(row)
        exact[0, row] = -np.inf
        for k in (1, 3, 6):
            indices, scores = index.search(query(), k)
            evidence.ranked(indices, scores, exact, oracle.bound(query(), documents(), metric, scores))
    ranked(evidence, index, documents(), query(), metric, document_scores(metric), 6)


@pytest.mark.claim("RETR-13")
@every_metric
def test_equal_vectors_are_found_together(index, evidence, metric):
    """Each of three vectors is stored three times: its three rows come first when it is asked for, with equal scores."""
    vectors = repeated()
    index.build(vectors, metric)
    asked = vectors[:3]
    indices, scores = index.search(asked, 3)
    evidence.equal(np.sort(indices, axis=1).tolist(), [[0, 3, 6], [1, 4, 7], [2, 5, 8]])
    exact = oracle.scores(asked, vectors, metric)
    evidence.ranked(indices, scores, exact, oracle.bound(asked, vectors, metric, scores))


@pytest.mark.claim("RETR-13")
@pytest.mark.parametrize("metric", only("cosine", "euclidean"))
def test_every_stored_vector_finds_itself(index, evidence, seed, metric):
    """A stored vector asked for is the first result."""
    vectors, _ = collection(257, seed)
    index.build(vectors, metric)
    indices, _ = index.search(vectors, 1)
    evidence.equal(indices[:, 0].tolist(), list(range(257)))


@pytest.mark.claim("RETR-14")
@every_metric
def test_queries_do_not_disturb_each_other(index, evidence, seed, metric):
    """Four queries of very different lengths together and one at a time, and in the reverse order."""
    vectors, queries = collection(40, seed)
    exact = collection_scores(40, seed, metric)
    ranked(evidence, index, vectors, queries[::-1].copy(), metric, exact[::-1], 5)
    for i in range(4):
        asked = queries[i:i + 1]
        indices, scores = index.search(asked, 5)
        evidence.ranked(indices, scores, exact[i:i + 1], oracle.bound(asked, vectors, metric, scores))


@pytest.mark.claim("RETR-15")
@pytest.mark.metric("cosine")
@pytest.mark.parametrize("row", [0, 3, 6])
def test_a_vector_of_length_zero_disturbs_no_other(index, evidence, row):
    """By cosine it has no score; the other rows keep theirs and their order, wherever it stands among them."""
    vectors = np.insert(documents(), row, 0, axis=0)
    index.build(vectors, "cosine")
    indices, scores = index.search(query(), 7)
    others = indices[0] != row
    evidence.equal(int(others.sum()), 6)
    exact = np.insert(document_scores("cosine")[0], row, -np.inf)
    evidence.ranked(indices[0][others], scores[0][others], exact, oracle.bound(query(), documents(), "cosine", scores))
