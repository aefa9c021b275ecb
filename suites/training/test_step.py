"""The documents' audit step: loss, gradients and update, each against exact arithmetic and against the record."""

import numpy as np
import pytest

from ... import bounds
from . import oracle
from .inputs import audit, step_cases


def audit_step(training_step, *, learning_rate=0.25, steps=1):
    """The recorded table, ids, target and padding."""
    step = audit()
    return training_step.mse_step(step["table"], step["ids"], 0.5, learning_rate=learning_rate, padding_id=0, steps=steps)


def against_exact(training_step, evidence, part, seed):
    """One part of one step on every case of `step_cases`."""
    for table, ids, target, rate, padding_id in step_cases(seed):
        found = training_step.mse_step(table, ids, target, learning_rate=rate, padding_id=padding_id)[part]
        exact = oracle.mse_step(table, ids, target, rate, padding_id)
        bound = oracle.step_bounds(table, ids, exact, rate, padding_id, table, found)[part]
        evidence.close(found, exact[part], bound)


def against_record(training_step, evidence, part):
    """One part of the audit step; the record is rounded as well, so that the bound counts twice."""
    step = audit()
    exact = oracle.mse_step(step["table"], step["ids"], 0.5, 0.25, 0)
    bound = oracle.step_bounds(step["table"], step["ids"], exact, 0.25, 0, step["table"])[part]
    evidence.close(audit_step(training_step)[part], step[part], bound.scaled(2, "twice, the recorded numbers round too"))


@pytest.mark.claim("GRAD-01")
def test_the_row_gradient_is_the_sum_over_its_places(training_step, evidence, seed):
    """The audit and generated tables, with padding and without, against exact fractions."""
    against_exact(training_step, evidence, "table_gradient", seed)


@pytest.mark.claim("GRAD-01")
def test_the_recorded_row_gradient(training_step, evidence):
    """All 18 numbers of the audit."""
    against_record(training_step, evidence, "table_gradient")


@pytest.mark.claim("GRAD-03")
def test_the_output_gradient_is_there_at_every_place(training_step, evidence, seed):
    """The audit and generated tables; a place of padding is a place like any other."""
    against_exact(training_step, evidence, "output_gradient", seed)


@pytest.mark.claim("GRAD-03")
def test_the_recorded_output_gradient(training_step, evidence):
    """All 24 numbers of the audit, and at padding a 24th, negative."""
    against_record(training_step, evidence, "output_gradient")
    at_padding = audit_step(training_step)["output_gradient"][audit()["ids"] == 0]
    bound = bounds.chain(4, at_padding, scale=1 / 24, of="a difference, a quotient, two products")
    evidence.close(at_padding, np.full((2, 3), -1 / 24), bound)


@pytest.mark.claim("GRAD-06")
def test_the_loss_is_the_mean_over_all_numbers(training_step, evidence, seed):
    """The audit and generated tables, against exact fractions."""
    against_exact(training_step, evidence, "loss", seed)


@pytest.mark.claim("GRAD-06")
def test_the_recorded_loss(training_step, evidence):
    """0.47394 for the audit."""
    against_record(training_step, evidence, "loss")


@pytest.mark.claim("GRAD-08")
def test_the_largest_error_of_the_gradient_is_rounding(training_step, evidence, seed):
    """The largest difference to the sums by hand, over the rows of each case."""
    for table, ids, target, rate, padding_id in step_cases(seed):
        parts = training_step.mse_step(table, ids, target, learning_rate=rate, padding_id=padding_id)
        by_hand = np.zeros(table.shape)
        slope = 2 * (table[ids].astype(np.float64) - target) / parts["output"].size
        used, sums, sizes, counts = oracle.row_sums(ids, slope, padding_id)
        by_hand[used] = sums
        bound = bounds.chain(int(counts.max()) + 3, table, parts["table_gradient"], scale=float(sizes.max()),
                             of=f"a sum of at most {counts.max()} terms with four roundings each")
        evidence.at_most(np.abs(parts["table_gradient"] - by_hand).max(), bound, "the largest difference")


