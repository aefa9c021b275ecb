"""The bounds hold on real computations, and are not far above what they bound."""

from math import fsum

import numpy as np
import pytest

from embedding_conformance import bounds


def test_gamma_is_higham_s():
    u = 2.0**-24
    assert bounds.gamma(1, u) == u / (1 - u)
    assert bounds.gamma(384, u) == pytest.approx(384 * u, rel=1e-4)
    with pytest.raises(ValueError, match="no bound"):
        bounds.gamma(2**11, 2.0**-11)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("n", [3, 33, 384])
def test_sums_means_dots_norms_and_cosines_stay_within(dtype, n):
    generator = np.random.default_rng(n)
    for _ in range(50):
        x, y = (generator.standard_normal(n).astype(dtype) for _ in range(2))
        exact_x, exact_y = [float(v) for v in x], [float(v) for v in y]
        size = fsum(abs(v) for v in exact_x)
        total = np.add.accumulate(x, dtype=dtype)[-1]  # one by one, the worst order
        assert abs(float(total) - fsum(exact_x)) <= bounds.sum(n, x, scale=size).value
        assert abs(float(total / x.dtype.type(n)) - fsum(exact_x) / n) <= bounds.mean(n, x, scale=size / n).value
        dot = np.add.accumulate(x * y, dtype=dtype)[-1]
        exact = fsum(a * b for a, b in zip(exact_x, exact_y, strict=True))
        scale = fsum(abs(a * b) for a, b in zip(exact_x, exact_y, strict=True))
        assert abs(float(dot) - exact) <= bounds.dot(n, x, scale=scale).value
        norm = np.sqrt(np.add.accumulate(x * x, dtype=dtype)[-1])
        exact_norm = fsum(a * a for a in exact_x) ** 0.5
        assert abs(float(norm) / exact_norm - 1) <= bounds.norm(n, x).value
        norm_y = np.sqrt(np.add.accumulate(y * y, dtype=dtype)[-1])
        exact_cosine = exact / (exact_norm * fsum(b * b for b in exact_y) ** 0.5)
        assert abs(float(dot / norm / norm_y) - exact_cosine) <= bounds.cosine(n, x).value


def test_the_coarsest_format_decides():
    assert bounds.unit_roundoff(np.ones(1), np.ones(1, np.float16), np.ones(1, np.float32)) == (2.0**-11, "float16")
    assert bounds.unit_roundoff(np.ones(1, np.int64)) == (2.0**-53, "float64")


def test_every_bound_says_why():
    one = np.ones(8, np.float32)
    for bound in (bounds.dot, bounds.sum, bounds.mean, bounds.norm, bounds.cosine):
        assert "rounding of a" in bound(8, one).why and "float32" in bound(8, one).why
    twice = bounds.dot(8, one).scaled(2, "twice")
    assert twice.why.endswith("; twice") and twice.value == 2 * bounds.dot(8, one).value


ROUND, HALF_ROUND, COARSE = 2.0**-24, 2.0**-11, 2.0**-8
ONE = np.ones(1, np.float32)


def gamma(n, u):
    return n * u / (1 - n * u)


