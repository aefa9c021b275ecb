"""The code of positions by sines and cosines."""

from math import cos, sin

import numpy as np
import pytest

from ... import bounds
from ...data import numbered_table


@pytest.mark.claim("POS-01")
@pytest.mark.parametrize(("length", "width"), [(1, 2), (7, 8), (40, 384), (5000, 16)])
def test_codes_are_sines_and_cosines(encodings, evidence, length, width):
    """Each number against the sine or cosine of its angle; an angle is off by at most 32 roundings, a sine by that much.

    Of these, ten come from ten thousand to the power of a rounded fraction, since its logarithm is 9.2, and the rest
    allow for another order of the steps.
    """
    found = encodings.positions(length, width)
    angles = [[position / 10000 ** (2 * (column // 2) / width) for column in range(width)] for position in range(length)]
    expected = np.array([[(sin, cos)[column % 2](angle) for column, angle in enumerate(row)] for row in angles])
    u, name = bounds.unit_roundoff(found)
    evidence.close(found, expected, bounds.Bound(bounds.gamma(32, u) * np.array(angles) + 2 * u,
                                                 f"32 roundings of an angle and two of its sine in {name}"))
    evidence.equal(found[0].astype(np.float64), np.resize([0.0, 1.0], width))


@pytest.mark.claim("POS-02")
@pytest.mark.parametrize("width", [512, 384, 8, 2])
def test_codes_are_as_wide_as_the_vectors(encodings, evidence, width):
    """Four vectors with the codes of their positions added keep their shape."""
    vectors = numbered_table(4, width)[None]
    codes = encodings.positions(4, width)
    evidence.equal(list((vectors + codes).shape), [1, 4, width])
