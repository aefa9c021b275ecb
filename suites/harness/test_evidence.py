"""The gateway: what passes, what is refuted, and what is a fault of the harness."""

import numpy as np
import pytest

from embedding_conformance.bounds import Bound
from embedding_conformance.evidence import (
    FIGURES,
    ClaimViolation,
    Comparison,
    Evidence,
    Explanation,
    HarnessFault,
    bits,
    plain,
    row,
    short,
)
from embedding_conformance.handles import all_finite
from embedding_conformance.streaming import Rows

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
    with pytest.raises(ClaimViolation, match="1 of 2 numbers found are not finite"):
        evidence.equal(np.array([np.nan, 1e6], dtype=ml_dtypes.bfloat16), np.array([1.0, 1e6], dtype=ml_dtypes.bfloat16))
    assert row(np.array([1234567, 0.1], dtype=ml_dtypes.bfloat16), [0]) == "[1.23699e+06 0.100098]"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
def test_large_arrays_are_finite_as_small_ones_are(dtype):
    """Their sum is looked at first, which may overflow."""
    large = np.full((400, 500), np.finfo(dtype).max if dtype[0] == "f" else 1, dtype)
    assert all_finite(large)
    for number in (np.nan, np.inf, -np.inf) if dtype[0] == "f" else ():
        large[300, 7] = number
        assert not all_finite(large)
    if dtype[0] == "f":
        large[:2, 0] = np.inf, -np.inf
        assert not all_finite(large)


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


# --- what is told and kept ---------------------------------------------------------------------------------------------

WRONG = np.where(ROWS == 7, 99, ROWS).astype(np.float32)
HOLE = np.where(ROWS == 5, np.nan, ROWS).astype(np.float32)
HALF = Bound(0.5, "half")


def answer():
    return "an answer"


def faulty(*places):
    rows = Rows()
    rows.add(0, np.array(places, dtype=int), np.ones((12, 1)))
    return rows


