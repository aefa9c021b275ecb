"""The gateway: what passes, what is refuted, and what is a fault of the harness."""

import numpy as np
import pytest

from embedding_conformance.bounds import Bound
from embedding_conformance.evidence import ClaimViolation, Evidence, HarnessFault

ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)
TENTH = Bound(0.1, "a tenth")


@pytest.fixture
def evidence():
    return Evidence()


def test_equal_counts_every_number(evidence):
    evidence.equal(ROWS.copy(), ROWS)
    assert evidence.compared == 12
    assert evidence.summary()["kinds"] == ["equal"]


@pytest.mark.parametrize("change", [
    lambda a: a + np.float32(1e-6), lambda a: a.astype(np.float64), lambda a: a[:3], lambda a: a.reshape(3, 4),
    lambda a: np.where(a == 5, np.nan, a).astype(np.float32), lambda a: -a,
])
def test_equal_refutes_other_bits_dtypes_shapes_and_nan(evidence, change):
    with pytest.raises(ClaimViolation):
        evidence.equal(change(ROWS), ROWS)


def test_equal_tells_minus_zero_from_zero(evidence):
    with pytest.raises(ClaimViolation):
        evidence.equal(np.array([-0.0]), np.array([0.0]))


def test_equal_says_where_and_for_which_input(evidence):
    wrong = ROWS.copy()
    wrong[2, 1] = 99
    with pytest.raises(ClaimViolation) as caught:
        evidence.equal(wrong, ROWS, given=np.array([7, 8, 9, 10]))
    assert caught.value.measured == "1 of 12 numbers differ"
    assert caught.value.worst == ["at [2, 1], given 9", "expected  [6 7 8]", "found     [6 99 8]"]


def test_equal_takes_infinities_and_nan_only_when_told(evidence):
    special = np.array([np.nan, np.inf, -0.0, 1e-45], dtype=np.float32)
    evidence.equal(special.copy(), special, finite=False)
    with pytest.raises(HarnessFault):
        evidence.equal(special.copy(), special)


@pytest.mark.parametrize(("actual", "expected"), [(["a"], ["b"]), (1, 2), (True, 1), ([1], (1,)), ("a", "b"), (1, 1.0)])
def test_equal_refutes_other_values_and_types(evidence, actual, expected):
    with pytest.raises(ClaimViolation):
        evidence.equal(actual, expected)


@pytest.mark.parametrize("empty", [np.array([]), np.zeros((0, 3)), [], "", {}])
def test_comparing_nothing_is_a_fault_of_the_harness(evidence, empty):
    with pytest.raises(HarnessFault):
        evidence.equal(empty, empty)
    assert not evidence.compared


def test_close_measures_the_worst_use_of_the_bound(evidence):
    actual = np.array([1.0, 2.05, 3.0])
    evidence.close(actual, np.array([1.0, 2.0, 3.0]), TENTH)
    closest = evidence.closest()
    assert closest.measured == pytest.approx(0.05) and closest.bound == 0.1 and closest.where == "at [1]"


def test_close_takes_a_bound_for_each_element(evidence):
    bounds = Bound(np.array([0.01, 1.0]), "each its own")
    evidence.close(np.array([1.005, 2.5]), np.array([1.0, 2.0]), bounds)
    with pytest.raises(ClaimViolation) as caught:
        evidence.close(np.array([1.02, 2.5]), np.array([1.0, 2.0]), bounds)
    assert caught.value.worst[0] == "at [0]"


@pytest.mark.parametrize("actual", [[1.0, 2.2], [1.0, np.nan], [1.0, np.inf], [1.0], [[1.0, 2.0]]])
def test_close_refutes_what_is_too_far_not_finite_or_of_another_shape(evidence, actual):
    with pytest.raises(ClaimViolation):
        evidence.close(np.array(actual), np.array([1.0, 2.0]), TENTH)


def test_close_with_a_bound_of_zero_refutes_any_difference(evidence):
    evidence.close(np.ones(2), np.ones(2), Bound(0.0, "exact"))
    with pytest.raises(ClaimViolation):
        evidence.close(np.ones(2) + 1e-16 * 4, np.ones(2), Bound(0.0, "exact"))


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_a_bound_that_is_no_number_is_a_fault_of_the_harness(evidence, value):
    with pytest.raises(HarnessFault):
        evidence.close(np.ones(2), np.ones(2), Bound(value, "none"))


