"""Faulty and sound audit steps."""

import copy

import numpy as np

from ...proof import altered, fault, sound


def with_parts(original, **parts):
    """A copy of a step or a trainer with some of its own methods replaced."""
    changed = copy.copy(original)
    changed.__dict__.update(parts)
    return changed


def mse(output, wanted, reduction="mean"):
    import torch

    return torch.nn.functional.mse_loss(output, wanted, reduction=reduction)


def with_optimizer(step, name="SGD", **settings):
    """The step with another optimiser of PyTorch, or other settings of it."""
    import torch

    def optimizer(weight, learning_rate):
        return getattr(torch.optim, name)([weight], **({"lr": learning_rate} | settings))
    return with_parts(step, optimizer=optimizer)


def with_ids(step, loss):
    """The step with a loss(output, wanted, real) that knows which places are no padding."""
    def mse_step(table, ids, target, learning_rate, padding_id=None, steps=1):
        import torch

        real = torch.from_numpy(ids != padding_id)
        changed = with_parts(step, loss=lambda output, wanted: loss(output, wanted, real))
        return changed.mse_step(table, ids, target, learning_rate, padding_id, steps)
    return altered(step, mse_step=mse_step)


def with_gradient(step, change):
    """The step with another gradient of the table, change(parts, table, ids, padding_id), that is then followed."""
    def mse_step(table, ids, target, learning_rate, padding_id=None, steps=1):
        for _ in range(steps):
            parts = list(step.mse_step(table, ids, target, learning_rate, padding_id, 1))
            parts[3] = change(parts, table, ids, padding_id)
            table = parts[4] = table - np.float32(learning_rate) * parts[3]
        return parts
    return altered(step, mse_step=mse_step)


def with_result(step, part, change):
    """The step with one part of its result changed on the way out."""
    def mse_step(*arguments):
        parts = list(step.mse_step(*arguments))
        parts[part] = change(parts[part])
        return parts
    return altered(step, mse_step=mse_step)


def larger(by):
    """Multiplies by one and a little."""
    return lambda value: value * np.float32(1 + by)


@fault("training_step", ["GRAD-01", "GRAD-03", "GRAD-06", "PAD-05", "SGD-02", "SGD-05"])
def mean_without_padding(step):
    """The loss is the mean over the 18 numbers that are no padding."""
    return with_ids(step, lambda output, wanted, real: mse(output[real], wanted[real]))


@fault("training_step", ["GRAD-03", "GRAD-06", "PAD-05"])
def padding_masked_in_the_loss(step):
    """The sum leaves padding out, and is divided by all 24 numbers."""
    return with_ids(step, lambda output, wanted, real: mse(output[real], wanted[real], "sum") / output.numel())


@fault("training_step", ["GRAD-01", "GRAD-06"])
def divided_by_tokens(step):
    """The sum is divided by the number of places, 8, and not by that of numbers."""
    return with_parts(step, loss=lambda output, wanted: mse(output, wanted, "sum") / output[..., 0].numel())


@fault("training_step", ["GRAD-01", "GRAD-03", "GRAD-06", "GRAD-08", "SGD-03", "TRAIN-10"])
def sum_of_squares(step):
    """The loss is the sum, not the mean."""
    return with_parts(step, loss=lambda output, wanted: mse(output, wanted, "sum"))


@fault("training_step", ["GRAD-01", "GRAD-03", "GRAD-06", "SGD-03"])
def half_the_squares(step):
    """The loss has a factor of a half, so that the two is missing in its gradient."""
    return with_parts(step, loss=lambda output, wanted: mse(output, wanted) / 2)


@fault("training_step", ["GRAD-01", "GRAD-03", "GRAD-06"])
def absolute_distances(step):
    """The loss is the mean of the distances, not of their squares."""
    return with_parts(step, loss=lambda output, wanted: (output - wanted).abs().mean())


@fault("training_step", ["GRAD-01", "GRAD-02", "GRAD-08", "SGD-03"])
def mean_over_places(step):
    """A row gets the mean over its places (scale_grad_by_freq), as if every id occurred once."""
    def embedding(table, padding_id):
        made = step.embedding(table, padding_id)
        made.scale_grad_by_freq = True
        return made
    return with_parts(step, embedding=embedding)


@fault("training_step", ["GRAD-01", "GRAD-02", "SGD-02"])
def rows_assigned(step):
    """By hand, the gradient is assigned to the row and not added."""
    def change(parts, table, ids, padding_id):
        gradient = np.zeros_like(table)
        gradient[ids] = parts[2]
        if padding_id is not None:
            gradient[padding_id] = 0
        return gradient
    return with_gradient(step, change)