@pytest.mark.parametrize(("call", "told"), [
    (lambda e: e.equal(ROWS.astype(np.float64), ROWS), ["dtype float64", "dtype float32"]),
    (lambda e: e.equal(ROWS[:3], ROWS), ["shape [3, 3]", "shape [4, 3]"]),
    (lambda e: e.equal(HOLE, ROWS), ["1 of 12 numbers found are not finite", "finite numbers", "at [1, 2]: [3 4 nan]"]),
    (lambda e: e.equal(WRONG, ROWS),
     ["1 of 12 numbers differ", "equal bit for bit", "at [2, 1]", "expected  [6 7 8]", "found     [6 99 8]"]),
    (lambda e: e.equal(["a", "b"], ["a", "c"]), ["they differ", "equal", "expected  ['a', 'c']", "found     ['a', 'b']"]),
    (lambda e: e.close(WRONG, ROWS.astype(float), TENTH),
     ["92 off, 1 of 12 numbers too far", "0.1: a tenth (float32 against float64)", "at [2, 1]", "expected  [6 7 8]",
      "found     [6 99 8]"]),
    (lambda e: e.close(HOLE, ROWS, TENTH), ["1 of 12 numbers found are not finite", "finite numbers", "at [1, 2]: [3 4 nan]"]),
    (lambda e: e.close(np.float32(2.5), np.float32(2.0), TENTH),
     ["0.5 off, 1 of 1 numbers too far", "0.1: a tenth", "expected  2", "found     2.5"]),
    (lambda e: e.at_most(0.11, TENTH), ["0.11", "at most 0.1: a tenth"]),
    (lambda e: e.at_most(0.11, TENTH, "row 3"), ["0.11", "at most 0.1: a tenth", "row 3"]),
    (lambda e: e.at_most(np.nan, TENTH), ["nan", "a finite number"]),
    (lambda e: e.greater(1.25, 1.0, 0.5, "half"), ["1.25 exceeds 1 by 0.25", "at least 0.5 above: half"]),
    (lambda e: e.greater(1.0, 1.25, 0.5, "half"), ["1 is 0.25 below 1.25", "at least 0.5 above: half"]),
    (lambda e: e.greater(1.0, 1.0, 0.5, "half"), ["1 exceeds 1 by 0", "at least 0.5 above: half"]),
    (lambda e: e.no_rows(faulty(3, 4, 9), 12, "finite"),
     ["3 of 12 rows are not so", "finite", "rows 3 to 4, 9", "row 3: [1]", "row 4: [1]", "row 9: [1]"]),
    (lambda e: e.texts_agree([0.0, 0.3, 0.2], TENTH, "1 - cosine", lambda place: [f"text {place}", "more"]),
     ["0.3 worst, 0.2 median (1 - cosine; 2 of 3 texts beyond the bound)", "0.1: a tenth", "text 1", "more"]),
    # The worst is the farthest of those beyond their bound, which need not be the farthest of all.
    (lambda e: e.texts_agree([0.3, 0.2, 0.5], Bound(np.array([0.1, 0.1, 0.5]), "own"), "m", lambda place: [f"text {place}"]),
     ["0.3 worst, 0.3 median (m; 2 of 3 texts beyond the bound)", "0.1: own", "text 0"]),
    # ... nor the one that exceeds its bound the most times.
    (lambda e: e.texts_agree([0.15, 0.4], Bound(np.array([0.1, 0.3]), "own"), "m", lambda place: [f"text {place}"]),
     ["0.4 worst, 0.275 median (m; 2 of 2 texts beyond the bound)", "0.3: own", "text 1"]),
    (lambda e: e.texts_agree([0.25, 0.45], Bound(np.array([0.1, 0.3]), "own"), "m", lambda place: [f"text {place}"]),
     ["0.45 worst, 0.35 median (m; 2 of 2 texts beyond the bound)", "0.3: own", "text 1"]),
    (lambda e: e.texts_agree([0.0, 1e-9], Bound(0.0, "exact"), "m", lambda place: []),
     ["1e-09 worst, 5e-10 median (m; 1 of 2 texts beyond the bound)", "0: exact"]),
    (lambda e: e.differs(ROWS, ROWS + np.float32(0.25), 0.5, "half"), ["they differ by 0.25 at most", "at least 0.5: half"]),
    (lambda e: e.differs(HOLE, ROWS, 0.5, "half"),
     ["1 of 12 numbers found are not finite", "finite numbers", "at [1, 2]: [3 4 nan]"]),
    (lambda e: e.differs(ROWS, HOLE, 0.5, "half"),
     ["1 of 12 numbers found are not finite", "finite numbers", "at [1, 2]: [3 4 nan]"]),
    (lambda e: e.refuses(answer, (TypeError, ValueError)), ["answered 'an answer'", "raises TypeError or ValueError"]),
    (lambda e: e.refuses(raising(KeyError("x")), (TypeError,)), ["raised KeyError", "raises TypeError"]),
])
def test_a_violation_tells_what_was_measured_what_is_allowed_and_where(evidence, call, told):
    with pytest.raises(ClaimViolation) as caught, np.errstate(all="raise"):
        call(evidence)
    assert [caught.value.measured, caught.value.bound, *caught.value.worst] == told
    assert str(caught.value) == f"{told[0]} (bound: {told[1]})"
    assert not caught.value.raised


def test_rows_that_are_at_fault_are_kept_as_ranges(evidence):
    for call in (lambda: evidence.no_rows(faulty(3, 4, 9), 12, "finite"),
                 lambda: evidence.at_most(1.0, TENTH, rows=[(3, 5), (9, 10)])):
        with pytest.raises(ClaimViolation) as caught:
            call()
        assert caught.value.rows == [(3, 5), (9, 10)]
    assert evidence.comparisons == [Comparison("equal", 12, None, None, "finite", "rows 3 to 4, 9"),
                                    Comparison("at most", 1, 1.0, 0.1, "a tenth", "")]
    with pytest.raises(ClaimViolation) as caught:
        evidence.equal(ROWS[:3], ROWS)
    assert caught.value.rows == [] and caught.value.explanation == Explanation()


def test_no_row_at_fault_is_a_comparison_of_all(evidence):
    evidence.no_rows(faulty(), 12, "finite")
    assert evidence.compared == 12 and evidence.comparisons == [Comparison("equal", 12, None, None, "finite", "")]


@pytest.mark.parametrize(("distances", "bound", "worst"), [
    ([0.05, 0.1, 0.0], TENTH, (0.1, 0.1, "text 1")),
    # Nearest to its own bound, not farthest; where nothing is allowed, nothing is used up by nothing.
    ([0.05, 0.4, 0.0], Bound(np.array([0.1, 1.0, 0.0]), "own"), (0.05, 0.1, "text 0")),
])
def test_texts_that_agree_keep_the_one_that_came_nearest_to_its_bound(evidence, distances, bound, worst):
    evidence.texts_agree(distances, bound, "m", lambda place: [f"text {place}", "more"])
    measured, limit, where = worst
    assert evidence.comparisons == [Comparison("at most", 3, measured, limit, bound.why, where)]
    evidence.texts_agree(distances, bound, "m", lambda place: [])
    assert evidence.comparisons[1].where == ""