@pytest.mark.parametrize(("bound", "value", "why"), [
    (lambda: bounds.dot(5, ONE), gamma(5, ROUND), "rounding of an inner product of 5 terms in float32"),
    (lambda: bounds.dot(5, ONE, scale=3.0), 3 * gamma(5, ROUND), "rounding of an inner product of 5 terms in float32"),
    (lambda: bounds.sum(5, ONE), gamma(4, ROUND), "rounding of a sum of 5 terms in float32"),
    (lambda: bounds.sum(1, ONE, scale=3.0), 3 * gamma(1, ROUND), "rounding of a sum of 1 terms in float32"),
    (lambda: bounds.sum(2, ONE), gamma(1, ROUND), "rounding of a sum of 2 terms in float32"),
    (lambda: bounds.sum(3, ONE), gamma(2, ROUND), "rounding of a sum of 3 terms in float32"),
    (lambda: bounds.mean(5, ONE), gamma(5, ROUND), "rounding of a mean of 5 terms in float32"),
    (lambda: bounds.mean(5, ONE, scale=3.0), 3 * gamma(5, ROUND), "rounding of a mean of 5 terms in float32"),
    (lambda: bounds.norm(5, ONE), gamma(4, ROUND), "rounding of a norm of 5 terms in float32"),
    (lambda: bounds.norm(6, ONE), gamma(5, ROUND), "rounding of a norm of 6 terms in float32"),
    (lambda: bounds.cosine(5, ONE), gamma(16, ROUND), "rounding of a cosine of two 5-vectors in float32"),
    (lambda: bounds.chain(5, ONE, scale=3.0, of="a root"), 3 * gamma(5, ROUND), "a root: 5 roundings in float32"),
    (lambda: bounds.decomposition((5, 3), ONE, scale=2.0), 2 * gamma(8, ROUND),
     "rounding of a decomposition of 5 x 3 numbers in float32"),
    (lambda: bounds.decomposition((5, 3), ONE), gamma(8, ROUND), "rounding of a decomposition of 5 x 3 numbers in float32"),
    (lambda: bounds.central_difference(0.5, 12.0, 0.25), 0.5 + 0.5, "a central difference with step 0.5, values exact to 0.25"),
    (lambda: bounds.central_difference(0.25, 6.0, 0.5), 0.0625 + 2, "a central difference with step 0.25, values exact to 0.5"),
])
def test_bounds_are_the_formulas_of_their_sources(bound, value, why):
    assert bound().value == pytest.approx(value, rel=1e-12)
    assert bound().why == why


def test_a_bound_that_would_lose_every_digit_is_refused_with_the_reason():
    with pytest.raises(ValueError, match=r"^no bound: 2048 roundings of size 0.00048828125 can lose every digit$"):
        bounds.gamma(2**11, 2.0**-11)
    assert bounds.gamma(2**11 - 1, 2.0**-11) == 2**11 - 1
    with pytest.raises(ValueError, match="no bound"):
        bounds.gamma(np.array([1, 2**11]), 2.0**-11)


def test_the_roundoff_of_every_format_is_half_the_distance_to_the_next_number():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name, u in bounds.UNIT_ROUNDOFF.items():
        kind = ml_dtypes.finfo("bfloat16") if name == "bfloat16" else np.finfo(name)
        assert float(kind.eps) / 2 == u
    assert bounds.unit_roundoff(np.ones(1, ml_dtypes.bfloat16), ONE) == (COARSE, "bfloat16")


def test_no_tier_is_wider_than_that_of_a_coarser_precision():
    """And the smallest real faults, at 5e-3 in 1 - cosine, lie four times above the widest tier of a floating format."""
    tiers = [bounds.TIERS[name] for name in ("float64", "float32", "float16", "bfloat16", "int8", "int4")]
    assert tiers == sorted(tiers)
    assert 4 * bounds.TIERS["bfloat16"] <= 5e-3 and bounds.TIERS["bfloat16"] >= 4 * 8e-5
    assert bounds.TIERS["int4"] <= 0.25 and bounds.SAFETY == 8


@pytest.mark.parametrize(("n", "precision", "scale", "exact", "value", "why"), [
    (5, "float32", 3.0, 2.0, 3 * gamma(4, ROUND), "rounding of a sum of 5 terms in float32"),
    (1, "float32", 3.0, 2.0, 3 * gamma(1, ROUND), "rounding of a sum of 1 terms in float32"),
    (5, "float64", 3.0, 2.0, 3 * gamma(4, 2.0**-53), "rounding of a sum of 5 terms in float64"),
    (5, "int8", 3.0, 2.0, 3 * gamma(4, ROUND), "rounding of a sum of 5 terms in int8"),
    (5, "float16", 3.0, -2.0, 3 * gamma(4, ROUND) + HALF_ROUND * (2 + 3 * gamma(4, ROUND)),
     "rounding of a sum of 5 terms in float32, rounded once to float16"),
    (3, "bfloat16", 1.0, 0.5, gamma(2, ROUND) + COARSE * (0.5 + gamma(2, ROUND)),
     "rounding of a sum of 3 terms in float32, rounded once to bfloat16"),
])
def test_a_sum_added_up_in_float32_is_rounded_once_to_a_coarser_format(n, precision, scale, exact, value, why):
    bound = bounds.accumulated(n, precision, scale, exact)
    assert float(bound.value) == pytest.approx(value, rel=1e-12) and bound.why == why