@pytest.mark.claim("GRAD-09")
def test_the_target_is_one_constant_for_all_numbers(training_step, evidence):
    """A number and an array filled with it give the same loss, gradients and table."""
    step = audit()
    parts = audit_step(training_step)
    filled = np.full((2, 4, 3), 0.5, np.float32)
    other = training_step.mse_step(step["table"], step["ids"], filled, learning_rate=0.25, padding_id=0)
    for name in ("loss", "output_gradient", "table_gradient", "table_after", "loss_after"):
        evidence.equal(other[name], parts[name])


@pytest.mark.claim("GRAD-09")
@pytest.mark.parametrize("target", [0.5, 0.0, 2.0])
def test_the_target_does_not_come_from_the_table(training_step, evidence, target):
    """Rows of zeros, ones and twos under three targets: loss and gradients are exact, none where a row is on target."""
    table = np.array([[0, 0], [1, 1], [2, 2]], np.float32)
    ids = np.array([1, 2, 0, 2, 1, 1, 2, 2])
    parts = training_step.mse_step(table, ids, target, learning_rate=0.25)
    exact = bounds.Bound(0.0, "exact: whole quarters over sixteen")
    evidence.close(parts["output_gradient"], (table[ids] - target) / 8, exact)
    evidence.close(parts["loss"], ((table[ids] - target) ** 2).mean(), exact)


@pytest.mark.claim("GRAD-07")
def test_the_second_step_starts_without_a_gradient(training_step, evidence):
    """The gradient of the second of two steps is that of a first step on the table after one; no row has three terms."""
    table, ids = audit()["table"], np.array([[1, 2, 4, 0], [3, 2, 4, 0]])
    one, two = (training_step.mse_step(table, ids, 0.5, learning_rate=0.25, padding_id=0, steps=n) for n in (1, 2))
    again = training_step.mse_step(one["table_after"], ids, 0.5, learning_rate=0.25, padding_id=0)
    evidence.equal(two["table_gradient"], again["table_gradient"])


@pytest.mark.claim("SGD-01")
@pytest.mark.parametrize("steps", [1, 2])
def test_a_step_subtracts_rate_times_gradient(training_step, evidence, seed, steps):
    """The last of one and of two steps, with the subject's own gradient; a step with memory shows in the second."""
    for table, ids, target, rate, padding_id in step_cases(seed):
        asked = {"learning_rate": rate, "padding_id": padding_id}
        before = table if steps == 1 else training_step.mse_step(table, ids, target, **asked)["table_after"]
        parts = training_step.mse_step(table, ids, target, steps=steps, **asked)
        slope = rate * parts["table_gradient"].astype(np.float64)
        _, _, sizes, counts = oracle.row_sums(ids, parts["output_gradient"], padding_id)
        size = np.abs(before) + rate * sizes.max()
        bound = oracle.move_bound(int(counts.max()), size, table, parts["table_after"], parts["table_gradient"])
        evidence.close(parts["table_after"], before - slope, bound)


@pytest.mark.claim("SGD-01")
def test_two_steps_are_two_exact_steps(training_step, evidence, seed):
    """The tables of all cases after two steps, against exact fractions."""
    for table, ids, target, rate, padding_id in step_cases(seed):
        found = training_step.mse_step(table, ids, target, learning_rate=rate, padding_id=padding_id, steps=2)
        exact = oracle.mse_step(table, ids, target, rate, padding_id, steps=2)
        first = oracle.mse_step(table, ids, target, rate, padding_id)
        bound = oracle.step_bounds(table, ids, first, rate, padding_id, table, found["table_after"])["table_after"]
        evidence.close(found["table_after"], exact["table_after"], bound.scaled(2, "twice, a second, shorter step"))


@pytest.mark.claim("SGD-02")
def test_the_recorded_table_after(training_step, evidence):
    """All 18 numbers of the audit; a shorter or a second step gives others."""
    against_record(training_step, evidence, "table_after")
    parts = audit_step(training_step)
    columns = {"before": parts["table_before"], "gradient": parts["table_gradient"], "after": parts["table_after"]}
    evidence.figure("table", "The step of seed 17: the table before, its gradient, the table after", {
        "columns": ["row", *(f"{name} {column + 1}" for name in columns for column in range(3))],
        "rows": [[row, *np.concatenate([array[row] for array in columns.values()])] for row in range(6)]})


