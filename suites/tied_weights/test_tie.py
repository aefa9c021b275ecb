"""One table at both ends: shown by writing a row and looking at the logits, never by asking whether it is one."""

import numpy as np
import pytest

from . import oracle
from .inputs import places, unread


def show_tie(model, evidence):
    """The logits are the inner products with the rows, also after a row was written that no id reads."""
    table = model.table()
    ids, targets = places(len(table))
    row = unread(len(table), ids, targets)
    changed = table.copy()
    changed[row] = table[-1] - 2 * table[row]
    states, before = model.hidden(ids), model.logits(ids)
    evidence.close(before, oracle.logits(states, table), oracle.logits_bound(states, table))
    moved = oracle.logits(states, changed)[..., row] - oracle.logits(states, table)[..., row]
    model.assign(changed)
    after = model.logits(ids)
    evidence.equal(model.table(), changed)
    evidence.equal(model.hidden(ids), states)
    evidence.differs(after[..., row], before[..., row], np.abs(moved).max() / 2, "half of their exact change")
    evidence.close(after, oracle.logits(states, changed), oracle.logits_bound(states, changed))


@pytest.mark.claim("TIED-01")
def test_a_row_written_at_the_input_is_read_at_the_output(tied_model, evidence):
    """The model's own table, with one row changed."""
    show_tie(tied_model, evidence)


@pytest.mark.claim("TIED-07")
def test_training_keeps_the_tie(tied_model, evidence):
    """Three steps of gradient descent move the table, and then one row is changed."""
    before = tied_model.table()
    for _ in range(3):
        tied_model.step(*places(len(before)), learning_rate=0.5)
    evidence.differs(tied_model.table(), before, np.abs(before).max() / 100, "a hundredth of the table's largest number")
    show_tie(tied_model, evidence)


@pytest.mark.claim("TIED-08")
@pytest.mark.parametrize("operation", ["deepcopy", "to float64", "state dict", "save and load"])
def test_the_tie_survives(tied_model, evidence, operation):
    """The other model has the same table, and writing a row of it moves its logits, before and after a training step."""
    table = tied_model.table()
    other = tied_model.after(operation)
    evidence.equal(other.table().astype(table.dtype), table)
    show_tie(other, evidence)
    other.step(*places(len(table)), learning_rate=0.5)
    show_tie(other, evidence)


@pytest.mark.claim("TIED-08")
def test_a_copy_shares_nothing_with_the_original(tied_model, evidence):
    """Writing a row of the copy leaves table and logits of the original as they were."""
    table = tied_model.table()
    ids, _ = places(len(table))
    before = tied_model.logits(ids)
    other = tied_model.after("deepcopy")
    other.assign(-table)
    evidence.equal(tied_model.table(), table)
    evidence.equal(tied_model.logits(ids), before)


@pytest.mark.claim("TIED-09")
def test_resizing_lengthens_both_ends(tied_model, evidence):
    """As many new logits as new rows; the old rows and what is computed from them stay; the new rows are tied as well."""
    table = tied_model.table()
    ids, _ = places(len(table))
    states = tied_model.hidden(ids)
    longer = tied_model.after("resize")
    new = longer.table()
    evidence.greater(len(new), len(table), 1, "at least one row more")
    evidence.equal(list(longer.logits(ids).shape), [*ids.shape, len(new)])
    evidence.equal(new[:len(table)], table)
    evidence.equal(longer.hidden(ids), states)
    show_tie(longer, evidence)
    changed = longer.table()
    changed[-1] += 1
    longer.assign(changed)
    evidence.close(longer.logits(ids), oracle.logits(states, changed), oracle.logits_bound(states, changed))
    last = np.full(ids.shape, len(new) - 1)
    raised = longer.hidden(last)
    longer.assign(changed * np.where(np.arange(len(new)) == len(new) - 1, -1, 1).astype(changed.dtype)[:, None])
    evidence.differs(longer.hidden(last), raised, np.abs(raised).max() / 100, "a hundredth of the largest state")


@pytest.mark.claim("TIED-02")
def test_the_tie_saves_one_table(tied_model, evidence):
    """The numbers of the model and of the same model untied."""
    rows, width = tied_model.table().shape
    evidence.equal(tied_model.after("untie").parameter_count() - tied_model.parameter_count(), rows * width)


@pytest.mark.claim("TIED-04")
def test_a_model_also_works_untied(tied_model, evidence):
    """Untied, the model gives the same logits; then writing a row at its input leaves the logits as they were."""
    table = tied_model.table()
    ids, targets = places(len(table))
    states = tied_model.hidden(ids)
    twin = tied_model.after("untie")
    before = twin.logits(ids)
    evidence.close(before, oracle.logits(states, table), oracle.logits_bound(states, table))
    changed = table.copy()
    changed[unread(len(table), ids, targets)] = 7
    twin.assign(changed)
    evidence.equal(twin.table(), changed)
    evidence.equal(twin.logits(ids), before)


@pytest.mark.claim("TIED-04")
def test_an_untied_model_is_loaded_untied(tied_model, evidence):
    """Untied, with another row at its input, saved and loaded: the input has that row, and the logits are from the old one."""
    table = tied_model.table()
    ids, targets = places(len(table))
    twin = tied_model.after("untie")
    changed = table.copy()
    changed[unread(len(table), ids, targets)] = 7
    twin.assign(changed)
    loaded = twin.after("save and load")
    states = loaded.hidden(ids)
    evidence.equal(loaded.table(), changed)
    evidence.close(loaded.logits(ids), oracle.logits(states, table), oracle.logits_bound(states, table))
