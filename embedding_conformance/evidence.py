"""The one gateway through which suites assert.

Every comparison records what was compared, the worst element and where it is, the measured value and the bound. Data that
would make a comparison empty of meaning (no elements, other shapes, numbers that are not finite) is refused. A test that
compared nothing did not pass; the plugin asks `Evidence.compared`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .bounds import Bound
from .errors import printable

if TYPE_CHECKING:
    from .streaming import Rows

#: kind of figure -> what its data holds
FIGURES = {"matrix": {"rows", "columns", "values"}, "map": {"points", "labels", "explained"}, "curve": {"x", "lines"},
           "bars": {"labels", "values"}, "table": {"columns", "rows"}}


@dataclass
class Comparison:
    """What one call of the gateway measured. `measured` and `bound` are None where the comparison is bit for bit."""

    kind: str
    compared: int
    measured: float | None
    bound: float | None
    why: str
    where: str = ""
    expected: str = ""
    actual: str = ""

    def slack(self) -> float:
        """How many times the measured value fits into the bound; infinite when nothing was measured."""
        if self.measured is None or self.bound is None or self.measured <= 0:
            return math.inf
        if self.kind in ("greater", "differs"):
            return self.measured / self.bound if self.bound else math.inf
        return self.bound / self.measured


@dataclass(frozen=True)
class Explanation:
    """What a comparison with a reference can say beyond the numbers; empty where it cannot."""

    #: the registered fault that explains the difference, or that none does
    looks_like: str = ""
    #: what was found at every stage
    stages: str = ""


class ClaimViolation(Exception):
    """The subject does not do what the claim says. Only the gateway raises it, and what reads the subject's answers: the
    handles, and the wire format of services."""

    def __init__(self, measured: str, bound: str, worst: Sequence[str] = (), *, raised: bool = False,
                 rows: Sequence[tuple[int, int]] = (), explanation: Explanation | None = None):
        super().__init__(f"{measured} (bound: {bound})")
        self.measured = measured
        self.bound = bound
        self.explanation = explanation or Explanation()
        #: where the worst element is, what was expected there and what was found
        self.worst = list(worst)
        #: whether the subject raised an exception instead of answering
        self.raised = raised
        #: which stored rows are at fault, as ranges from and up to; the report lists them in a file
        self.rows = list(rows)


class HarnessFault(Exception):
    """A test used the gateway wrongly: the harness is at fault, not the subject."""


@dataclass
class Evidence:
    """Records the comparisons of one test. The suites get it as the fixture ``evidence``."""

    comparisons: list[Comparison] = field(default_factory=list)
    #: makes the store of regression values when a test asks for it; set by the plugin
    store: Callable[[], Any] | None = None
    #: numbers that the report draws
    figures: list[dict[str, Any]] = field(default_factory=list)
    #: whether violations are to be explained; a proof, which expects thousands, does without
    explains: bool = False

    @property
    def compared(self) -> int:
        """How many single values were compared so far."""
        return sum(comparison.compared for comparison in self.comparisons)

    def equal(self, actual: Any, expected: Any, *, given: np.ndarray | None = None, finite: bool = True) -> None:
        """`actual` has the dtype, the shape and every bit of `expected`. With ``finite=False`` NaN and infinities may occur.

        `given` is the input that leads to each row, such as the ids of a lookup, for the message. Lists of text and single
        values are compared as they are.
        """
        if not isinstance(actual, np.ndarray) and not isinstance(expected, np.ndarray):
            self._same(actual, expected)
            return
        actual, expected = np.asarray(actual), np.asarray(expected)
        self._same_shape(actual, expected)
        if actual.dtype != expected.dtype:
            raise ClaimViolation(f"dtype {actual.dtype}", f"dtype {expected.dtype}")
        if finite:
            self._finite(expected, "expected", HarnessFault)
            self._finite(actual, "found", ClaimViolation)
        unequal = bits(actual) != bits(expected)
        comparison = Comparison("equal", actual.size, None, None, "bit for bit")
        if unequal.any():
            place = first(unequal)
            comparison.where, comparison.expected, comparison.actual = where(place), row(expected, place), row(actual, place)
            if given is not None:
                comparison.where += f", given {given[place[:given.ndim]]}"
            self.comparisons.append(comparison)
            raise ClaimViolation(f"{int(unequal.sum())} of {actual.size} numbers differ", "equal bit for bit",
                                 worst(comparison))
        self.comparisons.append(comparison)

    def close(self, actual: Any, expected: Any, bound: Bound) -> None:
        """Every element of `actual` lies within `bound` of `expected`; the differences are taken in float64."""
        actual, expected = np.asarray(actual), np.asarray(expected)
        self._same_shape(actual, expected)
        self._finite(expected, "expected", HarnessFault)
        self._finite(actual, "found", ClaimViolation)
        difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
        limit = np.broadcast_to(np.asarray(bound.value, np.float64), difference.shape)
        if not (np.isfinite(limit).all() and (limit >= 0).all()):
            raise HarnessFault(f"a bound must be finite and not negative: {bound.why}")
        # The worst element is the one that uses most of its own bound; with a bound of zero any difference is too much.
        with np.errstate(divide="ignore", invalid="ignore"):
            used = np.where(difference == 0, 0.0, difference / limit)
        place = np.unravel_index(int(np.argmax(used)), used.shape)
        why = bound.why if actual.dtype == expected.dtype else f"{bound.why} ({actual.dtype} against {expected.dtype})"
        comparison = Comparison("close", actual.size, float(difference[place]), float(limit[place]), why,
                                where(place), row(expected, place), row(actual, place))
        self.comparisons.append(comparison)
        # What is no number, such as None in an array of objects, is not within any bound.
        if not used[place] <= 1:
            raise ClaimViolation(f"{difference[place]:.3g} off, {int((~(used <= 1)).sum())} of {actual.size} numbers too far",
                                 f"{limit[place]:.3g}: {why}", worst(comparison))

    def at_most(self, value: Any, bound: Bound, where: str = "", rows: Sequence[tuple[int, int]] = ()) -> None:
        """A single number is at most the bound. `rows` are the stored rows that exceed it, where it is the worst of many."""
        number = self._number(value)
        limit = float(bound.value)
        self.comparisons.append(Comparison("at most", 1, number, limit, bound.why, where))
        if not number <= limit:
            raise ClaimViolation(f"{number:.4g}", f"at most {limit:.3g}: {bound.why}", [where] if where else [], rows=rows)

    def no_rows(self, faulty: Rows, of: int, wanted: str) -> None:
        """None of `of` stored rows is at fault; `wanted` says what a row should be."""
        if not of:
            raise HarnessFault("no rows would compare nothing")
        comparison = Comparison("equal", of, None, None, wanted, faulty.where())
        self.comparisons.append(comparison)
        if faulty.count:
            raise ClaimViolation(f"{faulty.count} of {of} rows are not so", wanted, [faulty.where(), *faulty.examples],
                                 rows=faulty.ranges)

    def texts_agree(self, distances: Any, bound: Bound, measure: str, worst: Callable[[int], Sequence[str]],
                    explain: Callable[[], Explanation] | None = None) -> None:
        """The distance [N] of each text's answer from what it should be is at most its bound (one number, or [N]).

        `measure` says what a distance is, `worst` gives the lines that show one text, `explain` is asked only when a
        distance is too large.
        """
        distances = np.asarray(distances, np.float64)
        limit = np.broadcast_to(np.asarray(bound.value, np.float64), distances.shape)
        self._same_shape(distances, limit)
        if np.isnan(distances).any() or not (np.isfinite(limit).all() and (limit >= 0).all()):
            raise HarnessFault(f"a distance and its bound must be numbers: {bound.why}")
        with np.errstate(divide="ignore", invalid="ignore"):
            used = np.where(distances == 0, 0.0, distances / limit)
        place = int(np.argmax(np.where(used > 1, distances, -1) if (used > 1).any() else used))
        lines = list(worst(place))
        self.comparisons.append(Comparison("at most", distances.size, float(distances[place]), float(limit[place]),
                                           bound.why, lines[0] if lines else ""))
        if used[place] > 1:
            message = (f"{distances[place]:.3g} worst, {np.median(distances):.3g} median ({measure}; "
                       f"{int((used > 1).sum())} of {distances.size} texts beyond the bound)")
            raise ClaimViolation(message, f"{limit[place]:.2g}: {bound.why}", lines,
                                 explanation=explain() if explain and self.explains else None)

    def greater(self, a: Any, b: Any, margin: float, why: str) -> None:
        """`a` exceeds `b` by at least `margin`, single numbers; `why` says where the margin comes from."""
        first, second = self._number(a), self._number(b)
        self.comparisons.append(Comparison("greater", 1, first - second, float(margin), why))
        if not first - second >= margin:
            how = f"is {second - first:.3g} below {second:.6g}" if first < second else \
                f"exceeds {second:.6g} by {first - second:.3g}"
            raise ClaimViolation(f"{first:.6g} {how}", f"at least {margin:.3g} above: {why}")

    def differs(self, a: Any, b: Any, at_least: float, why: str) -> None:
        """The largest difference of two arrays of one shape is at least `at_least`."""
        a, b = np.asarray(a), np.asarray(b)
        self._same_shape(a, b)
        self._finite(a, "found", ClaimViolation)
        self._finite(b, "found", ClaimViolation)
        difference = np.abs(a.astype(np.float64) - b.astype(np.float64))
        place = np.unravel_index(int(np.argmax(difference)), difference.shape)
        measured = float(difference[place])
        if not at_least > 0:
            raise HarnessFault("`differs` needs a smallest difference above zero")
        self.comparisons.append(Comparison("differs", a.size, measured, float(at_least), why, where(place), row(b, place),
                                           row(a, place)))
        if not measured >= at_least:
            raise ClaimViolation(f"they differ by {measured:.3g} at most", f"at least {at_least:.3g}: {why}")

    def ranked(self, indices: Any, scores: Any, exact: Any, bound: Bound) -> None:
        """Each ranking in `indices` [M, k] names the k best columns of `exact` [M, N], best first; `scores` are theirs.

        One ranking may come as [k], [k] and [N]. Which columns belong there, and in which order, is decided by the exact
        scores; those that lie within the bound of each other (a number, or one for every element of `exact`) are tied. A
        column that is out of the running scores -inf.
        """
        indices, scores, exact = (np.atleast_2d(array) for array in (indices, scores, exact))
        self._same_shape(scores, indices)
        if len(indices) != len(exact):
            raise HarnessFault(f"{len(indices)} rankings are judged by {len(exact)} rows of exact scores")
        for place, ranking in enumerate(indices):
            if ranking.dtype.kind not in "iu" or not 0 <= ranking.min() <= ranking.max() < exact.shape[1]:
                raise ClaimViolation(f"ranking {place} names {short(ranking.tolist())}", f"0 to {exact.shape[1] - 1}")
            if len(set(ranking.tolist())) < len(ranking):
                raise ClaimViolation(f"ranking {place} names a row twice", "every row once", [short(ranking.tolist())])
        limit = np.broadcast_to(np.asarray(bound.value, np.float64), exact.shape)
        own, own_limit = (np.take_along_axis(array, indices, axis=1) for array in (exact, limit))
        out = np.isneginf(own)
        if not np.isneginf(scores[out]).all():
            raise ClaimViolation("a row that is out of the running has a score", "-inf")
        self.close(np.where(out, 0, scores), np.where(out, 0, own), Bound(np.where(out, 0, own_limit), bound.why))
        self._best_first(indices, exact, limit, bound.why)

    def _best_first(self, indices: np.ndarray, exact: np.ndarray, limit: np.ndarray, why: str) -> None:
        """No column that stands later in a ranking, or not in it, exceeds an earlier one beyond both their limits."""
        worst_of_all = (-math.inf, 0, 0, 0)
        for place, ranking in enumerate(indices):
            least, most = exact[place] - limit[place], exact[place] + limit[place]
            waiting = np.ones(exact.shape[1], dtype=bool)
            for rank, chosen in enumerate(ranking):
                waiting[chosen] = False
                if not waiting.any():
                    break
                behind = np.where(waiting, least, -np.inf)
                rival = int(np.argmax(behind))
                excess = -math.inf if np.isneginf(behind[rival]) else float(behind[rival] - most[chosen])
                worst_of_all = max(worst_of_all, (excess, place, rank, rival))
        excess, place, rank, rival = worst_of_all
        chosen = indices[place, rank]
        ahead = float(exact[place, rival] - exact[place, chosen]) if excess > -math.inf else -math.inf
        comparison = Comparison("ranked", indices.size, ahead if math.isfinite(ahead) else None,
                                float(limit[place, rival] + limit[place, chosen]), why,
                                f"ranking {place}, rank {rank + 1}", f"row {rival}, {exact[place, rival]:.6g}",
                                f"row {chosen}, {exact[place, chosen]:.6g}")
        self.comparisons.append(comparison)
        if excess > 0:
            raise ClaimViolation(f"a row that scores {ahead:.3g} less stands before a better one",
                                 f"best first, up to {comparison.bound:.3g}: {why}", worst(comparison))

    def refuses(self, call: Callable[[], Any], kinds: tuple[type[BaseException], ...] = (Exception,)) -> None:
        """The subject raises an exception of one of the `kinds` instead of answering."""
        wanted = " or ".join(kind.__name__ for kind in kinds)
        try:
            answer = call()
        except ClaimViolation as violation:
            cause = violation.__cause__
            if not violation.raised or cause is None:
                raise
            self.comparisons.append(Comparison("refuses", 1, None, None, "an exception", actual=type(cause).__name__))
            if not isinstance(cause, kinds):
                raise ClaimViolation(f"raised {type(cause).__name__}", f"raises {wanted}") from cause
            return
        raise ClaimViolation(f"answered {short(answer)}", f"raises {wanted}")

    def baseline(self, name: str, arrays: dict[str, np.ndarray], oracle: Callable[[], dict[str, np.ndarray]],
                 rounding: dict[str, Bound] | None = None) -> None:
        """Regression values of this project: `arrays` agree with the stored ones within the stored, derived bound.

        `oracle` computes the same arrays independently in float64. It is called only when the values are written, and the
        bound is eight times the largest distance between the two (see `embedding_conformance.baselines`). `rounding`
        holds by name what sound algorithms may differ by on these data, where that can be more.
        """
        if self.store is None:
            raise HarnessFault("no store of baselines here")
        for key, expected, bound in self.store().compare(name, arrays, oracle, rounding or {}):
            self.close(arrays[key], expected, bound)

    def figure(self, kind: str, title: str, data: dict[str, Any]) -> None:
        """Numbers of the subject that the report draws; nothing is judged by them. What `data` holds:

        - matrix: `rows`, `columns` (labels) and `values` [rows, columns], such as cosines
        - map: `points` [N, 2], `labels`, and `explained`, the share of the variance that each of the two axes has
        - curve: `x` [N] and `lines`, name -> [N]; `x_name`; `log` for logarithmic axes
        - bars: `labels` and `values`
        - table: `columns` (names) and `rows` of numbers and words

        Arrays are kept to six digits. Raises `HarnessFault` for another kind, for numbers that are not finite, and for more
        than 128 x 128 cells or 1,000 points.
        """
        if kind not in FIGURES or data.keys() - {"x_name", "log"} != FIGURES[kind]:
            raise HarnessFault(f"a figure of kind {kind} with {', '.join(sorted(data))}; there are {FIGURES}")
        kept = plain(data)
        cells = len(kept["values"]) * len(kept["columns"]) if kind == "matrix" else 0
        if cells > 128 * 128 or len(kept.get("points", kept.get("x", ()))) > 1000:
            raise HarnessFault(f"the figure {title} has too many numbers to be drawn")
        self.figures.append({"kind": kind, "title": title, "data": kept})

    def _same(self, actual: Any, expected: Any) -> None:
        size = len(expected) if isinstance(expected, (list, tuple, dict, str)) else 1
        if not size:
            raise HarnessFault("an empty expectation would compare nothing")
        comparison = Comparison("equal", size, None, None, "equal")
        if type(actual) is not type(expected) or actual != expected:
            comparison.expected, comparison.actual = short(expected), short(actual)
            self.comparisons.append(comparison)
            raise ClaimViolation("they differ", "equal", worst(comparison))
        self.comparisons.append(comparison)

    @staticmethod
    def _same_shape(actual: np.ndarray, expected: np.ndarray) -> None:
        if not expected.size:
            raise HarnessFault("an empty expectation would compare nothing")
        if actual.shape != expected.shape:
            raise ClaimViolation(f"shape {list(actual.shape)}", f"shape {list(expected.shape)}")

    @staticmethod
    def _finite(array: np.ndarray, word: str, raises: type[Exception]) -> None:
        if array.dtype.kind not in "fcV":
            return
        finite = np.isfinite(array)
        if finite.all():
            return
        place = first(~finite)
        message = f"{int((~finite).sum())} of {array.size} numbers {word} are not finite"
        if raises is ClaimViolation:
            raise ClaimViolation(message, "finite numbers", [f"{where(place)}: {row(array, place)}"])
        raise HarnessFault(message)

    @staticmethod
    def _number(value: Any) -> float:
        array = np.asarray(value)
        if array.shape != ():
            raise HarnessFault(f"a single number is compared here, not an array of shape {list(array.shape)}")
        number = float(array)
        if not math.isfinite(number):
            raise ClaimViolation(f"{number}", "a finite number")
        return number

    def closest(self) -> Comparison | None:
        """The comparison that came nearest to its bound."""
        measured = [c for c in self.comparisons if c.measured is not None and c.bound is not None]
        return min(measured, key=Comparison.slack, default=None)

    def summary(self) -> dict[str, Any]:
        """What the events file keeps of this test: how much was compared, by which kinds, and the closest comparison."""
        closest = self.closest()
        return {
            "compared": self.compared,
            "kinds": sorted({c.kind for c in self.comparisons}),
            "closest": asdict(closest) if closest else None,
        }


def plain(value: Any) -> Any:
    """Arrays as lists of numbers with six digits, at any depth."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            raise HarnessFault("a figure needs finite numbers")
        return float(f"{float(value):.6g}")
    return int(value) if isinstance(value, np.integer) else value