def test_an_explanation_is_asked_for_where_texts_disagree_and_someone_listens():
    asked = []

    def explain():
        asked.append(1)
        return Explanation(looks_like="a fault")

    def disagreement(evidence, distances=(1.0,), **given):
        with pytest.raises(ClaimViolation) as caught:
            evidence.texts_agree(distances, TENTH, "m", lambda place: [], **given)
        return caught.value.explanation

    assert disagreement(Evidence(explains=True), explain=explain) == Explanation(looks_like="a fault") and asked == [1]
    assert disagreement(Evidence(), explain=explain) == disagreement(Evidence(explains=True)) == Explanation()
    Evidence(explains=True).texts_agree([0.0], TENTH, "m", lambda place: [], explain)
    assert asked == [1]


class Unspeakable:
    def __repr__(self):
        raise OSError("no words")


def test_a_value_is_shown_shortly_alike_in_every_run_whatever_its_repr_does():
    assert short(Unspeakable()) == "a Unspeakable whose repr raises OSError"
    assert short(answer) == "<function answer>"


@pytest.mark.parametrize(("call", "told"), [
    (lambda e: e.no_rows(faulty(), 0, "finite"), "no rows would compare nothing"),
    (lambda e: e.texts_agree([np.nan, 0.0], TENTH, "m", list), "a distance and its bound must be numbers: a tenth"),
    (lambda e: e.texts_agree([0.0], Bound(np.inf, "none"), "m", list), "a distance and its bound must be numbers: none"),
    (lambda e: e.texts_agree([0.0], Bound(-1.0, "less"), "m", list), "a distance and its bound must be numbers: less"),
    (lambda e: e.texts_agree([], TENTH, "m", list), "an empty expectation would compare nothing"),
    (lambda e: e.equal(ROWS, HOLE), "1 of 12 numbers expected are not finite"),
    (lambda e: e.close(ROWS, HOLE, TENTH), "1 of 12 numbers expected are not finite"),
    (lambda e: e.close(ROWS, ROWS, Bound(-1.0, "less than nothing")),
     "a bound must be finite and not negative: less than nothing"),
    (lambda e: e.equal([], []), "an empty expectation would compare nothing"),
    (lambda e: e.close(ROWS[:0], ROWS[:0], TENTH), "an empty expectation would compare nothing"),
    (lambda e: e.at_most(ROWS, TENTH), "a single number is compared here, not an array of shape [4, 3]"),
    (lambda e: e.differs(ROWS, ROWS, 0.0, "none"), "`differs` needs a smallest difference above zero"),
    (lambda e: e.baseline("rows", {}, dict), "no store of baselines here"),
    (lambda e: e.figure("bars", "Scores", {"labels": ["a"], "values": [np.inf]}), "a figure needs finite numbers"),
    (lambda e: e.figure("map", "Map", {"points": np.zeros((1001, 2)), "labels": [], "explained": []}),
     "the figure Map has too many numbers to be drawn"),
    (lambda e: e.figure("bars", "Scores", {"values": [1.0], "more": 1}),
     f"a figure of kind bars with more, values; there are {FIGURES}"),
])
def test_a_fault_of_the_harness_tells_what_is_wrong_with_the_test(evidence, call, told):
    with pytest.raises(HarnessFault) as caught:
        call(evidence)
    assert str(caught.value) == told


@pytest.mark.parametrize(("call", "kept"), [
    (lambda e: e.equal(ROWS.copy(), ROWS), Comparison("equal", 12, None, None, "bit for bit")),
    (lambda e: e.equal(["a", "b"], ["a", "b"]), Comparison("equal", 2, None, None, "equal")),
    (lambda e: e.equal(7, 7), Comparison("equal", 1, None, None, "equal")),
    (lambda e: e.equal(np.array([1.0, 2.0]), [1.0, 2.0]), Comparison("equal", 2, None, None, "bit for bit")),
    (lambda e: e.equal([1.0, 2.0], np.array([1.0, 2.0])), Comparison("equal", 2, None, None, "bit for bit")),
    (lambda e: e.close(np.array([1.0, 2.25]), np.array([1.0, 2.0]), HALF),
     Comparison("close", 2, 0.25, 0.5, "half", "at [1]", "[1 2]", "[1 2.25]")),
    (lambda e: e.at_most(0.25, HALF, "row 3"), Comparison("at most", 1, 0.25, 0.5, "half", "row 3")),
    (lambda e: e.at_most(0.25, HALF), Comparison("at most", 1, 0.25, 0.5, "half")),
    (lambda e: e.greater(1.75, 1.0, 0.5, "half"), Comparison("greater", 1, 0.75, 0.5, "half")),
    (lambda e: e.differs(np.array([1.0, 2.0]), np.array([1.0, 2.75]), 0.5, "half"),
     Comparison("differs", 2, 0.75, 0.5, "half", "at [1]", "[1 2.75]", "[1 2]")),
    (lambda e: e.refuses(raising(ValueError("no"))), Comparison("refuses", 1, None, None, "an exception", actual="ValueError")),
])
def test_what_passed_is_kept(evidence, call, kept):
    call(evidence)
    assert evidence.comparisons == [kept]
    assert evidence.compared == kept.compared