def test_close_refuses_an_expectation_that_is_not_finite(evidence):
    with pytest.raises(HarnessFault):
        evidence.close(np.ones(2), np.array([1.0, np.nan]), TENTH)


def test_at_most(evidence):
    evidence.at_most(0.1, TENTH)
    for value in (0.11, np.nan, np.inf):
        with pytest.raises(ClaimViolation):
            evidence.at_most(value, TENTH)


def test_greater_needs_the_whole_margin(evidence):
    evidence.greater(1.5, 1.0, 0.5, "half")
    for a, b in ((1.49, 1.0), (0.0, 1.0), (np.nan, 0.0), (1.0, np.nan)):
        with pytest.raises(ClaimViolation):
            evidence.greater(a, b, 0.5, "half")


def test_differs_needs_one_large_difference(evidence):
    evidence.differs(np.array([1.0, 2.0]), np.array([1.0, 2.5]), 0.5, "half")
    with pytest.raises(ClaimViolation):
        evidence.differs(np.array([1.0, 2.0]), np.array([1.0, 2.4]), 0.5, "half")
    with pytest.raises(ClaimViolation):
        evidence.differs(np.array([1.0, np.nan]), np.array([1.0, 2.0]), 0.5, "half")
    with pytest.raises(HarnessFault):
        evidence.differs(ROWS, ROWS, 0.0, "nothing")


def raising(cause):
    def call():
        raise ClaimViolation("lookup raised", "an answer", raised=True) from cause
    return call


def test_refuses_takes_an_exception_of_the_subject(evidence):
    evidence.refuses(raising(ValueError("no")))
    assert evidence.compared == 1


def test_refuses_refutes_an_answer_another_exception_and_a_wrong_shape(evidence):
    with pytest.raises(ClaimViolation, match="answered 5"):
        evidence.refuses(lambda: 5)
    with pytest.raises(ClaimViolation, match="raised KeyError"):
        evidence.refuses(raising(KeyError("x")), (TypeError,))
    with pytest.raises(ClaimViolation, match="shape"):
        evidence.refuses(lambda: evidence.equal(ROWS[:1], ROWS))


def test_refuses_does_not_hide_a_fault_of_the_harness(evidence):
    with pytest.raises(ZeroDivisionError):
        evidence.refuses(lambda: 1 // 0)


def test_the_closest_comparison_is_the_one_with_least_slack(evidence):
    evidence.close(np.array([1.01]), np.array([1.0]), TENTH)
    evidence.close(np.array([1.09]), np.array([1.0]), TENTH)
    evidence.greater(2.0, 1.0, 0.5, "half")
    assert evidence.closest().measured == pytest.approx(0.09)


def test_bfloat16_is_compared_by_its_bits(evidence):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    values = np.array([1.0, -0.0, 3.5], dtype=ml_dtypes.bfloat16)
    evidence.equal(values.copy(), values)
    with pytest.raises(ClaimViolation):
        evidence.equal(values, np.array([1.0, 0.0, 3.5], dtype=ml_dtypes.bfloat16))


def test_a_figure_keeps_plain_numbers_and_judges_nothing(evidence):
    evidence.figure("matrix", "Cosines", {"rows": ["a"], "columns": ["b"], "values": np.array([[1 / 3]], np.float32)})
    assert evidence.figures == [{"kind": "matrix", "title": "Cosines",
                                 "data": {"rows": ["a"], "columns": ["b"], "values": [[0.333333]]}}]
    assert not evidence.compared


@pytest.mark.parametrize(("kind", "data"), [
    ("pie", {"labels": ["a"], "values": [1.0]}),
    ("bars", {"labels": ["a"]}),
    ("bars", {"labels": ["a"], "values": [1.0], "more": 1}),
    ("bars", {"labels": ["a"], "values": np.array([np.nan])}),
    ("matrix", {"rows": ["a"] * 129, "columns": ["b"] * 129, "values": np.zeros((129, 129))}),
])
def test_a_figure_that_cannot_be_drawn_is_a_fault_of_the_harness(evidence, kind, data):
    with pytest.raises(HarnessFault):
        evidence.figure(kind, "no", data)