@pytest.mark.parametrize(("precision", "steps"), [("int8", 127), ("int4", 7)])
def test_a_quantised_table_may_be_off_by_half_a_step_of_each_rows_scale(precision, steps):
    table = np.array([[0.5, -2.0, 1.0], [4.0, 0.0, 0.0]], np.float32)
    bound = bounds.quantised(table, precision)
    expected = np.array([2.0, 4.0]) * ((1 + COARSE) / 2 / steps + gamma(4, ROUND))
    np.testing.assert_allclose(bound.value, np.repeat(expected[:, None], 3, axis=1), rtol=1e-14)
    assert bound.why == f"half a step of the row's scale in {precision}"


@pytest.mark.parametrize(("precision", "measured_in", "value"), [
    ("float32", "float64", gamma(195, ROUND) + 2 * ROUND + gamma(195, 2.0**-53)),
    ("float64", "float32", gamma(195, 2.0**-53) + 2 * 2.0**-53 + gamma(195, ROUND)),
    ("float16", "float32", gamma(195, ROUND) + 2 * HALF_ROUND + gamma(195, ROUND)),
])
def test_a_length_of_one_is_rounded_when_it_is_made_kept_and_measured(precision, measured_in, value):
    bound = bounds.unit_length(387, precision, measured_in)
    assert float(bound.value) == pytest.approx(value, rel=1e-12)
    assert bound.why == f"rounding of a row of 387 numbers that was scaled to length one in {precision}, and of its length"


@pytest.mark.parametrize(("precision", "steps"), [("int8", 127), ("int4", 7)])
def test_a_quantised_row_of_length_one_is_off_by_half_a_step_in_every_number(precision, steps):
    bound = bounds.unit_length(400, precision, "float32")
    assert float(bound.value) == pytest.approx(20 / 2 / steps, rel=1e-12)
    assert bound.why == f"half a step of {precision} in each of 400 numbers"


def test_answers_of_one_subject_differ_by_no_more_than_a_floating_format_loses():
    assert [bounds.steady(name) for name in ("float64", "float32", "float16", "bfloat16", "int8", "int4")] == [
        "float64", "float32", "float16", "bfloat16", "bfloat16", "bfloat16"]


def test_sums_of_several_lengths_have_bounds_of_their_own():
    bound = bounds.accumulated(np.array([1, 2, 9]), "float32", np.array([1.0, 1.0, 2.0]), 0.0)
    assert bound.value == pytest.approx([gamma(1, ROUND), gamma(1, ROUND), 2 * gamma(8, ROUND)], rel=1e-12)
    assert bound.why == "rounding of a sum of 9 terms in float32"


def layer_norm_bound(rows, gain, shift, epsilon, u, u_total):
    """The same bound, number by number in plain Python."""
    length, width = len(rows[0]), len(gain)
    totals = gamma(width + 2, u_total)
    result = []
    for i in range(length):
        total = [fsum(row[i][j] for row in rows) for j in range(width)]
        size = [fsum(abs(row[i][j]) for row in rows) for j in range(width)]
        mean = fsum(total) / width
        variance = fsum((t - mean) ** 2 for t in total) / width + epsilon
        added = [gamma(max(len(rows) - 1, 1), u) * s for s in size]
        off = [added[j] + fsum(added) / width + totals * fsum(map(abs, total)) / width + u * abs(total[j] - mean)
               for j in range(width)]
        relative = (fsum(o * o for o in off) / width / variance) ** 0.5 + totals * (1 + mean**2 / variance)
        for j in range(width):
            normal = (total[j] - mean) / variance**0.5
            own = abs(gain[j]) * (off[j] / variance**0.5 + abs(normal) * (relative + 3 * u))
            result.append(own + gamma(2, u) * (abs(normal * gain[j]) + abs(shift[j])))
    return np.array(result).reshape(length, width)