@fault("training_step", ["PAD-03", "PAD-04", "SGD-04", "GRAD-05", "GRAD-01", "SGD-02"])
def padding_id_not_passed(step):
    """The layer is made without the padding id."""
    def mse_step(table, ids, target, learning_rate, padding_id=None, steps=1):
        return step.mse_step(table, ids, target, learning_rate, None, steps)
    return altered(step, mse_step=mse_step)


@fault("training_step", ["PAD-02", "GRAD-06"])
def padding_gives_the_next_row(step):
    """Padding is looked up as row 1."""
    def mse_step(table, ids, target, learning_rate, padding_id=None, steps=1):
        ids = np.where(ids == padding_id, 1, ids) if padding_id is not None else ids
        return step.mse_step(table, ids, target, learning_rate, padding_id, steps)
    return altered(step, mse_step=mse_step)


@fault("training_step", ["GRAD-05", "SGD-04", "GRAD-01"])
def penalty_in_the_loss(step):
    """A penalty on the whole table is part of the loss."""
    return with_gradient(step, lambda parts, table, ids, padding_id: parts[3] + np.float32(0.02) * table)


@fault("training_step", ["GRAD-07", "SGD-01", "SGD-07"])
def gradient_not_cleared(step):
    """The gradient of the step before is not cleared."""
    def optimizer(weight, learning_rate):
        made = step.optimizer(weight, learning_rate)
        made.zero_grad = lambda **settings: None
        return made
    return with_parts(step, optimizer=optimizer)


@fault("training_step", ["GRAD-09", "GRAD-01", "GRAD-03", "GRAD-06"])
def target_zero(step):
    """The target is zero whatever is asked for."""
    return with_parts(step, loss=lambda output, wanted: mse(output, wanted * 0))


@fault("training_step", ["GRAD-09", "GRAD-01"])
def target_from_the_output(step):
    """The target is the mean of the output, and the gradient passes through it."""
    return with_parts(step, loss=lambda output, wanted: mse(output, output.mean().expand_as(output)))


@fault("training_step", ["GRAD-09"])
def target_of_the_first_number(step):
    """A target that is given as an array is taken from its first number, and halved."""
    def mse_step(table, ids, target, *others):
        return step.mse_step(table, ids, target if np.ndim(target) == 0 else float(target.flat[0]) / 2, *others)
    return altered(step, mse_step=mse_step)


@fault("training_step", ["TRAIN-10", "GRAD-09"])
def target_by_token(step):
    """Every token has a target of its own."""
    def mse_step(table, ids, target, *others):
        wanted = np.broadcast_to(target + 0.1 * ids[..., None], (*ids.shape, table.shape[1]))
        return step.mse_step(table, ids, wanted.astype(table.dtype), *others)
    return altered(step, mse_step=mse_step)


@fault("training_step", ["SGD-01", "SGD-02", "SGD-03", "SGD-05", "SGD-07"])
def rate_of_a_tenth(step):
    """The rate is 0.1 whatever is asked for."""
    return with_optimizer(step, lr=0.1)


@fault("training_step", ["SGD-05", "SGD-01"])
def rate_of_sixteen(step):
    """The rate is 16 whatever is asked for, so that a row that is used thrice is thrown beyond the target."""
    return with_optimizer(step, lr=16.0)


@fault("training_step", ["PAD-03", "GRAD-01", "PAD-04"], base="formulas")
def formula_without_the_exception(step):
    """By hand, padding is added up like any other id."""
    return padding_id_not_passed(step)


@fault("training_step", ["SGD-02", "SGD-01"])
def rate_a_fifth_too_low(step):
    """The rate is four fifths of what is asked for."""
    def mse_step(table, ids, target, learning_rate, *others):
        return step.mse_step(table, ids, target, 0.8 * learning_rate, *others)
    return altered(step, mse_step=mse_step)


@fault("training_step", ["SGD-01", "SGD-02", "SGD-03", "SGD-05"])
def uphill_step(step):
    """The gradient is added."""
    return with_optimizer(step, maximize=True)


@fault("training_step", ["SGD-01", "SGD-02", "SGD-03", "SGD-07"])
def adam_step(step):
    """The optimiser is Adam."""
    return with_optimizer(step, "Adam")


@fault("training_step", ["SGD-01", "SGD-02", "SGD-04", "SGD-07", "PAD-04"])
def weight_decay_step(step):
    """The optimiser has a weight decay of 0.1."""
    return with_optimizer(step, weight_decay=0.1)


