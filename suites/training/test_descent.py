"""A step of gradient descent: which rows it moves, how far, and what it remembers (nothing)."""

import numpy as np
import pytest

from ...bounds import Bound
from ...data import TABLE_SIZES
from . import oracle
from .inputs import few_ids, padded_layers, powers, short_table

EXACT = Bound(0.0, "exact: all numbers are whole quarters below 2^6, which every format holds")


def moved(before, after):
    """The rows that are not the same bit for bit, as a list."""
    return np.flatnonzero((before != after).any(axis=1)).tolist()


@pytest.mark.claim("TRAIN-02")
def test_a_step_changes_the_rows_that_were_used(layer, evidence, seed):
    """Every id of the batch, the first and the last row among them."""
    for rows, width in TABLE_SIZES:
        table, ids = short_table(rows, width, seed), few_ids(rows)
        after = layer.with_table(table).step(ids, powers(ids, width), 0.25)
        used = sorted(set(ids.tolist()))
        evidence.equal([i for i in moved(table, after) if i in used], used)


@pytest.mark.claim("SGD-01")
@pytest.mark.parametrize("rate", [0.25, 0.5, 1.0])
def test_a_step_is_the_rate_times_the_gradient(layer, evidence, seed, rate):
    """Two steps on different batches; a second step that remembers the first would move other rows too."""
    for rows, width in TABLE_SIZES:
        table = short_table(rows, width, seed)
        made = layer.with_table(table)
        expected = table.astype(np.float64)
        for ids in (few_ids(rows), np.array([rows - 1, 0])):
            # A rate of one and sums of at most 31 keep within 2^6.
            output_gradient = powers(ids, width)
            used, sums, _, _ = oracle.row_sums(ids, output_gradient)
            expected[used] -= rate * sums
            evidence.close(made.step(ids, output_gradient, rate), expected, EXACT)


@pytest.mark.claim("SGD-04")
def test_absent_rows_stay_as_they_are(layer, evidence, seed):
    """In each of two steps on different batches, the rows that change are those of the batch."""
    for rows, width in TABLE_SIZES:
        made = layer.with_table(short_table(rows, width, seed))
        before = made.table().copy()
        for ids in (few_ids(rows), np.array([rows - 1])):
            after = made.step(ids, powers(ids, width), 0.25)
            evidence.equal(moved(before, after), sorted(set(ids.tolist())))
            before = after


@pytest.mark.claim("SGD-07")
def test_a_step_remembers_nothing(layer, evidence, seed):
    """The second of two steps does what it does on a new layer that holds the table after the first."""
    for rows, width in TABLE_SIZES:
        ids = few_ids(rows)
        output_gradient = powers(ids, width)
        made = layer.with_table(short_table(rows, width, seed))
        once = made.step(ids, output_gradient, 0.25)
        twice = made.step(ids[:2], output_gradient[:2], 0.25)
        other = layer.with_table(once.astype(np.float32))
        evidence.close(other.step(ids[:2], output_gradient[:2], 0.25), twice, EXACT)


@pytest.mark.claim("PAD-04")
@pytest.mark.parametrize("steps", [1, 100])
def test_steps_do_not_move_the_padding_row(layer, evidence, seed, steps):
    """A padding row that is not zero, at the first, a middle and the last id, in batches with padding and other ids."""
    for made, padding_id in padded_layers(layer, seed, ((30, 8), (6, 3), (1, 5)) if steps == 1 else ((6, 3), (1, 5))):
        before = made.table().copy()
        ids = np.append(few_ids(len(before)), [padding_id, 0, padding_id])
        given = powers(ids, before.shape[1])
        for _ in range(steps):
            after = made.step(ids, given, 2.0**-9)
        evidence.equal(after[padding_id], before[padding_id])


@pytest.mark.claim("PAD-06")
def test_without_a_padding_id_a_step_moves_every_row(layer, evidence, seed):
    """The row of id 0 and the last one."""
    for rows, width in TABLE_SIZES:
        table = short_table(rows, width, seed)
        ids = np.array([0, rows - 1])
        evidence.equal(moved(table, layer.with_table(table).step(ids, powers(ids, width), 0.25)), sorted({0, rows - 1}))


@pytest.mark.claim("TRAIN-03")
def test_a_step_leaves_unseen_rows_and_padding_alone(layer, evidence, seed):
    """Ten steps on few rows of a table with padding: exactly the rows that were seen have changed, padding is not one."""
    for made, padding_id in padded_layers(layer, seed):
        before = made.table().copy()
        ids = np.append(few_ids(len(before)), padding_id)
        given = powers(ids, before.shape[1])
        for _ in range(10):
            after = made.step(ids, given, 0.25)
        evidence.equal((before != after).any(axis=1), np.isin(np.arange(len(before)), np.setdiff1d(ids, padding_id)))


@pytest.mark.claim("TRAIN-09")
def test_any_width_is_taken(layer, evidence, seed):
    """Tables of seven rows, from one column to 1025, odd numbers among them: seven rows, and vectors of that width."""
    for width in (1, 2, 3, 8, 100, 128, 256, 512, 768, 1025):
        table = short_table(7, width, seed)
        made = layer.with_table(table)
        evidence.equal(list(made.shape), [7, width])
        evidence.close(made.lookup(np.array([[6, 0], [3, 6]])), layer.held(table)[[[6, 0], [3, 6]]], EXACT)