@pytest.mark.parametrize(("call", "kept"), [
    (lambda e: e.equal(WRONG, ROWS), Comparison("equal", 12, None, None, "bit for bit", "at [2, 1]", "[6 7 8]", "[6 99 8]")),
    (lambda e: e.equal("a", "b"), Comparison("equal", 1, None, None, "equal", "", "'b'", "'a'")),
    (lambda e: e.close(WRONG, ROWS, TENTH), Comparison("close", 12, 92.0, 0.1, "a tenth", "at [2, 1]", "[6 7 8]", "[6 99 8]")),
    (lambda e: e.at_most(0.75, HALF), Comparison("at most", 1, 0.75, 0.5, "half")),
])
def test_what_failed_is_kept_too(evidence, call, kept):
    with pytest.raises(ClaimViolation):
        call(evidence)
    assert evidence.comparisons == [kept]


def test_a_difference_as_large_as_its_bound_passes_and_a_little_more_is_refuted(evidence):
    evidence.close(np.array([1.5]), np.array([1.0]), HALF)
    with pytest.raises(ClaimViolation, match="2 of 3 numbers too far"):
        evidence.close(np.array([1.5, 1.625, 9.0]), np.array([1.0, 1.0, 1.0]), HALF)
    with pytest.raises(ClaimViolation):
        evidence.close(np.array([1.625]), np.array([1.0]), HALF)


@pytest.mark.filterwarnings("error")
def test_a_bound_of_zero_refutes_a_difference_behind_an_exact_element(evidence):
    with pytest.raises(ClaimViolation, match="1 of 2 numbers too far"):
        evidence.close(np.array([1.0, 3.0]), np.array([1.0, 2.0]), Bound(0.0, "exact"))


@pytest.mark.parametrize("hidden", [np.array([None, 1.0], dtype=object), np.array([np.nan, 1.0], dtype=object)])
def test_what_is_no_number_does_not_pass_in_an_array_of_objects(evidence, hidden):
    with pytest.raises(ClaimViolation):
        evidence.close(hidden, np.array([0.0, 1.0]), TENTH)


def test_only_an_exception_of_the_subject_is_a_refusal(evidence):
    def failed_check():
        raise ClaimViolation("too far", "near") from ValueError("a check's own")

    def without_a_cause():
        raise ClaimViolation("lookup raised", "an answer", raised=True)

    for call, told in ((failed_check, "too far"), (without_a_cause, "lookup raised")):
        with pytest.raises(ClaimViolation, match=told):
            evidence.refuses(call)
    assert not evidence.compared


@pytest.mark.parametrize(("kind", "measured", "bound", "slack"), [
    ("close", 0.5, 2.0, 4.0), ("close", 0.0, 2.0, np.inf), ("at most", -1.0, 2.0, np.inf), ("close", None, 2.0, np.inf),
    ("close", 0.5, None, np.inf), ("greater", 3.0, 0.5, 6.0), ("differs", 3.0, 0.5, 6.0), ("greater", 3.0, 0.0, np.inf),
])
def test_slack_is_how_often_the_measured_value_fits(kind, measured, bound, slack):
    assert Comparison(kind, 1, measured, bound, "").slack() == slack


def test_the_summary_holds_the_closest_of_what_was_measured(evidence):
    evidence.equal(7, 7)
    evidence.comparisons.append(Comparison("ranked", 1, None, 0.5, "half"))
    assert evidence.summary() == {"compared": 2, "kinds": ["equal", "ranked"], "closest": None}
    evidence.at_most(0.25, HALF, "row 3")
    evidence.at_most(0.125, HALF, "row 4")
    assert evidence.summary() == {"compared": 4, "kinds": ["at most", "equal", "ranked"], "closest": {
        "kind": "at most", "compared": 1, "measured": 0.25, "bound": 0.5, "why": "half", "where": "row 3", "expected": "",
        "actual": ""}}