@fault("training_step", ["SGD-01", "SGD-07"])
def momentum_step(step):
    """The optimiser has a momentum of 0.9, which a single step does not show."""
    return with_optimizer(step, momentum=0.9)


@fault("training_step", ["SGD-01", "SGD-02", "SGD-07"])
def nesterov_step(step):
    """The optimiser has a momentum of 0.9 that looks ahead."""
    return with_optimizer(step, momentum=0.9, nesterov=True)


@fault("training_step", ["SGD-04", "SGD-05", "SGD-02", "SGD-06"])
def table_not_in_the_optimizer(step):
    """The optimiser was given a copy of the table."""
    def optimizer(weight, learning_rate):
        return step.optimizer(weight.detach().clone().requires_grad_(), learning_rate)
    return with_parts(step, optimizer=optimizer)


@fault("training_step", ["SGD-01", "SGD-02", "SGD-03"])
def one_step_too_many(step):
    """Another step is taken before the table is returned."""
    def mse_step(table, ids, target, learning_rate, padding_id=None, steps=1):
        further = step.mse_step(table, ids, target, learning_rate, padding_id, steps + 1)
        parts = list(step.mse_step(table, ids, target, learning_rate, padding_id, steps))
        parts[4] = further[4]
        return parts
    return altered(step, mse_step=mse_step)


@fault("training_step", ["SGD-06"])
def snapshot_without_a_copy(step):
    """The table before is the very array that the step works on."""
    def mse_step(table, *others):
        parts = step.mse_step(table, *others)
        table[...] = parts[4]
        return parts
    return altered(step, mse_step=mse_step)


@fault("training_step", ["SGD-05"])
def loss_after_is_that_before(step):
    """The loss after the step was computed before it."""
    def mse_step(*arguments):
        parts = list(step.mse_step(*arguments))
        parts[5] = parts[0]
        return parts
    return altered(step, mse_step=mse_step)


@fault("training_step", ["GRAD-01", "GRAD-02", "GRAD-08"], size="subtle")
def row_gradient_off_in_the_last_digits(step):
    """The gradient of the table is larger by two parts in a million."""
    return with_result(step, 3, larger(2.0**-19))


@fault("training_step", ["GRAD-03"], size="subtle")
def output_gradient_off_in_the_last_digits(step):
    """The gradient of the output is larger by two parts in a million."""
    return with_result(step, 2, larger(2.0**-19))


@fault("training_step", ["GRAD-06"], size="subtle")
def loss_off_in_the_last_digits(step):
    """The loss is larger by fifteen parts in a million."""
    return with_result(step, 0, larger(2.0**-16))


@fault("training_step", ["SGD-01", "SGD-02", "SGD-03"], size="subtle")
def table_off_in_the_last_digits(step):
    """The table after is larger by four parts in a million."""
    return with_result(step, 4, larger(2.0**-18))


@fault("training_step", ["TRAIN-10"], size="subtle")
def rows_stop_short(step):
    """The table after is larger by fifteen parts in a million, so that rows miss the point where they meet."""
    return with_result(step, 4, larger(2.0**-16))


@fault("training_step", ["SGD-05"], size="subtle")
def loss_after_off_in_the_last_digits(step):
    """The loss after is larger by fifteen parts in a million."""
    return with_result(step, 5, larger(2.0**-16))


# --- sound variants ---------------------------------------------------------------------------------------------------


@sound("training_step")
def step_in_float64(step):
    """The same step in float64."""
    return altered(step, mse_step=lambda table, *others: step.mse_step(table.astype(np.float64), *others))


@sound("training_step")
def step_with_sparse_gradients(step):
    """The same step with sparse gradients."""
    def embedding(table, padding_id):
        made = step.embedding(table, padding_id)
        made.sparse = True
        return made
    return with_parts(step, embedding=embedding)


@sound("training_step")
def mean_as_a_product(step):
    """The sum of squares is multiplied by one over the number of numbers."""
    return with_parts(step, loss=lambda output, wanted: (output - wanted).square().sum() * (1 / output.numel()))


@sound("training_step", base="formulas")
def formula_from_the_last_place(step):
    """The formula by hand, with the places in reversed order."""
    def mse_step(table, ids, target, *others):
        wanted = np.broadcast_to(np.asarray(target, table.dtype), (*ids.shape, table.shape[1]))
        back = step.mse_step(table, ids.ravel()[::-1], wanted.reshape(ids.size, -1)[::-1], *others)
        shape = (*ids.shape, table.shape[1])
        return back[0], back[1][::-1].reshape(shape), back[2][::-1].reshape(shape), *back[3:]
    return altered(step, mse_step=mse_step)
