"""Which numbers a table and a code of the position can hold."""

from itertools import combinations
from math import fsum, sqrt

import numpy as np
import pytest

from ... import bounds
from ...bounds import Bound
from ...data import generator, numbered_table
from . import oracle

#: what sine and cosine of the C libraries and of graphics cards keep to
FOUR_ULPS = "sine and cosine within four units in the last place"


@pytest.mark.claim("RANGE-01")
def test_a_third_of_a_fresh_table_of_pytorch_lies_outside(layer_maker, module, evidence, seed):
    """The share beyond one in size of 5,120,000 numbers, and the largest number of ten tables of the documents' size."""
    evidence.equal(oracle.is_pytorch(module), True)
    table = layer_maker.make_layer(10_000, 512, seed=seed).table()
    expected = 2 * oracle.normal_distribution(np.array([-1.0]))[0]
    evidence.close(np.mean(np.abs(table) > 1), expected, bounds.mean_of_draws(table.size, 1 / 4))
    for small in range(10):
        largest = np.abs(layer_maker.make_layer(30, 8, seed=seed + small).table()).max()
        evidence.greater(largest, 1.0, 1e-3, "the largest of 240 normal numbers is below 1.001 once in 1e39 tables")


@pytest.mark.claim("RANGE-02")
def test_numbers_of_any_size_come_out_unchanged(layer, evidence):
    """A million, -1e30 and numbers near the largest of the layer's format, beside small ones."""
    largest = layer.largest
    wanted = np.array([[0.5, -1.0, 1e6, 2.0], [-1e30, 3e-5, largest, -largest], [1.0, 2.0, 3.0, 4.0]])
    given = wanted.clip(-largest, largest).astype(np.float32)
    ids = np.array([1, 0, 1, 2])
    evidence.equal(layer.with_table(given).lookup(ids), layer.held(given)[ids])


@pytest.mark.claim("RANGE-03")
def test_the_range_follows_initialisation_and_training(layer, evidence, seed):
    """A table of deviation 0.02 stays below 0.2; 40 steps, each a quarter of the way to five, then lead used rows there.

    0.2 is ten deviations: one of 48 normal numbers exceeds it once in 1e21 tables.
    """
    given = (0.02 * generator(seed, "narrow table").standard_normal((12, 4))).astype(np.float32)
    made = layer.with_table(given)
    used, unused = np.array([7, 0, 11]), [1, 2, 3, 4, 5, 6, 8, 9, 10]
    evidence.at_most(np.abs(made.lookup(np.arange(12))).max(), Bound(0.2, "ten deviations of the table that was given"))
    for _ in range(40):
        made.step(used, made.table()[used] - 5, 0.25)
    evidence.greater(made.table()[used].min(), 1.0, 3.9, "the steps leave 0.75^40 = 1e-5 of the distance to five")
    evidence.at_most(np.abs(made.table()[unused]).max(), Bound(0.2, "rows without a gradient stay as they were"))


@pytest.mark.claim("RANGE-04")
def test_position_codes_lie_between_minus_one_and_one(encodings, evidence):
    """5,000 positions of 64 numbers: the smallest and the largest, and both ends nearly reached."""
    codes = encodings.positions(5_000, 64)
    evidence.at_most(codes.max(), Bound(1.0, "sine and cosine, without any tolerance"))
    evidence.at_most(-codes.min(), Bound(1.0, "sine and cosine, without any tolerance"))
    near = "the first 5,000 whole numbers come within 0.005 of any angle"
    evidence.greater(codes.max(), 0.0, 0.999, near)
    evidence.greater(-codes.min(), 0.0, 0.999, near)


@pytest.mark.claim("RANGE-04")
@pytest.mark.parametrize(("length", "width"), [(5_000, 2), (5_000, 8), (500, 512)])
def test_position_codes_have_one_length(encodings, evidence, length, width):
    """Lengths of every 97th code: a sine and a cosine of one angle add up to one when squared, in half as many pairs."""
    codes = encodings.positions(length, width)[::97]
    lengths = np.array([sqrt(fsum(float(x) ** 2 for x in code)) for code in codes])
    relative = Bound(bounds.gamma(8, bounds.unit_roundoff(codes)[0]), FOUR_ULPS)
    evidence.close(lengths, np.full(len(codes), sqrt(width / 2)),
                   relative.scaled(sqrt(width / 2), "times the length"))


@pytest.mark.claim("RANGE-05")
def test_a_row_follows_its_id_alone_and_has_no_bound(layer, evidence):
    """One id at two places and two ids at one; with codes of the positions added, a sum beyond what two codes reach."""
    made = layer.with_table(numbered_table(30, 8))
    first, second = made.lookup(np.array([[3, 15, 3], [15, 3, 15]]))
    evidence.equal(first[0], first[2])
    evidence.equal(second[1], first[0])
    evidence.differs(first, second, 1.0, "rows 3 and 15 are 96 apart")
    evidence.greater(np.abs(first + oracle.positions(3, 8)).max(), 2.0, 1.0, "the rows hold numbers above a hundred")


@pytest.mark.claim("RANGE-05")
def test_a_code_follows_its_position_alone(encodings, evidence):
    """Codes of nine positions, asked for twice and as part of more; and any two of them differ."""
    codes = encodings.positions(9, 8)
    # An absolute bound: no number of a code is larger than one.
    bound = Bound(2 * bounds.gamma(8, bounds.unit_roundoff(codes)[0]), f"{FOUR_ULPS}, in both calls")
    evidence.close(encodings.positions(9, 8), codes, bound)
    evidence.close(encodings.positions(16, 8)[:9], codes, bound)
    least = "half of the least that sine and cosine of two of nine angles differ by"
    for i, j in combinations(range(9), 2):
        evidence.differs(codes[i], codes[j], 0.1, least)
