"""How a table begins: random numbers from a seed, without meaning.

The seeds of the statistical tests follow the run's seed. A sound layer exceeds one of their bounds in at most one run of
a billion (`bounds.mean_of_draws`).
"""

import numpy as np
import pytest

from ... import bounds
from ...bounds import Bound
from ...data import texts
from . import oracle

FEW = Bound(0.1, "numbers drawn from a continuous distribution hardly ever coincide")


@pytest.mark.claim("INIT-01")
@pytest.mark.parametrize(("rows", "width"), [(30, 8), (7, 5)])
def test_a_table_follows_its_seed(layer_maker, evidence, seed, rows, width):
    """The same numbers from one seed twice, others from the next seed, and hardly two that are equal within a table."""
    first, again, other = (layer_maker.make_layer(rows, width, seed=s).table() for s in (seed, seed, seed + 1))
    evidence.equal(again, first)
    evidence.at_most(np.mean(other == first), FEW, "the share of numbers that two seeds have in common")
    evidence.at_most(1 - len(np.unique(first)) / first.size, FEW, "the share of repeated numbers")


@pytest.mark.claim("INIT-01")
def test_a_table_of_pytorch_is_standard_normal(layer_maker, module, evidence, seed):
    """Mean and mean square of 5,120,000 numbers, and the distribution of every eighth of them, at 81 points."""
    evidence.equal(oracle.is_pytorch(module), True)
    numbers = layer_maker.make_layer(10_000, 512, seed=seed).table().astype(np.float64).reshape(-1)
    evidence.at_most(abs(numbers.mean()), bounds.mean_of_draws(numbers.size, 1), "the mean")
    evidence.at_most(abs((numbers**2).mean() - 1), bounds.mean_of_draws(numbers.size, 2, 3), "the mean square, less one")
    points = np.linspace(-4, 4, 81)
    some = numbers[::8]
    counts, _ = np.histogram(some, bins=[-np.inf, *points, np.inf])
    shares = np.cumsum(counts)[:-1] / some.size
    evidence.close(shares, oracle.normal_distribution(points), bounds.mean_of_draws(some.size, 1 / 4))


@pytest.mark.claim("INIT-02")
@pytest.mark.parametrize("width", [8, 16])
def test_rows_of_a_fresh_table_are_unrelated(layer_maker, evidence, seed, width):
    """Cosines within classes of four words and between classes, of ten tables; no two share a word: they are independent.

    A cosine of two random directions has mean 0 and variance 1/d, and tails no heavier than a normal's (Marchal and Arbel
    2017, a symmetric beta distribution); its square has mean 1/d and a variance below 2/d^2.
    """
    within, between = [], []
    for table in range(10):
        rows = layer_maker.make_layer(40_000, width, seed=seed + table).table().astype(np.float64)
        unit = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).reshape(-1, 4, width)
        within.append((unit[::2, ::2] * unit[::2, 1::2]).sum(axis=-1))
        alone = unit[1::2].reshape(2, -1, width)
        between.append((alone[0] * alone[1]).sum(axis=-1))
    for cosines in (np.concatenate(within).reshape(-1), np.concatenate(between)):
        evidence.at_most(abs(cosines.mean()), bounds.mean_of_draws(cosines.size, 1 / width), "the mean cosine")
        evidence.at_most(abs((cosines**2).mean() - 1 / width), bounds.mean_of_draws(cosines.size, 2 / width**2, 1),
                         "the mean square of the cosines, less one over the width")


@pytest.mark.claim("INIT-03")
def test_the_recorded_table_of_seed_17(layer_maker, module, evidence):
    """The documents' layer of six rows and three columns, made twice, and against the table that was recorded."""
    example = texts()["seeded"]

    def exact():
        table = oracle.normal_draws(example["seed"], 18).reshape(6, 3)
        table[example["padding"]] = 0
        return {"table": table}

    evidence.equal(oracle.is_pytorch(module) and module.embedding().weight.device.type == "cpu", True)
    first, again = (layer_maker.make_layer(example["rows"], example["width"], padding_id=example["padding"],
                                           seed=example["seed"]).table() for _ in range(2))
    evidence.equal(again, first)
    evidence.baseline("seed_17", {"table": first}, exact)


@pytest.mark.claim("INIT-04")
@pytest.mark.parametrize(("rows", "width"), [(6, 3), (30, 8), (9, 2)])
def test_padding_takes_part_in_the_draw(layer_maker, evidence, seed, rows, width):
    """A table with a padding row, first, in the middle or last, and one without: from one seed, no other row differs."""
    for made_from in (seed, texts()["seeded"]["seed"]):
        plain = layer_maker.make_layer(rows, width, seed=made_from).table()
        for padding in (0, rows // 2, rows - 1):
            padded = layer_maker.make_layer(rows, width, padding_id=padding, seed=made_from).table()
            evidence.equal(np.delete(padded, padding, axis=0), np.delete(plain, padding, axis=0))
            evidence.equal(padded[padding], np.zeros(width, padded.dtype))
            evidence.equal(bool(plain[padding].any()), True)
