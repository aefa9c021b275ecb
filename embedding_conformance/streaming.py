"""One pass over stored vectors: what all claims about them need, in memory that does not grow with their number."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from . import bounds

if TYPE_CHECKING:
    from .subjects import Subject

#: ranges of rows that are kept of each kind; beyond them rows are only counted
MOST_RANGES = 10_000
MOST_EXAMPLES = 4
#: seconds between two reports of progress
PACE = 1.0
#: format -> whole numbers of its size, and the bits that are zero in every number that also fits into a narrower format
COARSE = {"float32": ("u4", {"bfloat16": 0xFFFF, "float16": 0x1FFF}), "float64": ("u8", {"float32": 0x1FFF_FFFF})}
#: batches of which rows are kept, to be asked for again by their numbers
SAMPLED = 16


@dataclass
class Rows:
    """Rows of one kind: how many, where (ranges from and up to), and what the first of them look like."""

    count: int = 0
    ranges: list[tuple[int, int]] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)

    def add(self, first: int, places: np.ndarray, batch: np.ndarray) -> None:
        """Rows of a batch [n, d] that begins with row `first`; `places` [k] are ascending and count within the batch."""
        self.count += len(places)
        for place in places[:MOST_EXAMPLES - len(self.examples)]:
            numbers = " ".join(f"{float(number):.6g}" for number in batch[place][:6])
            self.examples.append(f"row {first + int(place)}: [{numbers}{' ...' if batch.shape[1] > 6 else ''}]")
        for start, stop in runs(places):
            if self.ranges and self.ranges[-1][1] == first + start:
                self.ranges[-1] = (self.ranges[-1][0], first + stop)
            elif len(self.ranges) < MOST_RANGES:
                self.ranges.append((first + start, first + stop))

    def where(self) -> str:
        """The first of them in words."""
        shown = [str(first) if last == first + 1 else f"{first} to {last - 1}" for first, last in self.ranges[:4]]
        more = self.count - sum(last - first for first, last in self.ranges[:4])
        return f"rows {', '.join(shown)}{f' and {more} more' if more else ''}" if shown else ""


def runs(places: np.ndarray) -> list[tuple[int, int]]:
    """Ascending numbers as ranges from and up to."""
    if not len(places):
        return []
    breaks = np.flatnonzero(np.diff(places) > 1) + 1
    starts, stops = places[np.concatenate([[0], breaks])], places[np.concatenate([breaks - 1, [len(places) - 1]])] + 1
    return list(zip(starts.tolist(), stops.tolist(), strict=True))


class Summary:
    """What a pass found out. `precision` is what the subject declares of its numbers, `total` how many rows it says it has.

    Lengths are judged only where the subject declares that all are one.
    """

    def __init__(self, precision: str | None = None, total: int | None = None, *, normalized: bool = True):
        self.precision = precision
        self.normalized = normalized
        self.total = total
        self.count = 0
        #: (width, format) of the first batch, and which rows have another
        self.form: tuple[int, str] | None = None
        self.other_form = Rows()
        self.not_finite = Rows()
        self.zero = Rows()
        #: rows with a number that is the largest of its format
        self.saturated = Rows()
        #: rows whose length is not one within the bound, and the largest deviation with its row
        self.not_unit = Rows()
        self.deviation = (0.0, 0)
        #: the first place where a batch does not begin with the row after the last one: (expected, found)
        self.gap: tuple[int, int] | None = None
        self.all_alike = True
        #: narrower formats that have held every number so far
        self.coarse: set[str] = set()
        #: some rows as they came, by their numbers
        self.samples: dict[int, np.ndarray] = {}
        self._first: np.ndarray | None = None
        self._last: tuple[int, np.ndarray] | None = None
        self._batches = 0

    def unit_bound(self) -> bounds.Bound:
        """What the length of a row that was scaled to one may be off by."""
        width, form = self.form or (1, "float32")
        return bounds.unit_length(width, self.precision or (form if form in bounds.UNIT_ROUNDOFF else "float64"),
                                  measured_in(form))

    def add(self, first: int, batch: np.ndarray) -> None:
        """Take in the rows [n, d] from row `first` on."""
        if first != self.count and self.gap is None:
            self.gap = (self.count, first)
        start, self.count = self.count, self.count + len(batch)
        form = (batch.shape[1], str(batch.dtype.newbyteorder("=")))
        if self.form is None and batch.size:
            self._begin(form, batch)
        if form != self.form:
            self.other_form.add(start, np.arange(len(batch)), batch)
        if not batch.size:
            return
        self._measure(start, batch)
        self._compare(batch)
        self._sample(start, batch)

    def _begin(self, form: tuple[int, str], batch: np.ndarray) -> None:
        self.form, self._first = form, batch[0].copy()
        self.coarse = set(COARSE.get(form[1], ("", {}))[1])

    def _measure(self, start: int, batch: np.ndarray) -> None:
        """Lengths; only rows whose length is odd are looked at number by number."""
        form = str(batch.dtype.newbyteorder("="))
        numbers = np.ascontiguousarray(batch, measured_in(form))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            squares = np.einsum("ij,ij->i", numbers, numbers)
            lengths = np.sqrt(squares)
        largest = largest_of(batch.dtype)
        odd = np.flatnonzero(~((squares > 0) & (lengths < largest)))
        if len(odd):
            self._inspect(start, batch, odd, largest)
        if self.normalized:
            self._judge_lengths(start, batch, lengths)

    def _judge_lengths(self, start: int, batch: np.ndarray, lengths: np.ndarray) -> None:
        deviations = np.abs(lengths - 1)
        bound = float(self.unit_bound().value)
        suspects = np.flatnonzero(~(deviations <= bound))
        if len(suspects):
            exact = np.linalg.norm(batch[suspects].astype(np.float64), axis=1)
            self.not_unit.add(start, suspects[~(np.abs(exact - 1) <= bound)], batch)
        known = np.where(np.isfinite(deviations), deviations, 0)
        worst = int(np.argmax(known))
        self.deviation = max(self.deviation, (float(known[worst]), start + worst), key=lambda pair: pair[0])

    def _inspect(self, start: int, batch: np.ndarray, odd: np.ndarray, largest: float) -> None:
        rows = batch[odd].astype(np.float64)
        finite = np.isfinite(rows).all(axis=1)
        self.not_finite.add(start, odd[~finite], batch)
        self.zero.add(start, odd[~rows.any(axis=1)], batch)
        self.saturated.add(start, odd[finite & (np.abs(rows) >= largest).any(axis=1)], batch)

    def _compare(self, batch: np.ndarray) -> None:
        if self.all_alike and self._first is not None and batch.shape[1] == len(self._first):
            self.all_alike = bool((batch == self._first).all())
        if self.coarse:
            form = str(batch.dtype.newbyteorder("="))
            whole, zeros = COARSE.get(form, ("u1", {}))
            bits = np.ascontiguousarray(batch, form).view(whole)
            self.coarse = {name for name in self.coarse & zeros.keys() if not (bits & bits.dtype.type(zeros[name])).any()}

    def _sample(self, start: int, batch: np.ndarray) -> None:
        if self.form is None or batch.shape[1] != self.form[0]:
            return
        self._batches += 1
        self._last = (self.count - 1, batch[-1].copy())
        if self._batches <= SAMPLED:
            for place in {0, len(batch) * 3 // 7, len(batch) - 1}:
                self.samples[start + place] = batch[place].copy()

    def sampled(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers [K] of some rows, the last included and one of them twice, in no order, and the rows [K, d]."""
        known = self.samples | (dict([self._last]) if self._last else {})
        numbers = sorted(known, key=lambda number: (number * 7919 + 5) % 1009)
        numbers.append(numbers[0])
        return np.array(numbers), np.stack([known[number] for number in numbers])


def measured_in(form: str) -> str:
    """The format in which lengths are computed: float64 where the numbers need it, else float32."""
    return "float64" if form in ("float64", "int32", "int64", "uint32", "uint64") else "float32"


def largest_of(dtype: np.dtype) -> float:
    """The largest number of a floating format; infinite for whole numbers, which a quantiser uses up to the end."""
    return float(np.finfo(dtype).max) if dtype.kind == "f" else float("inf")


class Pace:
    """Says during a long pass how far it is, how fast, and how long it will take."""

    def __init__(self, subject: Subject, total: int | None):
        self.subject = subject
        self.total = total
        self.began = self.said = time.monotonic()

    def __call__(self, count: int) -> None:
        now = time.monotonic()
        if self.subject.progress is None or now - self.said < PACE:
            return
        self.said = now
        speed = count / (now - self.began)
        of = left = ""
        if self.total:
            seconds = (self.total - count) / speed
            of = f" of {self.total:,}"
            left = f", {seconds:.0f} s left" if seconds < 120 else f", {seconds / 60:.0f} min left"
        self.subject.progress(f"{self.subject.name}: {count:,}{of} rows, {speed:,.0f} a second{left}")
