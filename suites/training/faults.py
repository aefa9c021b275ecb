"""Faulty and sound layers, steps, trainers and modules. Each fault enters at one call or one part of a training."""

import copy

import numpy as np

from ...proof import altered, fault, sound


def rebuilt(layer, table=None, *, padding_id="kept"):
    """A layer of the same kind with another table or padding id; it still names the padding id that it was given."""
    own = layer.padding_id if padding_id == "kept" else padding_id
    made = type(layer)(layer.table() if table is None else table, own)
    return altered(made, padding_id=layer.padding_id)


def masked(layer, gradient):
    """The gradient without the padding row."""
    if layer.padding_id is not None:
        gradient[layer.padding_id] = 0
    return gradient


# --- the gradient: padding -------------------------------------------------------------------------------------------


@fault("layer", ["PAD-03"], source="pytorch/pytorch#26302")
def padding_gradient_leaks(layer):
    """The backward pass does not know the padding id."""
    return altered(layer, gradient=rebuilt(layer, padding_id=None).gradient)


@fault("layer", ["PAD-03"], source="pytorch/pytorch#103023")
def padding_leaks_in_long_batches(layer):
    """Beyond 768 ids another kernel is taken, which does not know the padding id."""
    leaking = rebuilt(layer, padding_id=None)
    return altered(layer, gradient=lambda ids, slope: (leaking if ids.size > 768 else layer).gradient(ids, slope))


@fault("layer", ["PAD-03"])
def padding_leaks_beyond_3072_ids(layer):
    """Beyond 3072 ids another kernel is taken, which does not know the padding id."""
    leaking = rebuilt(layer, padding_id=None)
    return altered(layer, gradient=lambda ids, slope: (leaking if ids.size > 3072 else layer).gradient(ids, slope))


@fault("layer", ["PAD-03"])
def padding_masked_in_front_only(layer):
    """Padding counts as padding only up to the first other id of the batch."""
    def gradient(ids, slope):
        flat, rows = ids.ravel(), slope.reshape(ids.size, -1)
        start = int(np.argmax(flat != layer.padding_id))
        return rebuilt(layer, padding_id=None).gradient(flat[start:], rows[start:])
    return altered(layer, gradient=gradient)


@fault("layer", ["PAD-03", "PAD-04", "TRAIN-03"], source="google/torchax#11")
def padding_forgotten(layer):
    """The layer knows its padding id and uses it nowhere."""
    return rebuilt(layer, padding_id=None)


@fault("layer", ["PAD-03"], raises=True, source="pytorch/pytorch#82486")
def padding_alone_raises(layer):
    """A batch that holds nothing but padding breaks the backward pass."""
    def gradient(ids, slope):
        if (ids == layer.padding_id).all():
            raise RuntimeError("expected values of shape [n, d], got [0, 0]")
        return layer.gradient(ids, slope)
    return altered(layer, gradient=gradient)


@fault("layer", ["PAD-06", "GRAD-05", "GRAD-02", "TRAIN-02"], source="ibalazevic/TuckER#17")
def id_zero_is_always_padding(layer):
    """Id 0 counts as padding though nobody said so."""
    return rebuilt(layer, padding_id=0)


@fault("layer", ["PAD-06", "GRAD-05", "GRAD-02"], source="huggingface/transformers#25773")
def last_row_is_padding(layer):
    """No padding id is stored as -1, which is taken for the last row."""
    return rebuilt(layer, padding_id=-1) if layer.padding_id is None else layer


@fault("layer", ["PAD-02", "PAD-07"], source="pytorch/pytorch#53368")
def padding_looked_up_as_zero(layer):
    """A lookup gives zeros at padding, whatever the table holds there."""
    def lookup(ids):
        found = layer.lookup(ids)
        found[np.asarray(ids) == layer.padding_id] = 0
        return found
    return altered(layer, lookup=lookup)


