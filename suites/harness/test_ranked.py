"""The judge of rankings."""

import numpy as np
import pytest

from embedding_conformance.bounds import Bound
from embedding_conformance.evidence import ClaimViolation, Comparison, Evidence, HarnessFault

EXACT = np.array([0.5, 0.9, -np.inf, 0.9, 0.1])
BOUND = Bound(0.01, "a hundredth")


def judge(indices, scores=None, bound=BOUND, exact=EXACT):
    evidence = Evidence()
    indices = np.array(indices)
    evidence.ranked(indices, exact[indices] if scores is None else np.array(scores), exact, bound)
    return evidence


@pytest.mark.parametrize("indices", [[1, 3, 0, 4, 2], [3, 1, 0, 4, 2], [1], [3], [3, 1], [1, 3, 0]])
def test_right_rankings_pass(indices):
    """Ties in any order, lists of any length, what is out of the running last."""
    evidence = judge(indices)
    assert evidence.compared == 2 * len(indices)


@pytest.mark.parametrize(("indices", "says"), [
    ([0, 1, 3], "stands before a better one"),      # in the wrong order
    ([1, 0, 3], "stands before a better one"),      # the last two swapped
    ([1, 0], "stands before a better one"),         # one of two equals left out for a worse one
    ([4], "stands before a better one"),
    ([1, 3, 2, 0, 4], "stands before a better one"),  # what is out of the running comes before what is in it
    ([1, 1], "names a row twice"),
    ([1, 5], "names"),
    ([1, -1], "names"),
])
def test_wrong_rankings_are_violations(indices, says):
    with pytest.raises(ClaimViolation, match=says):
        judge(indices, scores=np.where(np.isin(indices, [5, -1]), 0, EXACT[np.clip(indices, 0, 4)]))


def test_scores_must_be_those_of_their_rows():
    judge([1, 3, 0], [0.905, 0.895, 0.5])
    with pytest.raises(ClaimViolation, match="off"):
        judge([1, 3, 0], [0.9, 0.5, 0.9])
    with pytest.raises(ClaimViolation, match="out of the running"):
        judge([1, 3, 0, 4, 2], [0.9, 0.9, 0.5, 0.1, 0.0])
    with pytest.raises(ClaimViolation, match="not finite"):
        judge([1, 3], [0.9, np.nan])


def test_near_ties_are_ties_only_within_the_bound():
    exact = np.array([[0.500, 0.515, 0.1]])
    judge([[0, 1]], exact[:, [0, 1]], exact=exact)
    with pytest.raises(ClaimViolation, match="better one"):
        judge([[0, 1]], exact[:, [0, 1]], Bound(0.007, "less"), exact)
    judge([[0, 1]], exact[:, [0, 1]], Bound(np.array([[0.001, 0.02, 0.0]]), "of each"), exact)


def test_rankings_and_exact_scores_must_belong_together():
    with pytest.raises(HarnessFault, match="2 rankings are judged by 1 rows of exact scores"):
        judge([[0, 1], [1, 0]], EXACT[[[0, 1], [1, 0]]], exact=EXACT[None])


EIGHTH = Bound(0.125, "an eighth")
THREE = np.array([[0.5, 0.75, 0.25]])


def test_what_a_ranking_measures_is_kept():
    """A better row behind a worse one, as far ahead as both limits allow."""
    found = judge([[0, 1, 2]], bound=EIGHTH, exact=THREE, scores=[[0.5625, 0.75, 0.25]]).comparisons
    assert found == [
        Comparison("close", 3, 0.0625, 0.125, "an eighth", "at [0, 0]", "[0.5 0.75 0.25]", "[0.5625 0.75 0.25]"),
        Comparison("ranked", 3, 0.25, 0.25, "an eighth", "ranking 0, rank 1", "row 1, 0.75", "row 0, 0.5")]


