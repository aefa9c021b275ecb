"""Number formats and differences that NumPy does not offer."""

import numpy as np

from embedding_conformance import bounds
from embedding_conformance.handles import bfloat16_numbers


def test_bfloat16_numbers_are_the_nearest_ties_to_even():
    import ml_dtypes

    draw = np.random.default_rng(0)
    numbers = (draw.standard_normal(20_000) * 10.0 ** draw.integers(-40, 38, 20_000)).astype(np.float32)
    special = np.array([np.inf, -np.inf, 0.0, -0.0, 1e-45, 3.4e38, 1 + 2**-8, 1 + 3 * 2**-8], np.float32)
    for given in (numbers, special):
        found = bfloat16_numbers(given)
        assert np.array_equal(found.view(np.uint32), given.astype(ml_dtypes.bfloat16).astype(np.float32).view(np.uint32))
    assert np.isnan(bfloat16_numbers(np.array([np.nan], np.float32))).all()


def test_a_central_difference_stays_within_its_bound():
    unit = bounds.UNIT_ROUNDOFF["float32"]
    step = float(np.float32((3 * unit) ** (1 / 3)))  # the best one, where value and third derivative are at most one
    bound = bounds.central_difference(step, 1.0, unit)
    for x in np.linspace(-3, 3, 101):
        ends = [float(np.float32(np.sin(x + sign * step))) for sign in (1, -1)]
        assert abs((ends[0] - ends[1]) / (2 * step) - np.cos(x)) <= bound.value
    assert bound.value < 1e-4 and "central difference" in bound.why