def test_a_baseline_is_compared_array_by_array_with_what_is_stored(evidence):
    asked = []

    class Stored:
        def compare(self, *asking):
            asked.append(asking)
            yield "a", np.array([1.0]), TENTH
            yield "b", np.array([2.0]), TENTH

    evidence.store = Stored
    arrays, rounding = {"a": np.array([1.0625]), "b": np.array([2.0])}, {"a": HALF}
    evidence.baseline("rows", arrays, dict)
    evidence.baseline("rows", arrays, dict, rounding)
    assert asked == [("rows", arrays, dict, {}), ("rows", arrays, dict, rounding)]
    assert evidence.comparisons[0] == Comparison("close", 1, 0.0625, 0.1, "a tenth", "at [0]", "[1]", "[1.0625]")
    with pytest.raises(ClaimViolation):
        evidence.baseline("rows", {"a": np.array([1.0]), "b": np.array([2.5])}, dict)


@pytest.mark.parametrize(("kind", "data"), [
    ("matrix", {"rows": ["a"] * 128, "columns": ["b"] * 128, "values": np.zeros((128, 128))}),
    ("map", {"points": np.zeros((1000, 2)), "labels": [""] * 1000, "explained": [0.5, 0.25]}),
    ("curve", {"x": np.arange(1000), "lines": {"a": np.zeros(1000)}, "x_name": "steps", "log": True}),
    ("bars", {"labels": ["a", "b"], "values": [0.5, 1]}),
    ("table", {"columns": ["row", "before"], "rows": [[np.int64(0), np.float32(0.25)], ["last", True]]}),
])
def test_a_figure_of_every_kind_may_be_as_large_as_is_said(evidence, kind, data):
    evidence.figure(kind, "It", data)
    assert evidence.figures[0]["kind"] == kind


@pytest.mark.parametrize(("kind", "data"), [
    ("matrix", {"rows": ["a"] * 129, "columns": ["b"] * 128, "values": np.zeros((129, 128))}),
    ("matrix", {"rows": ["a"] * 128, "columns": ["b"] * 129, "values": np.zeros((128, 129))}),
    ("curve", {"x": np.arange(1001), "lines": {"a": np.zeros(1001)}}),
])
def test_a_figure_with_one_row_column_or_point_more_is_refused(evidence, kind, data):
    with pytest.raises(HarnessFault, match="too many numbers"):
        evidence.figure(kind, "It", data)


def test_numbers_of_numpy_are_kept_as_plain_ones():
    kept = plain({1: [np.int64(3), np.float32(0.1), "word", True, None]})
    assert kept == {"1": [3, 0.1, "word", True, None]}
    assert [type(one) for one in kept["1"]] == [int, float, str, bool, type(None)]


@pytest.mark.parametrize(("shape", "place", "shown"), [
    (6, [5], "[0 1 2 3 4 5]"), (7, [5], "[0 1 2 3 4 5 ...]"), (7, [6], "[... 6]"), (13, [7], "[... 7 8 9 10 11 12]"),
    (20, [7], "[... 7 8 9 10 11 12 ...]"), ((2, 10), [1, 8], "[... 18 19]"), ((2, 10), [1, 0], "[10 11 12 13 14 15 ...]"),
])
def test_of_a_long_row_the_numbers_around_the_place_are_shown(shape, place, shown):
    assert row(np.arange(np.prod(shape)).reshape(shape), place) == shown


def test_single_values_are_shown_in_a_few_characters():
    assert row(np.array(2.5), ()) == "2.5"
    assert row(np.array(["a", "b"]), [1]) == "[a b]"
    assert row(np.array([12345678, 1]), [0]) == "[12345678 1]"
    assert row(np.array([1 / 3]), [0]) == "[0.333333]"
    assert short("x" * 78) == repr("x" * 78)
    assert short("x" * 79) == "'" + "x" * 76 + "..."
    assert short(["a", "\n", "b"]) == "['a', '\\n', 'b']"
    assert short(np.zeros((2, 3))) == "an array of float64, shape [2, 3]"


def test_bits_keep_the_shape_also_of_what_is_not_contiguous():
    turned = np.arange(6, dtype=np.float32).reshape(2, 3).T
    assert bits(turned).shape == (3, 2) and bits(turned).dtype == np.uint32
    assert bits(turned)[2, 1] == np.array([5], np.float32).view(np.uint32)
    assert bits(np.array(5, np.float32)).shape == ()
    assert bits(np.arange(3)).dtype == np.arange(3).dtype