@fault("layer", ["PAD-07"])
def padding_row_zeroed(layer):
    """The padding row of a table that is given is set to zero, as in a new layer."""
    table = np.array(layer.table())
    return rebuilt(layer, masked(layer, table))


# --- the gradient: repeated ids ----------------------------------------------------------------------------------------


@fault("layer", ["GRAD-02"], source="pytorch/pytorch#1528")
def last_place_wins(layer):
    """Gradients are written to their rows and not added: the last place of an id is left."""
    def gradient(ids, slope):
        total = np.zeros_like(layer.table())
        total[ids] = slope
        return masked(layer, total)
    return altered(layer, gradient=gradient)


@fault("layer", ["GRAD-02"], source="tenstorrent/tt-metal#6232")
def repeats_counted_once(layer):
    """Ids are taken to be unique: each row gets the gradient of its first place."""
    def gradient(ids, slope):
        used, places = np.unique(ids, return_index=True)
        return layer.gradient(used, slope.reshape(ids.size, -1)[places])
    return altered(layer, gradient=gradient)


@fault("layer", ["GRAD-02"])
def only_neighbours_added(layer):
    """Repeated ids are added where they stand side by side; of several such runs the last one is left."""
    def gradient(ids, slope):
        flat, total = ids.ravel(), np.zeros_like(layer.table())
        starts = np.flatnonzero(np.append(True, flat[1:] != flat[:-1]))
        total[flat[starts]] = np.add.reduceat(slope.reshape(ids.size, -1), starts, axis=0)
        return masked(layer, total)
    return altered(layer, gradient=gradient)


@fault("layer", ["GRAD-02"], source="tracel-ai/burn#1739")
def gradients_in_the_order_of_ids(layer):
    """Gradients are given out to the sorted ids."""
    return altered(layer, gradient=lambda ids, slope: layer.gradient(np.sort(ids, axis=None).reshape(ids.shape), slope))


@fault("layer", ["GRAD-02"], source="meta-pytorch/torchrec#2251")
def divided_by_world_size(layer):
    """The gradient is divided by the number of two shards."""
    return altered(layer, gradient=lambda ids, slope: layer.gradient(ids, slope) / 2)


@fault("layer", ["GRAD-02"])
def divided_by_counts(layer):
    """Rows get the mean over their places in the stead of the sum."""
    def gradient(ids, slope):
        counts = np.bincount(ids.ravel(), minlength=len(layer.table()))
        return layer.gradient(ids, slope) / np.maximum(counts, 1).astype(slope.dtype)[:, None]
    return altered(layer, gradient=gradient)


@fault("layer", ["GRAD-02"], source="pytorch/pytorch#190063")
def count_of_another_id(layer):
    """The sum is multiplied by the id's own count and divided by that of the id before it."""
    def gradient(ids, slope):
        used, counts = np.unique(ids, return_counts=True)
        total = layer.gradient(ids, slope)
        total[used] *= (counts / np.roll(counts, 1)).astype(total.dtype)[:, None]
        return total
    return altered(layer, gradient=gradient)


@fault("layer", ["GRAD-02"], size="subtle")
def gradient_off_in_the_last_digits(layer):
    """The gradient is larger by one part in a million."""
    return altered(layer, gradient=lambda ids, slope: layer.gradient(ids, slope) * np.float32(1 + 2.0**-20))


# --- the gradient: precision -------------------------------------------------------------------------------------------


def accumulating(layer, dtype, inner):
    """A layer whose table has one format and whose gradients are added up in another."""
    made = rebuilt(layer, layer.table().astype(dtype))

    def gradient(ids, slope):
        total = np.zeros(made.table().shape, inner)
        np.add.at(total, ids, slope.astype(inner))
        return masked(made, total.astype(dtype))
    return altered(made, gradient=gradient)


def bfloat16():
    import ml_dtypes

    return ml_dtypes.bfloat16


@fault("layer", ["GRAD-02"], source="tenstorrent/tt-metal#53386", declares={"precision": "bfloat16"})
def bfloat16_sums(layer):
    """A bfloat16 layer adds its gradients up in bfloat16, where they stop growing."""
    return accumulating(layer, bfloat16(), bfloat16())


