"""Why each tolerance is what it is: bounds from rounding-error analysis.

Source of the formulas: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM 2002, chapters 2 to 4.
A computed inner product of n terms, in any order of summation, differs from the exact one by at most gamma(n) times the
inner product of the absolute values, where gamma(n) = n u / (1 - n u) and u is the unit roundoff.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

#: half the distance from 1 to the next number of the format
UNIT_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
#: the largest whole number to which a symmetric quantiser scales a row
QUANTISED = {"int8": 127, "int4": 7}
#: how often, at most, a sound random table may fail one comparison of a statistic
FALSE_ALARM = 1e-9

#: the loss of direction, in 1 - cosine, that a sound network may have at a declared precision. Benign changes were
#: measured below 8e-5 for bfloat16, and the smallest real faults start at 5e-3. No tier holds for every model at int8 and
#: below: there it is the ceiling over sound dynamic int8 exports, which were measured at up to 0.13.
TIERS = {"float64": 1e-6, "float32": 1e-6, "float16": 1e-4, "bfloat16": 5e-4, "int8": 0.25, "int4": 0.25}
#: the ceiling for int8 and below on the median text; sound dynamic int8 exports were measured at up to 0.036
MEDIAN_CEILING = 0.05
#: a sound implementation may deviate in another direction than the reference does, and kernels differ by a small factor
SAFETY = 8


@dataclass(frozen=True)
class Bound:
    """A tolerance (a number, or an array for element-wise bounds) and the sentence that says why."""

    value: float | np.ndarray
    why: str

    def scaled(self, factor: float, why: str) -> Bound:
        """The bound times `factor`, for a quantity that is `factor` times as sensitive."""
        return Bound(self.value * factor, f"{self.why}; {why}")


def unit_roundoff(*arrays: np.ndarray) -> tuple[float, str]:
    """The largest unit roundoff among the floating formats of some arrays, and the name of that format.

    Integers and other formats count as float64, in which NumPy computes with them.
    """
    names = [str(array.dtype) if str(array.dtype) in UNIT_ROUNDOFF else "float64" for array in arrays]
    worst = max(names, key=UNIT_ROUNDOFF.__getitem__)
    return UNIT_ROUNDOFF[worst], worst


def gamma(n: Any, u: float) -> Any:
    """n u / (1 - n u): the relative error that n roundings can add up to. Raises ValueError when n u reaches 1."""
    if np.max(n) * u >= 1:
        raise ValueError(f"no bound: {n} roundings of size {u} can lose every digit")
    return n * u / (1 - n * u)


def dot(n: int, *arrays: np.ndarray, scale: float | np.ndarray = 1.0) -> Bound:
    """Of an inner product of n terms; `scale` is the inner product of the absolute values (1 for unit vectors)."""
    u, name = unit_roundoff(*arrays)
    return Bound(gamma(n, u) * scale, f"rounding of an inner product of {n} terms in {name}")


def sum(n: int, *arrays: np.ndarray, scale: float | np.ndarray = 1.0) -> Bound:
    """Of a sum of n terms; `scale` is the sum of the absolute values."""
    u, name = unit_roundoff(*arrays)
    return Bound(gamma(max(n - 1, 1), u) * scale, f"rounding of a sum of {n} terms in {name}")


def accumulated(n: int | np.ndarray, precision: str, scale: float | np.ndarray, exact: float | np.ndarray) -> Bound:
    """Of a sum of n terms that is added up in float32 or finer and then rounded once to `precision`.

    `scale` is the sum of the absolute values. Adding up in float16 or bfloat16 is not covered: it loses whole terms.
    """
    u = UNIT_ROUNDOFF.get(precision, UNIT_ROUNDOFF["float32"])
    inner = min(u, UNIT_ROUNDOFF["float32"])
    error = gamma(np.maximum(np.asarray(n) - 1, 1), inner) * np.asarray(scale)
    if u > inner:
        error = error + u * (np.abs(exact) + error)
    where = precision if u == inner else f"float32, rounded once to {precision}"
    return Bound(error, f"rounding of a sum of {np.max(n)} terms in {where}")


def chain(n: int, *arrays: np.ndarray, scale: float | np.ndarray, of: str) -> Bound:
    """Of a number that n roundings lead to, none of which cancels; `scale` is its size, `of` says which roundings."""
    u, name = unit_roundoff(*arrays)
    return Bound(gamma(n, u) * scale, f"{of}: {n} roundings in {name}")


def mean(n: int, *arrays: np.ndarray, scale: float | np.ndarray = 1.0) -> Bound:
    """Of a mean of n terms; `scale` is the mean of the absolute values. One rounding more than the sum, the division."""
    u, name = unit_roundoff(*arrays)
    return Bound(gamma(n, u) * scale, f"rounding of a mean of {n} terms in {name}")


def norm(n: int, *arrays: np.ndarray) -> Bound:
    """Of a Euclidean norm of n terms, relative to it: half of the inner product's error, and the root's own rounding."""
    u, name = unit_roundoff(*arrays)
    return Bound(gamma(n // 2 + 2, u), f"rounding of a norm of {n} terms in {name}")


def quantised(table: np.ndarray, precision: str) -> Bound:
    """Of every number [V, d] of a table that is kept in whole numbers of 8 or 4 bits and a scale for each row.

    Half a step, which is at most that of a symmetric scale, the largest size in the row over 127 or 7. The scale may itself
    have been rounded to 16 bits, and the product rounds in float32.
    """
    sizes = np.abs(np.asarray(table, np.float64)).max(axis=1, keepdims=True)
    slack = 1 + UNIT_ROUNDOFF["bfloat16"]
    return Bound(np.broadcast_to(sizes * (slack / 2 / QUANTISED[precision] + gamma(4, UNIT_ROUNDOFF["float32"])), table.shape),
                 f"half a step of the row's scale in {precision}")


def unit_length(n: int, precision: str, measured_in: str) -> Bound:
    """Of the length of a row of n numbers that was scaled to length one and kept in `precision`, less one.

    The length that it was divided by is a norm that was added up in float32 at least, the division and the storage round
    once each, and the length is measured by another norm. A quantised row is off by half a step in every number, and the
    step is at most that of a row with a number of size one.
    """
    if precision in QUANTISED:
        return Bound(math.sqrt(n) / 2 / QUANTISED[precision], f"half a step of {precision} in each of {n} numbers")
    u, own = UNIT_ROUNDOFF[precision], min(UNIT_ROUNDOFF[precision], UNIT_ROUNDOFF["float32"])
    return Bound(gamma(n // 2 + 2, own) + 2 * u + gamma(n // 2 + 2, UNIT_ROUNDOFF[measured_in]),
                 f"rounding of a row of {n} numbers that was scaled to length one in {precision}, and of its length")


def cosine(n: int, *arrays: np.ndarray) -> Bound:
    """Of a cosine of two vectors of n numbers, absolute.

    The inner product may be off by gamma(n) of the product of the norms, each norm by gamma(n/2 + 2), and two divisions
    round once each: together at most gamma(2 n + 6).
    """
    u, name = unit_roundoff(*arrays)
    return Bound(gamma(2 * n + 6, u), f"rounding of a cosine of two {n}-vectors in {name}")


def layer_norm(rows: tuple[np.ndarray, ...], gain: np.ndarray, shift: np.ndarray, epsilon: float,
               precision: str) -> Bound:
    """Of the layer normalisation of a sum of `rows` [L, d] in float64, element by element, to first order.

    Each addition and each step on single numbers rounds once in `precision`. The mean and the variance are sums over the
    width, which libraries add up in float32 at least; a variance may be the mean square less the squared mean.
    """
    u = UNIT_ROUNDOFF[precision]
    width = gain.shape[0]
    totals = gamma(width + 2, min(u, UNIT_ROUNDOFF["float32"]))
    total = np.sum(rows, axis=0)
    mean = total.mean(axis=1, keepdims=True)
    centred = total - mean
    variance = (centred**2).mean(axis=1, keepdims=True) + epsilon
    off = gamma(max(len(rows) - 1, 1), u) * np.sum(np.abs(rows), axis=0)
    off = off + off.mean(axis=1, keepdims=True) + totals * np.abs(total).mean(axis=1, keepdims=True) + u * np.abs(centred)
    relative = np.sqrt((off**2).mean(axis=1, keepdims=True) / variance) + totals * (1 + mean**2 / variance)
    normal = centred / np.sqrt(variance)
    off = np.abs(gain) * (off / np.sqrt(variance) + np.abs(normal) * (relative + 3 * u))
    return Bound(off + gamma(2, u) * (np.abs(normal * gain) + np.abs(shift)),
                 f"rounding of a layer normalisation over {width} numbers in {precision}")


def network(precision: str, deviation: float = 0.0) -> tuple[Bound, Bound]:
    """Of a row that a network computed: its loss of direction (1 - cosine), and the relative change of its length.

    `deviation` is the largest loss of direction of the sound float32 reference against its float64 oracle on the same
    texts, where there is an oracle: never the subject's own variation, which would excuse a subject that is unsteady
    because it is wrong. Eight times this or the tier of the precision is allowed, whichever is larger, and never more
    than the tier; so the tier decides, and the deviation says whether it can. An error of relative size r turns a vector
    by r and 1 - cosine is r^2 / 2, while its length may change by all of r. Raises ValueError when the reference itself
    comes near the tier.
    """
    tier = TIERS[precision]
    if not SAFETY * deviation <= tier:
        raise ValueError(f"no bound: the sound float32 reference deviates by {deviation:.2g}, and {SAFETY} times that is "
                         f"more than {precision} may lose, {tier:.0e}")
    why = f"what a sound network may lose in {precision}"
    if deviation:
        why += f"; the float32 reference loses {deviation:.1g} on these texts"
    return Bound(tier, f"direction: {why}"), Bound(math.sqrt(2 * tier), f"length: {why}")


def steady(precision: str) -> str:
    """The format whose tier bounds how much two answers of one subject about one text may differ: never that of int8.

    Quantised weights, and activations with a range of their own, are functions of the text alone. What is left is that a
    sum which comes out otherwise in its last digit is rounded to another step of the grid; bfloat16 allows for more.
    Dynamic int8, whose ranges are those of the whole batch, turned a text of all-MiniLM-L6-v2 by 0.07 with its company.
    """
    return precision if precision in UNIT_ROUNDOFF else "bfloat16"


def distance(n: int, *arrays: np.ndarray, exact: np.ndarray, lengths: np.ndarray) -> Bound:
    """Of Euclidean distances of n-vectors; `exact` are the distances, `lengths` the sums of the two vectors' lengths.

    Searches compute the square of a distance from inner products, and where the vectors are close to each other, little
    of it is left: the square may be off by gamma(n + 4) times the square of the sum of lengths. Its root is then off by
    at most that over the distance, and by at most the root of that; and it rounds once itself.
    """
    u, name = unit_roundoff(*arrays)
    square = gamma(n + 4, u) * lengths**2
    with np.errstate(divide="ignore"):
        value = np.minimum(square / exact, np.sqrt(square)) + u * exact
    return Bound(value, f"rounding of a distance of two {n}-vectors in {name}, computed from inner products")


def decomposition(shape: tuple[int, int], *arrays: np.ndarray, scale: float | np.ndarray = 1.0) -> Bound:
    """Of singular values and axes of a matrix. `scale` is the largest singular value, for axes divided by their gap.

    A backward stable decomposition is exact for a matrix that differs by p u times its largest singular value, where p
    grows modestly with the size (Anderson et al., LAPACK Users' Guide, 3rd ed., section 4.9). It is taken as the sum of
    the sides, since the covariance of the rows may be decomposed instead, which rounds once for each row.
    """
    u, name = unit_roundoff(*arrays)
    rows, columns = shape
    return Bound(gamma(rows + columns, u) * scale, f"rounding of a decomposition of {rows} x {columns} numbers in {name}")


def central_difference(step: float, third: float, error: float) -> Bound:
    """Of (f(x + s) - f(x - s)) / 2 s for a slope: the next term of Taylor's series and the error of f, spread over s.

    `third` is the largest third derivative of f nearby, `error` that of f itself. The bound is smallest with the step
    (3 error / third) ** (1/3).
    """
    return Bound(step * step / 6 * third + error / step,
                 f"a central difference with step {step:.2g}, values exact to {error:.2g}")


def mean_of_draws(n: int, variance: float, reach: float = 0.0) -> Bound:
    """Of the mean of n independent random numbers, around its expectation: exceeded at most once in a billion runs.

    With L = ln(2 / `FALSE_ALARM`) the deviation stays below sqrt(2 variance L / n) + 2 reach L / (3 n). This is

    - with reach 0, Chernoff's bound for normal numbers, and for all with tails no heavier (sub-Gaussian);
    - with variance 1/4 and reach 0, Hoeffding's bound (1963) for a share, and Massart's (1990) for the largest distance
      of an empirical distribution function;
    - Bernstein's bound for numbers of any variance that lie within `reach` of their mean;
    - with variance 2 and reach 3, Laurent and Massart's bound (2000, lemma 1) for squares of standard normal numbers.
    """
    log = math.log(2 / FALSE_ALARM)
    value = math.sqrt(2 * variance * log / n) + 2 * reach * log / (3 * n)
    return Bound(value, f"what a mean of {n} independent draws exceeds in one run of a billion")
