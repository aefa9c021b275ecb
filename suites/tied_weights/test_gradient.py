"""What one table receives from its two uses."""

import numpy as np
import pytest

from ... import bounds
from ...data import generator
from . import oracle
from .inputs import places, table_of_size_one

#: On tables whose numbers are about one: the largest third derivative of the loss by one number (1.4 was measured), and
#: its rounding error (15 units of single precision were measured; some models normalise in it whatever their table is).
THIRD, ERROR = 4.0, 32 * bounds.UNIT_ROUNDOFF["float32"]


@pytest.mark.claim("TIED-03")
def test_a_logit_is_the_inner_product_of_state_and_row(tied_model, evidence, seed):
    """All logits, with the model's own table and with a generated one."""
    ids, _ = places(len(tied_model.table()))
    for table in (tied_model.table(), table_of_size_one(tied_model, seed)):
        tied_model.assign(table)
        states = tied_model.hidden(ids)
        evidence.close(tied_model.logits(ids), oracle.logits(states, table), oracle.logits_bound(states, table))


@pytest.mark.claim("TIED-03")
def test_one_row_serves_both_ends(tied_model, evidence, seed):
    """Writing a row moves the states of a text that reads it, and its column of the logits for a text that does not."""
    table = table_of_size_one(tied_model, seed)
    tied_model.assign(table)
    row = len(table) - 1
    reads, does_not = np.array([0, row, 1]), np.array([0, 1, 2])
    states, scores = tied_model.hidden(reads), tied_model.logits(does_not)
    changed = table.copy()
    changed[row] *= -1
    tied_model.assign(changed)
    evidence.differs(tied_model.hidden(reads), states, np.abs(states).max() / 100, "a hundredth of the largest state")
    evidence.differs(tied_model.logits(does_not)[:, row], scores[:, row], np.abs(scores[:, row]).max(),
                     "the inner products change sign")


@pytest.mark.claim("TIED-03")
def test_rows_that_no_id_reads_receive_the_output_half(tied_model, evidence, seed):
    """Every such row has a gradient, though an untied input table would have none there."""
    table = table_of_size_one(tied_model, seed)
    tied_model.assign(table)
    ids, targets = places(len(table))
    half, bound = oracle.output_half(tied_model.hidden(ids), table, targets)
    rows = np.setdiff1d(np.arange(len(table)), ids)
    found = tied_model.gradient(ids, targets)
    evidence.close(found[rows], half[rows], bounds.Bound(bound.value[rows], bound.why))


def show_sum(model, evidence, seed):
    """In the rows that are read, the gradient is the output half and the slope of the loss by the input side alone."""
    table = table_of_size_one(model, seed)
    model.assign(table)
    ids, targets = places(len(table))
    found = model.gradient(ids, targets)
    evidence.equal(list(found.shape), list(table.shape))
    half, rounding = oracle.output_half(model.hidden(ids), table, targets)
    width = table.shape[1]
    directions = np.linalg.qr(generator(seed, "directions").standard_normal((width, min(width, 4))))[0].T
    step = (3 * ERROR / THIRD) ** (1 / 3)
    bound = bounds.central_difference(step, THIRD, ERROR)
    for row in np.unique(ids):
        if row == model.padding_id:
            evidence.close(found[row], half[row], bounds.Bound(rounding.value[row], rounding.why))
            continue
        slopes = [input_slope(model, table, (ids, targets), row, step * direction) for direction in directions]
        evidence.close(directions @ found[row], directions @ half[row] + slopes, bound)


def input_slope(model, table, example, row, change):
    """The slope of the loss along a change of one row, by a central difference. The model with the changed row gives the
    states, the output projection is the unchanged table: so the input side alone is seen, and no autograd.
    """
    ids, targets = example
    ends, losses = [], []
    for sign in (1, -1):
        moved = table.copy()
        moved[row] += (sign * change).astype(table.dtype)
        model.assign(moved)
        ends.append(moved[row].astype(np.float64))
        losses.append(oracle.cross_entropy(model.hidden(ids), table, targets))
    return (losses[0] - losses[1]) / np.linalg.norm(ends[0] - ends[1])


@pytest.mark.claim("TIED-03")
def test_the_gradients_of_both_uses_add_up(tied_model, evidence, seed):
    """The output half by its formula, the input half by differences of the loss."""
    show_sum(tied_model, evidence, seed)


@pytest.mark.claim("TIED-08")
def test_both_gradients_reach_a_model_that_was_moved(tied_model, evidence, seed):
    """The same after a change of precision."""
    show_sum(tied_model.after("to float64"), evidence, seed)


@pytest.mark.claim("TIED-06")
def test_the_padding_row_moves(tied_model, evidence, seed):
    """A row that no text reads or wants, the padding row where there is one: one step moves it by the output half."""
    table = table_of_size_one(tied_model, seed)
    tied_model.assign(table)
    padding = 0 if tied_model.padding_id is None else tied_model.padding_id
    ids, targets = ((part + (part == padding)) % len(table) for part in places(len(table)))
    half, bound = oracle.output_half(tied_model.hidden(ids), table, targets)
    half, limit = half[padding], bounds.Bound(bound.value[padding], bound.why)
    found = tied_model.gradient(ids, targets)[padding]
    evidence.close(found, half, limit)
    evidence.differs(found, np.zeros_like(found), np.abs(half).max() / 2, "half of the output half")
    tied_model.step(ids, targets, learning_rate=1.0)
    moved = table[padding].astype(np.float64) - tied_model.table()[padding]
    rounded = bounds.sum(3, table, scale=np.abs(table[padding]).max() + np.abs(half).max())
    evidence.close(moved, half, bounds.Bound(limit.value + rounded.value, f"{limit.why}; and of the step"))