@pytest.mark.claim("SGD-02")
def test_seed_17_gives_the_recorded_table(module, evidence):
    """A new layer of six rows and three columns with padding id 0."""
    import torch

    kind = type(module.embedding())  # asked for first: making it draws numbers too
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(audit()["seed"])
        made = module.call("the constructor", kind, 6, 3, padding_idx=0)
    evidence.equal(made.weight.detach().numpy(), audit()["table"])


@pytest.mark.claim("SGD-03")
def test_a_row_keeps_a_fixed_share_of_its_distance(training_step, evidence):
    """Of the distance to the target 47 of 48 parts are left for a row used once, 15 of 16 for the one used thrice."""
    step = audit()
    after = audit_step(training_step)["table_after"]
    exact = oracle.mse_step(step["table"], step["ids"], 0.5, 0.25, 0)
    bound = oracle.step_bounds(step["table"], step["ids"], exact, 0.25, 0, step["table"], after)["table_after"]
    distance = step["table"].astype(np.float64) - 0.5
    for i, share in ((1, 47 / 48), (2, 15 / 16), (3, 47 / 48), (4, 47 / 48)):
        found = (after[i].astype(np.float64) - 0.5) / distance[i]
        relative = bounds.Bound(bound.value[i] / np.abs(distance[i]), f"{bound.why}, over the distance before")
        evidence.close(found, np.full(3, share), relative)


@pytest.mark.claim("SGD-04")
def test_rows_outside_the_batch_keep_their_bits(training_step, evidence):
    """After one and two steps of the audit rows 0 and 5 are as before, and rows 1 to 4 are not."""
    table = audit()["table"]
    for steps in (1, 2):
        after = audit_step(training_step, steps=steps)["table_after"]
        evidence.close(after[[0, 5]], table[[0, 5]], oracle.ZERO)
        evidence.equal(np.flatnonzero((after != table).any(axis=1)).tolist(), [1, 2, 3, 4])


@pytest.mark.claim("SGD-05")
def test_the_step_lowers_the_loss(training_step, evidence):
    """From 0.47394 to 0.45079; the loss after is that of the subject's own table after."""
    parts = audit_step(training_step)
    exact = oracle.mse_step(audit()["table"], audit()["ids"], 0.5, 0.25, 0)
    evidence.greater(parts["loss"], parts["loss_after"], float(exact["loss"] - exact["loss_after"]) / 2,
                     "half of the exact fall")
    own = np.mean((parts["table_after"][audit()["ids"]].astype(np.float64) - 0.5) ** 2)
    evidence.close(parts["loss_after"], own, oracle.loss_bound(own, 24, audit()["table"], parts["loss_after"]))
    against_record(training_step, evidence, "loss_after")


@pytest.mark.claim("SGD-05")
def test_too_long_a_step_raises_the_loss(training_step, evidence):
    """At a rate of 16 the row that is used thrice lands at minus three times its distance."""
    parts = audit_step(training_step, learning_rate=16.0)
    exact = oracle.mse_step(audit()["table"], audit()["ids"], 0.5, 16.0, 0)
    evidence.greater(parts["loss_after"], parts["loss"], float(exact["loss_after"] - exact["loss"]) / 2,
                     "half of the exact rise")


@pytest.mark.claim("SGD-06")
def test_the_table_before_is_not_the_table_after(training_step, evidence):
    """The array that the step was given is as it was, after one step and after three, and is not what came out."""
    for steps in (1, 3):
        parts = audit_step(training_step, steps=steps)
        evidence.equal(parts["table_before"], audit()["table"])
        evidence.differs(parts["table_after"], parts["table_before"], 0.01, "a fifth of the longest way, 0.047")


