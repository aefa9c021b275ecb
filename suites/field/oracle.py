"""How near two answers about the same texts are, and how far apart answers about different texts."""

import numpy as np

from ... import bounds
from ...evidence import short
from ..encoder_input.oracle import gaps as row_gaps


def gaps(found, expected):
    """Of two arrays [N, d], row by row: 1 - cosine, and the relative difference of the lengths; two rows of zeros agree."""
    alike = ~(found.any(axis=1) | expected.any(axis=1))
    turned, stretched = row_gaps(found, expected)
    return np.where(alike, 0, turned), np.where(alike, 0, stretched)


def steadiness(embedder, answer):
    """The format whose tier bounds how much two answers about one text may differ."""
    return bounds.steady(embedder.precision_of(answer))


def same(evidence, embedder, found, expected, texts):
    """Every row of `found` has the direction and the length of that row of `expected`, as far as the format goes."""
    evidence.equal(list(found.shape), list(expected.shape))
    direction, length = bounds.network(steadiness(embedder, found))
    for measured, bound in zip(gaps(found, expected), (direction, length), strict=True):
        row = int(np.argmax(measured))  # the first NaN, where there is one
        evidence.at_most(measured[row], bound, f"row {row}, {short(texts[row])}")


def apart(evidence, embedder, a, b, what):
    """The rows of `a` and `b` [N, d] differ in direction, each by more than the format may lose."""
    direction, _ = bounds.network(steadiness(embedder, a))
    turned, stretched = gaps(a, b)
    least = np.maximum(turned, stretched).min()
    evidence.greater(least, 0, float(direction.value), f"{what}: what the format may lose")


def distances(vectors):
    """[N, N]: 1 - cosine of all pairs of rows."""
    unit = vectors.astype(np.float64)
    lengths = np.linalg.norm(unit, axis=1, keepdims=True)
    unit = unit / np.where(lengths == 0, 1, lengths)
    return 1 - unit @ unit.T
