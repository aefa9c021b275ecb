"""Faulty and sound stores of vectors."""

from itertools import pairwise

import numpy as np

from ...proof import altered, fault, sound
from ...subjects.array_store import ArrayStore


def changed(store, change):
    """The store with other vectors: `change` alters a copy [N, d], or returns another."""
    vectors = store.vectors.copy()
    result = change(vectors)
    return ArrayStore(vectors if result is None else result, store.texts())


def passing(store, change):
    """The store whose pass gives other batches: `change` makes them from the list of the right ones."""
    return altered(store, batches=lambda: iter(change(list(store.batches()))))


@fault("store", ["FIELD-55", "FIELD-57"], source="chroma-core/chroma#7420")
def a_row_of_nan(store):
    """One vector is not a number throughout, as an empty text gives from a division by its length."""
    def change(vectors):
        vectors[1234] = np.nan
    return changed(store, change)


@fault("store", ["FIELD-55"], source="nmslib/hnswlib#587")
def one_infinite_number(store):
    """One number of the last vector overflowed."""
    def change(vectors):
        vectors[-1, -1] = -np.inf
    return changed(store, change)


@fault("store", ["FIELD-56", "FIELD-57"], source="spiceai/spiceai#7109")
def a_row_of_zeros(store):
    """One vector was never written."""
    def change(vectors):
        vectors[700] = 0
    return changed(store, change)


@fault("store", ["FIELD-56"])
def a_tail_of_zeros(store):
    """The job that filled the array ended early: the last eighty rows are as they were allocated."""
    def change(vectors):
        vectors[-80:] = 0
    return changed(store, change)


@fault("store", ["FIELD-57"], source="mem0ai/mem0#5960")
def rows_not_normalised(store):
    """Vectors are stored as the network gave them."""
    def change(vectors):
        vectors *= np.linspace(0.6, 19.6, len(vectors), dtype=np.float32)[:, None]
    return changed(store, change)


@fault("store", ["FIELD-57"], source="vllm-project/semantic-router#2183")
def truncated_without_normalising(store):
    """Only the first forty numbers are kept, and the rest is not scaled again."""
    return changed(store, lambda vectors: vectors[:, :40].copy())


@fault("store", ["FIELD-57"], size="subtle")
def one_row_a_little_long(store):
    """One vector of 2,500 is longer by a thirty-thousandth."""
    def change(vectors):
        vectors[2001] *= np.float32(1 + 3e-5)
    return changed(store, change)


@fault("store", ["FIELD-58"], source="microsoft/graphrag#2378")
def another_width(store):
    """The third file was made by another model, whose vectors are longer."""
    return passing(store, lambda batches: [(first, np.tile(rows, 2) / np.sqrt(np.float32(2)) if first == 701 else rows)
                                           for first, rows in batches])


@fault("store", ["FIELD-58"], source="lancedb/lancedb#3192")
def a_missing_row(store):
    """One text has no vector; its place is empty."""
    return passing(store, lambda batches: [(first, np.empty((1, 0), np.float32) if len(rows) == 1 else rows)
                                           for first, rows in batches])


@fault("store", ["FIELD-58"])
def another_format(store):
    """The last file was written in float64."""
    return passing(store, lambda batches: [*batches[:-1], (batches[-1][0], batches[-1][1].astype(np.float64))])


@fault("store", ["FIELD-59"], source="ROCm/FastFlowLM#661")
def one_vector_for_all(store):
    """Every text got the same vector."""
    def change(vectors):
        vectors[:] = vectors[0]
    return changed(store, change)


@fault("store", ["FIELD-60"], source="milvus-io/milvus#3910")
def cut_at_the_largest_number(store):
    """One number was too large for its format and was cut to the largest one."""
    def change(vectors):
        vectors[3, 5] = np.finfo(np.float32).max
    return changed(store, change)


@fault("store", ["FIELD-60"])
def cut_in_float16(store):
    """Vectors are stored in float16, without scaling, and numbers beyond 65,504 were cut there."""
    def change(vectors):
        vectors[9, 4] = 1e6
        return np.clip(vectors, -65504, 65504).astype(np.float16)
    return changed(store, change)