@pytest.mark.parametrize(("precision", "u"), [("float64", 2.0**-53), ("float32", ROUND), ("float16", HALF_ROUND)])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_bound_of_a_layer_normalisation_agrees_with_plain_loops(precision, u, count):
    draw = np.random.default_rng(count)
    rows = tuple(draw.standard_normal((4, 7)) + 3 for _ in range(count))
    gain, shift = draw.standard_normal(7), draw.standard_normal(7)
    bound = bounds.layer_norm(rows, gain, shift, 0.5, precision)
    expected = layer_norm_bound([row.tolist() for row in rows], gain.tolist(), shift.tolist(), 0.5, u, min(u, ROUND))
    assert bound.value == pytest.approx(expected, rel=1e-9)
    assert bound.why == f"rounding of a layer normalisation over 7 numbers in {precision}"


@pytest.mark.parametrize(("precision", "direction"), [("float32", 1e-6), ("float16", 1e-4), ("bfloat16", 5e-4), ("int8", 0.25)])
def test_a_network_may_lose_what_its_tier_allows_in_direction_and_the_root_of_twice_that_in_length(precision, direction):
    found = bounds.network(precision)
    assert [bound.value for bound in found] == pytest.approx([direction, (2 * direction) ** 0.5])
    assert [bound.why for bound in found] == [f"{word}: what a sound network may lose in {precision}"
                                              for word in ("direction", "length")]
    assert bounds.network(precision, direction / 8)[0].value == direction
    assert bounds.network(precision, direction / 8)[1].why == (
        f"length: what a sound network may lose in {precision}; the float32 reference loses {direction / 8:.1g} on these texts")


def test_a_reference_that_is_itself_unsteady_gives_no_bound():
    with pytest.raises(ValueError, match=r"^no bound: the sound float32 reference deviates by 1.3e-07, and 8 times that is "
                                         r"more than float32 may lose, 1e-06$"):
        bounds.network("float32", 1.26e-7)
    with pytest.raises(ValueError, match="no bound"):
        bounds.network("float32", float("nan"))


@pytest.mark.filterwarnings("error")
def test_a_distance_of_near_vectors_loses_more_than_one_of_far_ones():
    exact, lengths = np.array([0.0, 1e-3, 4.0]), np.array([2.0, 2.0, 4.0])
    square = gamma(9, ROUND) * lengths**2
    bound = bounds.distance(5, ONE, exact=exact, lengths=lengths)
    assert bound.value == pytest.approx([square[0] ** 0.5, square[1] ** 0.5 + ROUND * 1e-3, square[2] / 4 + ROUND * 4],
                                        rel=1e-12)
    assert bound.why == "rounding of a distance of two 5-vectors in float32, computed from inner products"


@pytest.mark.parametrize(("n", "variance", "reach"), [(100, 1.0, 0.0), (50, 0.25, 0.0), (10, 2.0, 3.0)])
def test_a_mean_of_draws_strays_no_further_than_bernstein_says(n, variance, reach):
    log = np.log(2e9)
    bound = bounds.mean_of_draws(n, variance, reach)
    assert bound.value == pytest.approx((2 * variance * log / n) ** 0.5 + 2 * reach * log / (3 * n), rel=1e-12)
    assert bound.why == f"what a mean of {n} independent draws exceeds in one run of a billion"
    assert bounds.mean_of_draws(n, variance).value == pytest.approx((2 * variance * log / n) ** 0.5, rel=1e-12)
