"""Principal components by the covariance matrix, and straight lines and arithmetic by plain loops with exact sums."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum, sqrt

import numpy as np

from ... import bounds
from ...bounds import Bound
from ..similarity.oracle import cosine


@dataclass
class Components:
    """Of points [N, d]: their mean [d], and by falling variance the sums of squares [d] along the axes [d, d]."""

    mean: np.ndarray
    squares: np.ndarray
    axes: np.ndarray
    shape: tuple[int, int]

    def groups(self, n: int) -> list[range]:
        """The first n axes in groups: within a group variances are so close that only the group's space is determined.

        Close is a hundredth of the largest one. A group may reach beyond the first n axes.
        """
        starts = [0] + [i for i in range(1, len(self.squares))
                        if self.squares[i - 1] - self.squares[i] > self.squares[0] / 100]
        ends = [*starts[1:], len(self.squares)]
        return [range(start, end) for start, end in zip(starts, ends, strict=True) if start < n]

    def turned(self, group: range, *arrays: np.ndarray) -> Bound:
        """How far a computed axis of a group may point out of the group's space: the sine of the angle.

        Davis and Kahan 1970: the error of the decomposition over the gap between the variances inside and outside.
        """
        inside, outside = self.squares[group], np.delete(self.squares, group)
        gap = np.abs(inside[:, None] - outside).min()
        return bounds.decomposition(self.shape, *arrays, scale=self.squares[0] / gap)


def components(vectors: np.ndarray) -> Components:
    """Eigenvectors of the covariance in float64; the mean is exact until it is rounded once."""
    exact = vectors.astype(np.float64)
    mean = np.array([fsum(column) / len(exact) for column in exact.T])
    centred = exact - mean
    squares, axes = np.linalg.eigh(centred.T @ centred)
    return Components(mean, squares[::-1], axes.T[::-1], vectors.shape)


def blend(a: np.ndarray, b: np.ndarray, t: float) -> np.ndarray:
    """[d]: (1 - t) a + t b in float64, each number rounded once, not scaled."""
    return np.array([fsum(((1 - t) * float(x), t * float(y))) for x, y in zip(a, b, strict=True)])


def interpolated(a: np.ndarray, b: np.ndarray, t: float) -> np.ndarray:
    """[d]: the blend scaled to length one."""
    mixed = blend(a, b, t)
    return mixed / sqrt(fsum(x * x for x in mixed))


def interpolation_bound(a: np.ndarray, b: np.ndarray, t: float, answer: np.ndarray) -> Bound:
    """Of an interpolated vector, for each number: four roundings of both terms, then of the norm and of the division.

    The terms count with their whole size, since a line may also be drawn as a + t (b - a). Where the two vectors cancel,
    the blend is short and they weigh more.
    """
    u, name = bounds.unit_roundoff(a, b, answer)
    terms = np.abs(a.astype(np.float64)) + np.abs(b.astype(np.float64))
    mixed = blend(a, b, t)
    length = np.linalg.norm(mixed)
    four = bounds.gamma(4, u)
    norm = bounds.gamma(len(a) // 2 + 4, u) + four * np.linalg.norm(terms) / length
    return Bound((four * terms + norm * np.abs(mixed)) / length,
                 f"rounding of a blend of two {len(a)}-vectors in {name}, scaled to length one")


def analogy_scores(positive: np.ndarray, negative: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """[N]: the cosine of every candidate with the sum of `positive` less the sum of `negative`, the sum exact."""
    wanted = wish(positive, negative)
    return np.array([cosine(candidate, wanted) for candidate in candidates])


def wish(positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """[d]: the sum of `positive` less the sum of `negative`, each number rounded once."""
    signed = np.concatenate([positive.astype(np.float64), -negative.astype(np.float64)])
    return np.array([fsum(column) for column in signed.T])


def analogy_bound(positive: np.ndarray, negative: np.ndarray, *arrays: np.ndarray) -> Bound:
    """Of a score of an analogy: of a cosine, and of the sum of the inputs, which is short where they cancel."""
    inputs = np.concatenate([positive, negative])
    u, name = bounds.unit_roundoff(inputs, *arrays)
    lost = np.linalg.norm(np.abs(inputs.astype(np.float64)).sum(axis=0)) / np.linalg.norm(wish(positive, negative))
    width = inputs.shape[1]
    return Bound(bounds.cosine(width, inputs, *arrays).value + 2 * bounds.gamma(len(inputs), u) * lost,
                 f"rounding of a sum of {len(inputs)} {width}-vectors and of a cosine with it in {name}")
