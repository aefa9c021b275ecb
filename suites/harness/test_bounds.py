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
