"""The judge of rankings."""

import numpy as np
import pytest

from embedding_conformance.bounds import Bound
from embedding_conformance.evidence import ClaimViolation, Evidence, HarnessFault

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
    with pytest.raises(HarnessFault):
        judge([[0, 1], [1, 0]], EXACT[[[0, 1], [1, 0]]], exact=EXACT[None])
