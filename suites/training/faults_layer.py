"""Faulty and sound layers: their gradients and their steps."""

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


@fault("layer", ["PAD-03", "PAD-04", "TRAIN-03"], source="google/torchax#11, huggingface/transformers#344")
def padding_forgotten(layer):
    """The layer knows its padding id and uses it nowhere."""
    return rebuilt(layer, padding_id=None)


@fault("layer", ["PAD-03"], raises=True, source="pytorch/pytorch#82486, pytorch/pytorch#5472")
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


@fault("layer", ["PAD-02", "PAD-07"], source="pytorch/pytorch#53368, PaddlePaddle/Paddle#62301")
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


@fault("layer", ["GRAD-02"], source="pytorch/pytorch#44792")
def only_neighbours_added(layer):
    """Repeated ids are added where they stand side by side; of several such runs the last one is left."""
    def gradient(ids, slope):
        flat, total = ids.ravel(), np.zeros_like(layer.table())
        starts = np.flatnonzero(np.append(True, flat[1:] != flat[:-1]))
        total[flat[starts]] = np.add.reduceat(slope.reshape(ids.size, -1), starts, axis=0)
        return masked(layer, total)
    return altered(layer, gradient=gradient)


@fault("layer", ["GRAD-02"], source="tracel-ai/burn#1739, tracel-ai/burn#1727")
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
    """The gradient is larger by two parts in a million."""
    return altered(layer, gradient=lambda ids, slope: layer.gradient(ids, slope) * np.float32(1 + 2.0**-19))


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


@fault("layer", ["GRAD-02"],
       source="tenstorrent/tt-metal#53386, flagos-ai/FlagGems#309, flagos-ai/FlagGems#4295", declares={"precision": "bfloat16"})
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


@fault("layer", ["GRAD-05", "GRAD-02"],
       source="microsoft/onnxruntime#28108, pytorch/pytorch#165095, pytorch/pytorch#130806, pytorch/FBGEMM#3953")
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


@fault("layer", ["GRAD-05", "PAD-03"], source="facebookresearch/fairseq#4633")
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


@fault("layer", ["SGD-01", "SGD-04", "PAD-04", "TRAIN-03"], source="huggingface/diffusers#1009, huggingface/diffusers#855")
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


# --- sound variants ---------------------------------------------------------------------------------------------------


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