def test_limits_of_both_rows_count():
    uneven = Bound(np.array([[0.0, 0.25, 0.0]]), "of each")
    assert judge([[0, 1, 2]], scores=THREE, bound=uneven, exact=THREE).comparisons[1].bound == 0.25
    with pytest.raises(ClaimViolation, match="better one"):
        judge([[0, 1, 2]], scores=THREE, bound=Bound(np.array([[0.0, 0.125, 0.0]]), "of each"), exact=THREE)


@pytest.mark.parametrize(("indices", "exact", "kept"), [
    ([[0]], [[0.5]], Comparison("ranked", 1, None, 0.02, "a hundredth", "ranking 0, rank 1", "row 0, 0.5", "row 0, 0.5")),
    ([[0]], [[0.5, -np.inf]],
     Comparison("ranked", 1, None, 0.02, "a hundredth", "ranking 0, rank 1", "row 0, 0.5", "row 0, 0.5")),
])
def test_a_ranking_without_a_rival_measures_no_distance(indices, exact, kept):
    assert judge(indices, scores=[[0.5]], exact=np.array(exact)).comparisons[1] == kept


@pytest.mark.filterwarnings("error")
def test_rows_out_of_the_running_have_no_order_among_themselves():
    exact = np.array([[-np.inf, 0.5, -np.inf]])
    for indices in ([[1, 0, 2]], [[1, 2, 0]]):
        judge(indices, scores=exact[0][indices], exact=exact)
    nothing = judge([[0, 1]], scores=[[-np.inf] * 2], exact=np.array([[-np.inf] * 2])).comparisons[0]
    assert (nothing.measured, nothing.bound) == (0.0, 0.0)


def test_a_wrong_score_is_refuted_also_where_another_row_is_out_of_the_running():
    with pytest.raises(ClaimViolation, match="off"):
        judge([1, 3, 0, 4, 2], [0.9, 0.9, 0.5, 0.3, -np.inf])


@pytest.mark.parametrize(("call", "told"), [
    (lambda: judge([[2, 0]], scores=THREE[:, [2, 0]], bound=EIGHTH, exact=THREE),
     ["a row that scores 0.5 less stands before a better one", "best first, up to 0.25: an eighth", "ranking 0, rank 1",
      "expected  row 1, 0.75", "found     row 2, 0.25"]),
    (lambda: judge([[1, 0, 2], [1, 2, 0]], scores=THREE[0][[[1, 0, 2], [1, 2, 0]]], exact=THREE[[0, 0]]),
     ["a row that scores 0.25 less stands before a better one", "best first, up to 0.02: a hundredth", "ranking 1, rank 2",
      "expected  row 0, 0.5", "found     row 2, 0.25"]),
    (lambda: judge([[1, 0]], scores=[[0.5, 0.5]], bound=EIGHTH, exact=THREE),
     ["0.25 off, 1 of 2 numbers too far", "0.125: an eighth", "at [0, 0]", "expected  [0.75 0.5]", "found     [0.5 0.5]"]),
    (lambda: judge([[0, 3]], scores=[[0.5, 0.0]], exact=THREE), ["ranking 0 names [0, 3]", "0 to 2"]),
    (lambda: judge([[0.0, 1.0]], scores=[[0.5, 0.75]], exact=THREE), ["ranking 0 names [0.0, 1.0]", "0 to 2"]),
    (lambda: judge([[1, 1]], scores=[[0.75, 0.75]], exact=THREE), ["ranking 0 names a row twice", "every row once", "[1, 1]"]),
    (lambda: judge([1, 3, 0, 4, 2], [0.9, 0.9, 0.5, 0.1, 0.0]), ["a row that is out of the running has a score", "-inf"]),
    (lambda: judge([[0, 1]], scores=[[0.5, 0.75, 0.25]], exact=THREE), ["shape [1, 3]", "shape [1, 2]"]),
])
def test_a_wrong_ranking_tells_what_is_wrong_and_where(call, told):
    with pytest.raises(ClaimViolation) as caught:
        call()
    assert [caught.value.measured, caught.value.bound, *caught.value.worst] == told


def test_unsigned_indices_are_indices():
    judge(np.array([[1, 0, 2]], np.uint8), scores=THREE[:, [1, 0, 2]], exact=THREE)