def bits(array: np.ndarray) -> np.ndarray:
    """The array as unsigned integers of the same size, so that -0.0 differs from 0.0 and NaN equals its own bits."""
    if array.dtype.kind in "fV":
        return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)
    return array


def first(mask: np.ndarray) -> tuple[int, ...]:
    """The index of the first true element."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def where(place: Sequence[Any]) -> str:
    """An index as a reader writes it."""
    return f"at [{', '.join(str(int(i)) for i in place)}]" if len(place) else ""


def row(array: np.ndarray, place: Sequence[Any]) -> str:
    """The numbers around an element: up to six of its row, from the first that shows it."""
    if not array.ndim:
        return number(array[()])
    line = array[tuple(place[:-1])]
    start = 0 if len(line) <= 6 or place[-1] < 6 else int(place[-1])
    shown = " ".join(number(value) for value in line[start:start + 6])
    return f"[{'... ' if start else ''}{shown}{' ...' if start + 6 < len(line) else ''}]"


def number(value: Any) -> str:
    """A number in at most six digits."""
    if isinstance(value, (str, np.str_)):
        return str(value)
    return f"{float(value):.6g}" if np.asarray(value).dtype.kind in "fV" else str(value)


def short(value: Any) -> str:
    """A value in at most 80 characters."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, shape {list(value.shape)}"
    try:
        text = repr(value)
    except Exception as error:
        return f"a {type(value).__name__} whose repr raises {type(error).__name__}"
    return printable(re.sub(r" at 0x[0-9a-f]+", "", text), 80)  # an address differs from run to run


def worst(comparison: Comparison) -> list[str]:
    """The lines that show a worst element."""
    place = [comparison.where] if comparison.where else []
    return [*place, f"expected  {comparison.expected}", f"found     {comparison.actual}"]