@fault("store", ["FIELD-61"], source="embeddings-benchmark/results#656")
def went_through_float16(store):
    """The model was loaded in float16 by default, and its vectors were written as float32."""
    return changed(store, lambda vectors: vectors.astype(np.float16).astype(np.float32))


@fault("store", ["FIELD-61"])
def went_through_bfloat16(store):
    """The lower half of every number is cut off."""
    return changed(store, lambda vectors: (vectors.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32))


@fault("store", ["FIELD-62"], source="pvliesdonk/markdown-vault-mcp#734")
def texts_of_an_earlier_run(store):
    """The texts are those of an earlier run, which had ten more."""
    return altered(store, texts=lambda: [*store.texts(), *(f"more {number}" for number in range(10))])


@fault("store", ["FIELD-62"], source="HKUDS/LightRAG#3997")
def one_vector_too_few(store):
    """The last text has no vector."""
    return ArrayStore(store.vectors[:-1], store.texts())


@fault("store", ["FIELD-63"])
def rows_from_one(store):
    """Rows are counted from one when they are asked for."""
    return altered(store, rows=lambda numbers: store.rows((numbers + 1) % store.count))


@fault("store", ["FIELD-63"], source="facebookresearch/faiss#642")
def numbers_within_a_file(store):
    """Behind the first file rows are looked up by their number within their file."""
    return altered(store, rows=lambda numbers: store.rows(np.where(numbers >= 701, numbers - 701, numbers)))


@fault("store", ["FIELD-63"])
def rows_sorted(store):
    """Rows come back in ascending order, whatever the order in which they were asked for."""
    return altered(store, rows=lambda numbers: store.rows(np.sort(numbers)))


@fault("store", ["FIELD-64"])
def a_batch_lost(store):
    """The third batch is left out, and the numbers of the others are as they were."""
    return passing(store, lambda batches: [batch for batch in batches if batch[0] != 701])


@fault("store", ["FIELD-64"])
def batches_overlap(store):
    """Every batch begins with the last row of the one before it."""
    return passing(store, lambda batches: [batches[0], *((first - 1, np.concatenate([before[-1:], rows]))
                                                         for (_, before), (first, rows) in pairwise(batches))])


@fault("store", ["FIELD-64"])
def files_by_name(store):
    """Files are read in the order of their names, in which 10 stands before 9."""
    return passing(store, lambda batches: [batches[0], batches[1], batches[3], batches[2]])


class ManyBatches(ArrayStore):
    def batches(self):
        for start in range(0, len(self.vectors), 37):
            yield start, self.vectors[start:start + 37]


@sound("store")
def small_batches(store):
    """Thirty-seven rows a batch."""
    return ManyBatches(store.vectors, store.texts())


@sound("store")
def in_fortran_order(store):
    """Columns lie together in memory."""
    return ArrayStore(np.asfortranarray(store.vectors), store.texts())


@sound("store")
def the_other_byte_order(store):
    """Numbers are stored with their bytes in the other order."""
    swapped = ArrayStore(store.vectors.astype(store.vectors.dtype.newbyteorder()), store.texts())
    return altered(swapped, rows=store.rows)


@sound("store")
def many_equal_rows(store):
    """Half of the vectors stand there twice, as do texts that occur twice."""
    def change(vectors):
        vectors[1250:] = vectors[:1250]
    return changed(store, change)


@sound("store", declares={"precision": "float16"})
def normalised_then_float16(store):
    """Vectors were scaled to length one, then stored in float16, and that is declared."""
    return changed(store, lambda vectors: vectors.astype(np.float16))


@sound("store", declares={"precision": "int8"})
def dequantised(store):
    """Vectors are what is left of whole numbers of 8 bits and a scale for each row, and that is declared."""
    def change(vectors):
        scale = np.abs(vectors).max(axis=1, keepdims=True) / 127
        return np.round(vectors / scale) * scale
    return changed(store, change)


@sound("store", declares={"metric": "dot", "normalized": False})
def a_zero_row_by_dot(store):
    """One vector is zero, which is in order where inner products are taken and lengths are free."""
    def change(vectors):
        vectors[12] = 0
    return changed(store, change)