@pytest.mark.claim("SGD-07")
def test_two_steps_are_a_step_and_another(training_step, evidence):
    """Two steps at once, and one step on the table after one: no momentum, no running mean; no row has three terms."""
    table, ids = audit()["table"], np.array([[1, 2, 4, 0], [3, 2, 4, 0]])
    one, two = (training_step.mse_step(table, ids, 0.5, learning_rate=0.25, padding_id=0, steps=n) for n in (1, 2))
    again = training_step.mse_step(one["table_after"], ids, 0.5, learning_rate=0.25, padding_id=0)
    evidence.equal(two["table_after"], again["table_after"])


@pytest.mark.claim("SGD-07")
def test_the_way_is_proportional_to_rate_and_gradient(training_step, evidence):
    """Zeros, ones and twos: twice the rate goes twice as far, twice the distance too, and an unused row goes nowhere."""
    table, ids = np.array([[0, 0], [1, 1], [2, 2], [3, 3]], np.float32), np.array([1, 2, 0, 2, 1, 1, 2, 2])
    counts = np.array([[1], [3], [4], [0]])
    for rate in (0.25, 0.5):
        after = training_step.mse_step(table, ids, 0.5, learning_rate=rate)["table_after"]
        exact = bounds.Bound(0.0, "exact: whole sixty-fourths below 2^8")
        evidence.close(after, table - rate * counts * (table - 0.5) / 8, exact)


@pytest.mark.claim("PAD-04")
@pytest.mark.parametrize("steps", [1, 100])
def test_the_step_does_not_move_the_padding_row(training_step, evidence, steps):
    """The audit over a padding row that is not zero."""
    table = audit()["table"].copy()
    table[0] = [0.75, -2.0, 3.0]
    parts = training_step.mse_step(table, audit()["ids"], 0.5, learning_rate=0.25, padding_id=0, steps=steps)
    evidence.close(parts["table_after"][0], table[0], oracle.ZERO)


@pytest.mark.claim("PAD-05")
def test_padding_counts_in_the_mean(training_step, evidence):
    """Two, four and eight columns of which two are real: the divisor grows, the loss gets a quarter for each number."""
    table = np.array([[0, 0], [1, -1], [2, 3], [-2, 1]], np.float32)
    exact = bounds.Bound(0.0, "exact: whole quarters over a power of two")
    real = table[[[1, 2], [3, 2]]] - 0.5
    for columns in (2, 4, 8):
        ids = np.zeros((2, columns), np.int64)
        ids[:, :2] = [[1, 2], [3, 2]]
        parts = training_step.mse_step(table, ids, 0.5, learning_rate=0.25, padding_id=0)
        numbers = 4 * columns
        evidence.close(parts["loss"], ((real**2).sum() + 0.25 * 4 * (columns - 2)) / numbers, exact)
        evidence.close(parts["output_gradient"][:, :2], 2 * real / numbers, exact)
        evidence.close(parts["table_gradient"][[1, 3]], 2 * (table[[1, 3]] - 0.5) / numbers, exact)


@pytest.mark.claim("TRAIN-10")
def test_a_constant_target_makes_all_rows_alike(training_step, evidence):
    """At a rate of 3 a row keeps three quarters of its distance a step, or one if used thrice: the tables after 1, 10 and
    100 steps. All rows of the batch meet in one point, so no classes of words can arise.
    """
    table, ids = audit()["table"], audit()["ids"]
    for steps in (1, 10, 100):
        after = training_step.mse_step(table, ids, 0.5, learning_rate=3.0, padding_id=0, steps=steps)["table_after"]
        exact, factor = oracle.contraction(table, ids, 0.5, 3.0, 0, steps)
        evidence.close(after, exact, oracle.contraction_bound(table, 0.5, factor, 3, table, after))
    bound = oracle.contraction_bound(table, 0.5, factor, 3, table, after)
    for i in (1, 2, 3, 4):
        left = bounds.Bound(bound.value[i] + np.abs(exact[i] - 0.5), f"{bound.why}, and 0.75^100 of the distance")
        evidence.close(after[i], np.full(3, 0.5), left)
