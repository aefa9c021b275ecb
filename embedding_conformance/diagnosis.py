"""Which registered fault explains a difference to a reference.

Every fault that shows at a stage is applied to the reference. The one that brings the reference to the subject is named, but
only if what it leaves unexplained is at most a quarter of what there was, and of what the next best fault leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from .proof import Specimen, specimens

#: how many times closer a fault must come to be named
CLOSER = 4
#: two faults that make the same of the reference, up to this, are one
SAME = 1e-12
#: what a fault raises where it has nothing to take hold of
INAPPLICABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError)


@dataclass(frozen=True)
class Attempt:
    """A fault applied to the reference: what of the difference it leaves, in the worst row."""

    name: str
    residual: float
    answer: Any


@dataclass(frozen=True)
class Diagnosis:
    """`unexplained` is the difference itself; `attempts` are all faults that were tried, the closest first."""

    unexplained: float
    attempts: tuple[Attempt, ...]
    named: Attempt | None = None
    rival: Attempt | None = None

    def __str__(self) -> str:
        if not self.attempts:
            return "no registered fault can be tried here"
        if self.named is None:
            best = self.attempts[0]
            return (f"no registered fault explains it (the closest of {len(self.attempts)}, {best.name}, leaves "
                    f"{best.residual:.2g} of {self.unexplained:.2g})")
        rival = f" (next: {self.rival.name}, {self.rival.residual:.2g})" if self.rival else ""
        return f"{self.named.name}: applied to the reference it gives this subject within {self.named.residual:.2g}{rival}"


def explain(unexplained: float, attempts: Iterable[tuple[str, Any]], residual: Callable[[Any], float],
            same: Callable[[Any, Any], float]) -> Diagnosis:
    """Name the fault that explains a difference of the size `unexplained`, if one does.

    `attempts` are faults by name with what they make of the reference; `residual` is the distance of that from the subject,
    in its worst row, `same` the distance of two of them.
    """
    tried = sorted((Attempt(name, residual(answer), answer) for name, answer in attempts), key=lambda one: one.residual)
    if not tried:
        return Diagnosis(unexplained, ())
    best = tried[0]
    rival = next((one for one in tried[1:] if _other(one, best, same)), None)
    explains = best.residual * CLOSER <= min(unexplained, rival.residual if rival else np.inf) and best.residual < unexplained
    return Diagnosis(unexplained, tuple(tried), best if explains else None, rival)


def _other(one: Attempt, best: Attempt, same: Callable[[Any, Any], float]) -> bool:
    """Whether an attempt is of another fault than the best: variants and doubles of a fault are no rivals of it."""
    return one.name.partition(" ")[0] != best.name.partition(" ")[0] and same(one.answer, best.answer) > SAME


@cache
def candidates(*seams: str) -> tuple[Specimen, ...]:
    """The registered faults that show at these stages."""
    return tuple(one for _, one in sorted(specimens(documents=False).items()) if not one.sound and one.seam in seams)


def tried(whole: Any, seams: Sequence[str], ask: Callable[[Any], Any],
          promising: Callable[[Any], bool] = lambda broken: True) -> list[tuple[str, Any]]:
    """Every fault of the stages, applied to a reference and asked; of its variants those that look `promising`.

    One that cannot be applied there, such as a fault of weights to a reference without any, explains nothing.
    """
    answers: list[tuple[str, Any]] = []
    for one in candidates(*seams):
        with suppress(*INAPPLICABLE):
            answers.append((one.name, ask(one.change(whole))))
        with suppress(*INAPPLICABLE):
            for label, broken in one.variants(whole) if one.variants else ():
                with suppress(*INAPPLICABLE):
                    if promising(broken):
                        answers.append((f"{one.name} ({label})", ask(broken)))
    return answers


# --- distances ---------------------------------------------------------------------------------------------------------


def apart(found: np.ndarray, expected: np.ndarray) -> float:
    """Of rows [..., d]: the largest |f - e|^2 / (2 |e|^2), which for rows of length one is 1 - cosine."""
    if found.shape != expected.shape:
        return np.inf
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    size = (expected**2).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = ((found - expected) ** 2).sum(axis=-1) / (2 * size)
    return float(np.where(size == 0, np.inf, distance).max())


def lists_apart(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """The same over lists of [L, d]."""
    return max((apart(one, other) for one, other in zip(found, expected, strict=True)), default=0.0)


def ids_apart(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """The share of texts whose ids are not the same."""
    return float(np.mean([not np.array_equal(one, other) for one, other in zip(found, expected, strict=True)]))