@fault("layer", ["GRAD-02"], source="apache/mxnet#17703", declares={"precision": "float16"})
def float16_sums(layer):
    """A float16 layer adds its gradients up in float16, where they stop growing."""
    return accumulating(layer, np.float16, np.float16)


@fault("layer", ["GRAD-02"], source="pytorch/pytorch#20022")
def half_sums_in_a_float32_layer(layer):
    """A float32 layer adds its gradients up in float16."""
    return accumulating(layer, np.float32, np.float16)


# --- the gradient: sizes -----------------------------------------------------------------------------------------------


@fault("layer", ["GRAD-05", "GRAD-02"], source="pytorch/pytorch#188467")
def last_row_lost_in_tall_tables(layer):
    """In tables of more than 768 rows the last row gets no gradient."""
    def gradient(ids, slope):
        total = layer.gradient(ids, slope)
        if len(total) > 768:
            total[-1] = 0
        return total
    return altered(layer, gradient=gradient)


@fault("layer", ["GRAD-05", "GRAD-02"], source="microsoft/onnxruntime#28108")
def offsets_overflow(layer):
    """The offset of a row, id times width, is kept in 13 bits."""
    def gradient(ids, slope):
        width = layer.table().shape[1]
        return layer.gradient(ids * width % 2**13 // width, slope)
    return altered(layer, gradient=gradient)


@fault("layer", ["GRAD-02"])
def repeats_lost_in_long_batches(layer):
    """Beyond 768 ids another kernel is taken, in which the last place of an id wins."""
    wrong = last_place_wins(layer)
    return altered(layer, gradient=lambda ids, slope: (wrong if ids.size > 768 else layer).gradient(ids, slope))


@fault("layer", ["GRAD-02"])
def last_block_dropped(layer):
    """Long batches are added up in blocks of 256 ids, and a last block that is not full is left out."""
    def gradient(ids, slope):
        full = ids.size if ids.size <= 3072 else ids.size - ids.size % 256
        return layer.gradient(ids.ravel()[:full], slope.reshape(ids.size, -1)[:full])
    return altered(layer, gradient=gradient)


@fault("layer", ["TRAIN-09"], source="meta-pytorch/torchrec#3673")
def columns_beyond_1024_are_zero(layer):
    """A lookup gives zeros from column 1024 on."""
    def lookup(ids):
        found = layer.lookup(ids)
        found[..., 1024:] = 0
        return found
    return altered(layer, lookup=lookup)


@fault("layer", ["TRAIN-09"])
def always_eight_columns(layer):
    """Every table has eight columns: what is more is cut off, what is missing is zero."""
    table = layer.table()
    return rebuilt(layer, np.pad(table, ((0, 0), (0, 8)))[:, :8])


@fault("layer", ["TRAIN-09"])
def columns_up_to_a_power_of_two(layer):
    """The width is rounded up to a power of two."""
    table = layer.table()
    return rebuilt(layer, np.pad(table, ((0, 0), (0, (1 << (table.shape[1] - 1).bit_length()) - table.shape[1]))))


@fault("layer", ["TRAIN-09"], raises=True)
def odd_widths_refused(layer):
    """A width that is no power of two is refused."""
    if layer.table().shape[1].bit_count() != 1:
        raise ValueError("the width must be a power of two")
    return layer


# --- the gradient: other rows, other calls -----------------------------------------------------------------------------


@fault("layer", ["GRAD-05", "PAD-03"])
def every_row_gets_a_little(layer):
    """All rows get gradient, as those of a table that is tied to a softmax do."""
    return altered(layer, gradient=lambda ids, slope: layer.gradient(ids, slope) + slope.dtype.type(2.0**-10))


@fault("layer", ["GRAD-05", "GRAD-02"])
def penalty_on_the_table(layer):
    """A penalty on the size of the table is part of its gradient."""
    return altered(layer, gradient=lambda ids, slope: layer.gradient(ids, slope) + slope.dtype.type(0.01) * layer.table())


@fault("layer", ["GRAD-07"])
def gradients_pile_up(layer):
    """Every gradient is added to the ones before it."""
    total = np.zeros_like(layer.table())

    def gradient(ids, slope):
        nonlocal total
        total = total + layer.gradient(ids, slope)
        return total
    return altered(layer, gradient=gradient)


# --- the step ----------------------------------------------------------------------------------------------------------


def stepping(layer, change):
    """A layer whose step sets the table to change(table, gradient, rate)."""
    def step(ids, slope, rate):
        table = layer.table()
        table[...] = change(table, layer.gradient(ids, slope), rate)
    return altered(layer, step=step)


@fault("layer", ["TRAIN-02", "TRAIN-03", "SGD-01", "SGD-04", "PAD-06"])
def frozen(layer):
    """A step changes nothing, as with an optimiser that was not given the table, or a lookup without gradient."""
    return stepping(layer, lambda table, gradient, rate: table)


@fault("layer", ["SGD-01"])
def uphill(layer):
    """A step adds the gradient."""
    return stepping(layer, lambda table, gradient, rate: table + rate * gradient)


@fault("layer", ["SGD-01"])
def rate_ignored(layer):
    """Every step has the rate 0.1."""
    return stepping(layer, lambda table, gradient, rate: table - np.float32(0.1) * gradient)


@fault("layer", ["SGD-01"], size="subtle")
def rate_off_in_the_last_digits(layer):
    """The rate is larger by one part in a million."""
    return stepping(layer, lambda table, gradient, rate: table - np.float32(rate * (1 + 2.0**-20)) * gradient)


@fault("layer", ["SGD-01", "SGD-04", "PAD-04", "TRAIN-03"], source="huggingface/diffusers#1009")
def weight_decay(layer):
    """Every step shrinks the whole table by a hundredth of the rate."""
    return stepping(layer, lambda table, gradient, rate: table * np.float32(1 - 0.01 * rate) - rate * gradient)


@fault("layer", ["SGD-01", "SGD-04", "SGD-07"])
def momentum(layer):
    """A step also takes nine tenths of the step before."""
    velocity = np.zeros_like(layer.table())

    def change(table, gradient, rate):
        nonlocal velocity
        velocity = np.float32(0.9) * velocity + gradient
        return table - rate * velocity
    return stepping(layer, change)


@fault("layer", ["SGD-01", "SGD-04", "SGD-07"], source="pytorch/pytorch#18404")
def adam(layer):
    """Steps are those of Adam, which moves rows of earlier batches on."""
    first, second, steps = np.zeros_like(layer.table()), np.zeros_like(layer.table()), 0

    def change(table, gradient, rate):
        nonlocal first, second, steps
        steps += 1
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        return table - rate * first / (1 - 0.9**steps) / (np.sqrt(second / (1 - 0.999**steps)) + 1e-8)
    return stepping(layer, change)


@fault("layer", ["SGD-01", "SGD-04", "SGD-07"])
def older_gradients_kept(layer):
    """Gradients are not cleared between steps."""
    total = np.zeros_like(layer.table())

    def change(table, gradient, rate):
        nonlocal total
        total = total + gradient
        return table - rate * total
    return stepping(layer, change)


@fault("layer", ["SGD-01"])
def gradient_clipped(layer):
    """The gradient is scaled to length one first."""
    return stepping(layer, lambda table, gradient, rate: table - np.float32(rate / np.linalg.norm(gradient)) * gradient)


@fault("layer", ["PAD-04", "TRAIN-03"])
def padding_row_moves(layer):
    """The gradient is right, but the step moves the padding row too."""
    leaking = altered(layer, gradient=rebuilt(layer, padding_id=None).gradient)
    return altered(layer, step=stepping(leaking, lambda table, gradient, rate: table - rate * gradient).step)


@fault("layer", ["TRAIN-02", "SGD-01", "SGD-04"])
def last_row_never_moves(layer):
    """A step leaves the last row of a tall table as it is."""
    def change(table, gradient, rate):
        moved = table - rate * gradient
        if len(table) > 768:
            moved[-1] = table[-1]
        return moved
    return stepping(layer, change)


# --- the audit step ----------------------------------------------------------------------------------------------------


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


# --- training ----------------------------------------------------------------------------------------------------------


def with_pairs(trainer, change):
    """The trainer with other pairs than it was given."""
    return altered(trainer, train=lambda pairs, *others: trainer.train(change(pairs), *others))


@fault("trainer", ["TRAIN-03", "TRAIN-04", "TRAIN-05", "TRAIN-06", "TRAIN-07", "TRAIN-08"])
def table_never_trained(trainer):
    """The optimiser was not given the table."""
    return with_parts(trainer, optimizer=lambda parameters: trainer.optimizer(parameters[:1]))


@fault("trainer", ["TRAIN-06", "TRAIN-04", "TRAIN-08"])
def table_always_trained(trainer):
    """The table is trained though it should be frozen."""
    def train(pairs, rows, width, seeds, train_table, steps):
        return trainer.train(pairs, rows, width, seeds, True, steps)
    return altered(trainer, train=train)


def with_adam(trainer, **settings):
    """The trainer with Adam, or another optimiser, and other settings."""
    import torch

    kind = settings.pop("kind", "Adam")
    return with_parts(trainer, optimizer=lambda parameters: getattr(torch.optim, kind)(
        parameters, **({"lr": trainer.learning_rate} | settings)))


@fault("trainer", ["TRAIN-03"], source="huggingface/diffusers#1009")
def decay_of_all_rows(trainer):
    """The optimiser is AdamW with a weight decay of 0.1, which moves rows that have no gradient."""
    return with_adam(trainer, kind="AdamW", weight_decay=0.1)


@fault("trainer", ["TRAIN-03"])
def penalty_on_all_rows(trainer):
    """Every row gets the gradient of a penalty, as all rows do in a table that is tied to the output."""
    return with_adam(trainer, weight_decay=0.01)


@fault("trainer", ["TRAIN-04", "TRAIN-05"])
def words_permuted(trainer):
    """The words are mixed up among the topics."""
    order = np.append(0, np.append(np.arange(1, 13).reshape(4, 3).T.reshape(-1), 13))
    return with_pairs(trainer, lambda pairs: np.stack([order[pairs[:, 0]], pairs[:, 1]], axis=1))


@fault("trainer", ["TRAIN-04", "TRAIN-05"])
def one_topic_for_all(trainer):
    """Every word is trained on the labels of the first topic."""
    return with_pairs(trainer, lambda pairs: np.stack(
        [pairs[:, 0], np.where(pairs[:, 1] < 9, pairs[:, 1] % 3, pairs[:, 1])], axis=1))


@fault("trainer", ["TRAIN-07", "TRAIN-04"])
def data_ignored(trainer):
    """Labels follow from the ids, whatever the data say."""
    return with_pairs(trainer, lambda pairs: np.stack([pairs[:, 0], np.arange(len(pairs)) % 12], axis=1))


@fault("trainer", ["TRAIN-04", "TRAIN-05"])
def parallel_rows(trainer):
    """All rows of a trained table point into one direction."""
    def train(*arguments):
        before, after, losses = trainer.train(*arguments)
        return before, np.linalg.norm(after, axis=2, keepdims=True) * np.ones_like(after), losses
    return altered(trainer, train=train)


@fault("trainer", ["TRAIN-08", "TRAIN-06"])
def uphill_training(trainer):
    """The loss is raised."""
    return with_adam(trainer, maximize=True)


@fault("trainer", ["TRAIN-07"])
def unseeded(trainer):
    """Tables begin with other numbers each time."""
    import torch

    def initial(rows, width, labels, seed):
        return 0.1 * torch.randn(rows, width), 0.1 * torch.randn(width, labels)
    return with_parts(trainer, initial=initial)


@fault("trainer", ["TRAIN-07"])
def one_seed_for_all(trainer):
    """All tables begin with the same numbers."""
    return with_parts(trainer, initial=lambda rows, width, labels, seed: trainer.initial(rows, width, labels, 0))


# --- PyTorch's own interface -------------------------------------------------------------------------------------------


def of_class(module, **members):
    """The facet `module` around an embedding with the same table, of a class that replaces some members."""
    import torch

    embedding = module.module()
    kind = type("Embedding", (type(embedding),), members)
    made = kind(*embedding.weight.shape)
    with torch.no_grad():
        made.weight.copy_(embedding.weight)
    return altered(module, module=lambda: made)


@fault("module", ["TRAIN-01"])
def table_frozen(module):
    """The layer was made from a table that stays frozen, as from_pretrained does unless told otherwise."""
    made = copy.deepcopy(module.module())
    made.weight.requires_grad_(False)
    return altered(module, module=lambda: made)


@fault("module", ["TRAIN-01"])
def table_as_buffer(module):
    """The table is a buffer, which no optimiser is given."""
    made = copy.deepcopy(module.module())
    table = made.weight.detach().clone().requires_grad_()
    del made.weight
    made.register_buffer("weight", table)
    return altered(module, module=lambda: made)


@fault("module", ["GRAD-04"])
def output_cut_off(module):
    """The output is cut off from the table and begins a graph of its own."""
    import torch

    return of_class(module, forward=lambda self, ids: torch.nn.Embedding.forward(self, ids).detach().requires_grad_())


@fault("module", ["GRAD-04"])
def output_always_retained(module):
    """The output keeps its gradient unasked."""
    import torch

    def forward(self, ids):
        output = torch.nn.Embedding.forward(self, ids)
        if output.requires_grad:
            output.retain_grad()
        return output
    return of_class(module, forward=forward)


@fault("module", ["GRAD-07"])
def cleared_to_zeros(module):
    """Clearing leaves a gradient of zeros."""
    import torch

    return of_class(module, zero_grad=lambda self, set_to_none=True: torch.nn.Module.zero_grad(self, set_to_none=False))


@fault("module", ["GRAD-07"])
def never_cleared(module):
    """Clearing does nothing."""
    return of_class(module, zero_grad=lambda self, set_to_none=True: None)


@fault("module", ["SGD-07"])
def scale_trained_too(module):
    """A trainable factor belongs to the layer, and any optimiser of its parameters moves it."""
    import torch

    made = copy.deepcopy(module.module())
    made.register_parameter("factor", torch.nn.Parameter(torch.ones(())))
    return altered(module, module=lambda: made)


@fault("module", ["PAD-01", "PAD-02"], source="pytorch/pytorch#6411")
def initialised_after_padding(module):
    """The table is drawn after the padding row was set to zero."""
    import torch

    def reset_parameters(self):
        torch.nn.init.normal_(self.weight)
    return of_class(module, reset_parameters=reset_parameters)


@fault("module", ["SGD-02"])
def another_initialisation(module):
    """New tables are drawn evenly from -1 to 1."""
    import torch

    def reset_parameters(self):
        torch.nn.init.uniform_(self.weight, -1, 1)
        self._fill_padding_idx_with_zero()
    return of_class(module, reset_parameters=reset_parameters)


@fault("module", ["PAD-03"], source="pytorch/pytorch#3506")
def padding_masked_only_when_dense(module):
    """Sparse gradients do not know the padding id."""
    import torch

    def forward(self, ids):
        known = None if self.sparse else self.padding_idx
        return torch.nn.functional.embedding(ids, self.weight, known, sparse=self.sparse)
    return of_class(module, forward=forward)


@fault("module", ["PAD-03"], source="pytorch/pytorch#26302")
def padding_unknown_in_long_batches(module):
    """Beyond 768 ids the padding id is not known."""
    import torch

    def forward(self, ids):
        known = None if ids.numel() > 768 else self.padding_idx
        return torch.nn.functional.embedding(ids, self.weight, known, sparse=self.sparse)
    return of_class(module, forward=forward)


@fault("module", ["PAD-06"])
def padding_id_zero_by_default(module):
    """A new layer takes id 0 for padding unless told otherwise."""
    import torch

    def made(self, rows, width, padding_idx=0, **others):
        torch.nn.Embedding.__init__(self, rows, width, padding_idx, **others)
    return of_class(module, __init__=made)


@fault("module", ["PAD-07"], source="pytorch/pytorch#53368")
def zeros_at_padding(module):
    """The forward pass gives zeros at padding, whatever the row holds."""
    import torch

    def forward(self, ids):
        output = torch.nn.Embedding.forward(self, ids)
        return output if self.padding_idx is None else output * (ids != self.padding_idx)[..., None]
    return of_class(module, forward=forward)


# --- sound variants ----------------------------------------------------------------------------------------------------


@sound("layer")
def sparse_gradient(layer):
    """`torch.nn.Embedding` with sparse gradients."""
    from ...subjects.torch_stack import TorchLayer

    made = TorchLayer.holding(np.array(layer.table()), layer.padding_id)
    made.embedding.sparse = True
    return made


@sound("layer", declares={"precision": "float16"})
def float16_layer(layer):
    """A float16 layer that adds gradients up in float32."""
    return accumulating(layer, np.float16, np.float32)


@sound("layer", declares={"precision": "bfloat16"})
def bfloat16_layer(layer):
    """A bfloat16 layer that adds gradients up in float32."""
    return accumulating(layer, bfloat16(), np.float32)


@sound("layer")
def sums_in_float32(layer):
    """Gradients are added up in float32, from the last place to the first."""
    def gradient(ids, slope):
        total = np.zeros_like(layer.table())
        np.add.at(total, ids.ravel()[::-1], slope.reshape(ids.size, -1)[::-1])
        return masked(layer, total)
    return altered(layer, gradient=gradient)


@sound("layer")
def sums_of_sorted_segments(layer):
    """Places are sorted by id and added up segment by segment."""
    def gradient(ids, slope):
        order = np.argsort(ids, axis=None, kind="stable")
        used, starts = np.unique(ids.ravel()[order], return_index=True)
        total = np.zeros_like(layer.table())
        total[used] = np.add.reduceat(slope.reshape(ids.size, -1)[order], starts, axis=0)
        return masked(layer, total)
    return altered(layer, gradient=gradient)


@sound("layer")
def padding_masked_by_a_product(layer):
    """The gradient is multiplied by zero at padding, which may give negative zeros."""
    def gradient(ids, slope):
        total = rebuilt(layer, padding_id=None).gradient(ids, slope)
        return total * (np.arange(len(total)) != layer.padding_id)[:, None].astype(total.dtype)
    return altered(layer, gradient=gradient)


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


@sound("trainer")
def seeds_one_by_one(trainer):
    """Every seed is trained on its own."""
    def train(pairs, rows, width, seeds, *others):
        runs = [trainer.train(pairs, rows, width, [seed], *others) for seed in seeds]
        return tuple(np.concatenate(part) for part in zip(*runs, strict=True))
    return altered(trainer, train=train)


@sound("trainer")
def plain_descent_with_momentum(trainer):
    """The optimiser is SGD with momentum."""
    return with_adam(trainer, kind="SGD", lr=2.0, momentum=0.9)


@sound("module")
def padding_row_of_ones(module):
    """A layer from a table of ones, with a padding id and trained further."""
    made = type(module.module()).from_pretrained(module.module().weight.detach() * 0 + 1, freeze=False, padding_idx=0)
    return altered(module, module=lambda: made)


@sound("module")
def sparse_module(module):
    """A layer whose gradients are sparse."""
    made = copy.deepcopy(module.module())
    made.sparse = True
    return altered(module, module=lambda: made)
