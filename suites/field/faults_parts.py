"""Layers that are put together of parts: shards of rows, an adapter, a scale, blocks of codes; and sums in no fixed order."""

import numpy as np

from ...proof import altered, fault
from .faults_layer import FROZEN, INT8, looking, policy, quantised

# --- shards -----------------------------------------------------------------------------------------------------------


def sharded(layer, *, owns=lambda ids, start, end: (ids >= start) & (ids < end), masked=True,
            size=lambda rows: -(-rows // 3)):
    """Three shards of rows or more, whose answers are added up; what a shard does not own it reads as its nearest row."""
    def lookup(ids):
        total, table = np.zeros_like(layer.lookup(ids)), layer.table()
        step = max(size(len(table)), 1)
        for start in range(0, 3 * step, step):
            rows = table[start:start + step]
            if not len(rows):
                continue
            found = rows[np.clip(ids - start, 0, len(rows) - 1)]
            own = owns(ids, start, start + len(rows)) | (not masked)
            with np.errstate(over="ignore", invalid="ignore"):
                total += np.where(own[..., None], found, 0).astype(total.dtype)
        return total
    return looking(layer, lookup)


@fault("layer", ["LOOKUP-01", "LOOKUP-04"], source="NVIDIA/Megatron-LM#926, deepseek-ai/DeepSeek-V3#298")
def shards_without_a_mask(layer):
    """Shards also answer for ids that are not theirs, with a row of their own, and all answers are added up."""
    return sharded(layer, masked=False)


@fault("layer", ["LOOKUP-01", "LOOKUP-04"])
def end_of_a_shard_counted_twice(layer):
    """A shard also answers for the first id of the next one."""
    return sharded(layer, owns=lambda ids, start, end: (ids >= start) & (ids <= end))


@fault("layer", ["LOOKUP-01", "LOOKUP-04"])
def start_of_a_shard_left_out(layer):
    """No shard answers for its own first id."""
    return sharded(layer, owns=lambda ids, start, end: (ids > start) & (ids < end))


@fault("layer", ["LOOKUP-04"])
def rows_left_over_behind_the_shards(layer):
    """The number of rows is divided among three shards and rounded down: the rows that are left over belong to none."""
    return sharded(layer, size=lambda rows: rows // 3)


# --- adapters and scales ----------------------------------------------------------------------------------------------


@fault("layer", ["FIELD-32", "LOOKUP-06"], source="EricLBuehler/candle-lora#26")
def adapter_merged_at_every_lookup(layer):
    """Nobody remembers that the adapter was merged, and every lookup adds it to the table once more."""
    def lookup(ids):
        rows = layer.lookup(ids)
        table = layer.table()
        table += np.asarray(0.25).astype(table.dtype)
        return rows
    return looking(layer, lookup)


@fault("layer", ["FIELD-91"], source="EricLBuehler/candle-lora#26")
def training_changes_a_copy(layer):
    """What training changes is a copy of the table, which is shown, and lookups read the table as it was made."""
    begun = layer.table().copy()

    def lookup(ids):
        layer.lookup(ids)
        return begun[ids]
    return looking(layer, lookup)


@fault("layer", ["FIELD-91"], source="huggingface/peft#2809")
def adapter_beside_the_scale(layer):
    """Rows are scaled after the lookup, and what training adds to them bypasses the scale."""
    begun = layer.table().copy()
    return looking(layer, lambda ids: begun[ids] + (layer.lookup(ids) - begun[ids]) / begun.dtype.type(4))


@fault("layer", ["FIELD-32"], source="vllm-project/vllm#48010")
def scale_lost_when_replayed(layer):
    """From the second time on a lookup of one shape is replayed from a recording, which lacks the scale of the rows."""
    seen = set()

    def lookup(ids):
        rows = layer.lookup(ids)
        replayed = ids.shape in seen
        seen.add(ids.shape)
        return rows / rows.dtype.type(16) if replayed else rows
    return looking(layer, lookup)


@fault("layer", ["LOOKUP-01", "LOOKUP-04"], size="subtle", source="huggingface/transformers#37109")
def scale_not_rounded(layer):
    """Rows are scaled by the root of the width, which the model itself rounds to bfloat16."""
    def lookup(ids):
        rows = layer.lookup(ids)
        root = np.float32(rows.shape[-1] ** 0.5)
        rounded = (root.view(np.uint32) + np.uint32(0x8000) & np.uint32(0xFFFF0000)).view(np.float32)
        return (rows / rounded * root).astype(rows.dtype)
    return looking(layer, lookup)


# --- codes, ids, sums -------------------------------------------------------------------------------------------------


@fault("layer", ["FIELD-42"], declares=INT8, base=FROZEN, source="bitsandbytes-foundation/bitsandbytes#1884")
def last_block_of_codes_left_out(layer):
    """The table is quantised in blocks of 64 numbers, and a last block that is not full is never written."""
    made = quantised(layer)
    made.codes.reshape(-1)[made.codes.size // 64 * 64:] = 0
    return made


@fault("layer", ["FIELD-39", "FIELD-40", "LOOKUP-08"],
       source="keras-team/keras#9264, tensorflow/tensorflow#5847, tensorflow/tensorflow#62628, tensorflow/tensorflow#27033")
def zeros_though_refusal_was_declared(layer):
    """Ids outside give zeros, as on a graphics card, though the layer promises to refuse them."""
    return policy(layer, "zero", "zero")


@fault("layer", ["FIELD-39", "FIELD-40", "LOOKUP-08"], source="ml-explore/mlx#206, ml-explore/mlx#2130")
def memory_beside_the_table(layer):
    """Ids are not checked: outside the table there is whatever lies in memory beside it."""
    def lookup(ids):
        beside = (ids < 0) | (ids >= len(layer.table()))
        rows = layer.lookup(np.where(beside, 0, ids))
        rows[beside] = -rows[beside] - 1
        return rows
    return looking(layer, lookup)


@fault("layer", ["FIELD-39", "FIELD-40", "LOOKUP-08"], source="google/flax#4557, google/flax#4600")
def any_id_in_a_table_of_one_row(layer):
    """A table of a single row is repeated for whatever ids come."""
    return looking(layer, lambda ids: layer.lookup(ids * 0 if len(layer.table()) == 1 else ids))


@fault("layer", ["FIELD-86"], source="pytorch/pytorch#187682, pytorch/pytorch#172454")
def sums_in_no_fixed_order(layer):
    """The gradients of a row are added up in float32 in the order in which threads come to it."""
    drawn = np.random.default_rng(4)

    def gradient(ids, output_gradient):
        layer.gradient(ids, output_gradient)
        total = np.zeros(layer.table().shape, np.float32)
        flat, rows = ids.reshape(-1), output_gradient.reshape(-1, total.shape[1])
        order = drawn.permutation(flat.size)
        np.add.at(total, flat[order], rows[order].astype(np.float32))
        if layer.padding_id is not None:
            total[layer.padding_id] = 0
        return total.astype(layer.table().dtype)
    return altered(layer, gradient=gradient)
