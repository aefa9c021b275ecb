"""Faulty and sound one-hot codes, lookups that are products gone wrong, and vectors that are not dense."""

import copy

import numpy as np

from ...proof import altered, fault, sound
from ...subjects.numpy_layer import NumpyLayer

# --- codes -------------------------------------------------------------------------------------------------------------


@fault("encodings", ["ONEHOT-01", "ONEHOT-09"])
def one_place_further(encodings):
    """The one stands a place too far, around the end."""
    return altered(encodings, one_hot=lambda ids, rows: encodings.one_hot((ids + 1) % rows, rows))


@fault("encodings", ["ONEHOT-01", "ONEHOT-03", "ONEHOT-04", "ONEHOT-09"])
def minus_one_for_zero(encodings):
    """The other places hold minus one instead of zero."""
    return altered(encodings, one_hot=lambda ids, rows: 2 * encodings.one_hot(ids, rows) - 1)


@fault("encodings", ["ONEHOT-01", "ONEHOT-03", "ONEHOT-04", "ONEHOT-05", "ONEHOT-06"])
def two_ones(encodings):
    """The next place holds a one as well."""
    return altered(encodings, one_hot=lambda ids, rows: np.maximum(encodings.one_hot(ids, rows),
                                                                   encodings.one_hot((ids + 1) % rows, rows)))


@fault("encodings", ["ONEHOT-01", "ONEHOT-03", "ONEHOT-04"])
def smoothed(encodings):
    """A tenth of the one is spread over all places, as training labels are smoothed."""
    return altered(encodings, one_hot=lambda ids, rows: 0.9 * encodings.one_hot(ids, rows) + 0.1 / rows)


@fault("encodings", ["ONEHOT-01", "ONEHOT-05", "ONEHOT-06"])
def word_number_for_one(encodings):
    """Word k has k+1 in the place of the one."""
    return altered(encodings, one_hot=lambda ids, rows: encodings.one_hot(ids, rows) * (ids[..., None] + 1))


@fault("encodings", ["ONEHOT-03", "ONEHOT-04", "ONEHOT-05", "ONEHOT-06"])
def dense_codes(encodings):
    """Each word has random numbers as its code."""
    def one_hot(ids, rows):
        codes = [np.random.default_rng(int(i)).standard_normal(rows) for i in ids.reshape(-1)]
        return np.reshape(codes, (*ids.shape, rows))
    return altered(encodings, one_hot=one_hot)


@fault("encodings", ["ONEHOT-05", "ONEHOT-06"])
def hand_made_vectors(encodings):
    """The first words have dense vectors with a meaning, filled up with zeros."""
    features = np.array([[0.9, 0.8, 0.1], [0.9, 0.7, 0.0], [0.6, 0.2, 0.9], [0.0, 0.1, 0.0]])

    def one_hot(ids, rows):
        codes = encodings.one_hot(ids, rows).astype(np.float64)
        codes[ids < 4, :3] = features[ids[ids < 4], :rows]
        return codes
    return altered(encodings, one_hot=one_hot)


@fault("encodings", ["ONEHOT-02", "ONEHOT-12", "DENSE-02"])
def hashed_into_buckets(encodings):
    """Words share 32,768 places: a larger vocabulary gets no longer codes."""
    def one_hot(ids, rows):
        places = min(rows, 2**15)
        return encodings.one_hot(ids % places, places)
    return altered(encodings, one_hot=one_hot)


@fault("encodings", ["ONEHOT-02", "ONEHOT-12", "DENSE-02"])
def binary_number(encodings):
    """A code is the id as a binary number, sixteen places for fifty thousand words."""
    def one_hot(ids, rows):
        return ids[..., None] >> np.arange(max(1, (rows - 1).bit_length())) & 1
    return altered(encodings, one_hot=one_hot)


@fault("encodings", ["ONEHOT-02", "ONEHOT-09"])
def width_of_the_largest_id(encodings):
    """A code is as long as the largest id of the batch asks for."""
    return altered(encodings, one_hot=lambda ids, rows: encodings.one_hot(ids, int(ids.max()) + 1))


@fault("encodings", ["ONEHOT-12"])
def place_and_value(encodings):
    """Stored are the place of the one and its value, which costs the same for every vocabulary."""
    return altered(encodings, one_hot=lambda ids, rows: np.stack([ids, np.ones_like(ids)], axis=-1))


@fault("encodings", ["ONEHOT-12"])
def one_byte_when_wide(encodings):
    """Long codes are stored in one byte a place, short ones in eight."""
    return altered(encodings, one_hot=lambda ids, rows: encodings.one_hot(ids, rows).astype("i1" if rows > 99 else "i8"))


@sound("encodings")
def codes_by_comparison(encodings):
    """Truth values: every id compared with every row number."""
    return altered(encodings, one_hot=lambda ids, rows: ids[..., None] == np.arange(rows))


@sound("encodings")
def codes_in_float32(encodings):
    """Floating-point codes, in Fortran order."""
    return altered(encodings, one_hot=lambda ids, rows: encodings.one_hot(ids, rows).astype(np.float32, order="F"))


# --- lookups as products -----------------------------------------------------------------------------------------------


@fault("layer", ["ONEHOT-07", "ONEHOT-08"])
def soft_selection(layer):
    """The codes pass through a softmax before the product, so that every row is mixed in."""
    def lookup(ids):
        layer.lookup(ids)  # what is refused stays refused
        shares = np.exp(np.asarray(ids)[..., None] == np.arange(len(layer.table())))
        return (shares / shares.sum(axis=-1, keepdims=True)) @ layer.table()
    return altered(layer, lookup=lookup)


@fault("layer", ["ONEHOT-07", "ONEHOT-08"])
def square_table_transposed(layer):
    """The product takes a square table the wrong way round: columns for rows."""
    def lookup(ids):
        rows, width = layer.table().shape
        return layer.table().T[ids] if rows == width and rows > 1 else layer.lookup(ids)
    return altered(layer, lookup=lookup)


@fault("layer", ["ONEHOT-07", "ONEHOT-08"], size="subtle", source="google/jax#16349")
def product_in_half_precision(layer):
    """The product is taken in float16, as fast matrix units do unless told otherwise."""
    return altered(layer, lookup=lambda ids: layer.lookup(ids).astype(np.float16).astype(layer.table().dtype))


@fault("layer", ["ONEHOT-08"])
def one_update_behind(layer):
    """Lookups read the table as it was before the last update."""
    return altered(layer, lookup=lambda ids: layer.lookup(ids) + np.float32(0.25))


@fault("layer", ["ONEHOT-08"], source="pytorch/pytorch#53368")
def padding_forced_to_zero(layer):
    """Id 0 gives zeros, whatever its row holds."""
    def lookup(ids):
        rows = layer.lookup(ids)
        rows[np.asarray(ids) == 0] = 0
        return rows
    return altered(layer, lookup=lookup)


@fault("layer", ["ONEHOT-08"])
def padding_code_all_ones(layer):
    """The code of id 0 is all ones, so that it gives the sum of all rows."""
    def lookup(ids):
        rows = layer.lookup(ids)
        rows[np.asarray(ids) == 0] = layer.table().sum(axis=0)
        return rows
    return altered(layer, lookup=lookup)


def swapping_forward(module, forward):
    """The facet `module` around a copy of its nn.Embedding with another forward pass (embedding, ids)."""
    embedding = copy.deepcopy(module.module())

    def checked(ids):
        type(embedding).forward(embedding, ids[:0] if hasattr(ids, "dim") and ids.dim() else ids)  # refusals stay
        return forward(embedding, ids)
    object.__setattr__(embedding, "forward", checked)
    return altered(module, module=lambda: embedding)


@fault("module", ["ONEHOT-10"])
def product_with_codes(module):
    """The forward pass builds one-hot codes and multiplies them with the table."""
    import torch

    return swapping_forward(module, lambda embedding, ids: torch.nn.functional.one_hot(
        ids.long(), len(embedding.weight)).to(embedding.weight.dtype) @ embedding.weight)


@fault("module", ["ONEHOT-10"])
def masked_sum_over_rows(module):
    """The forward pass adds up all rows under a mask: no matrix product, but a mask as wide as the vocabulary."""
    import torch

    def forward(embedding, ids):
        mask = ids[..., None] == torch.arange(len(embedding.weight))
        return torch.where(mask[..., None], embedding.weight, torch.zeros(())).sum(dim=-2)
    return swapping_forward(module, forward)


@fault("module", ["ONEHOT-10"])
def whole_table_cast_first(module):
    """The whole table is brought into another format and back at every lookup, as some quantised layers do."""
    return swapping_forward(module, lambda embedding, ids: embedding.weight.double()[ids.long()].to(
        embedding.weight.dtype))


@fault("module", ["ONEHOT-11"])
def table_of_whole_numbers(module):
    """The table holds whole numbers, so that codes need no cast."""
    import torch

    embedding = copy.deepcopy(module.module())
    embedding.weight = torch.nn.Parameter(embedding.weight.detach().long(), requires_grad=False)
    return altered(module, module=lambda: embedding)


@sound("module")
def rows_by_index_select(module):
    """The forward pass selects rows of the flattened ids and restores the shape."""
    def forward(embedding, ids):
        return embedding.weight.index_select(0, ids.reshape(-1)).reshape(*ids.shape, embedding.weight.shape[1])
    return swapping_forward(module, forward)


# --- dense vectors -----------------------------------------------------------------------------------------------------


@fault("layer", ["DENSE-01"])
def sparse_rows(layer):
    """A vector holds a single number other than zero, as a one-hot code does."""
    def lookup(ids):
        rows = layer.lookup(ids)
        rows[..., 1:] = 0
        return rows
    return altered(layer, lookup=lookup)


@fault("layer", ["DENSE-01"], size="subtle")
def small_numbers_pruned(layer):
    """The smallest number of each row is set to zero."""
    def lookup(ids):
        rows = layer.lookup(ids)
        np.put_along_axis(rows, np.abs(rows).argmin(axis=-1, keepdims=True), 0, axis=-1)
        return rows
    return altered(layer, lookup=lookup)


@fault("layer", ["ONEHOT-12"])
def wide_numbers_for_large_tables(layer):
    """Rows of tables with more than a thousand rows come in float64."""
    return altered(layer, lookup=lambda ids: layer.lookup(ids).astype(np.float64) if len(layer.table()) > 1000
                   else layer.lookup(ids))


@fault("layer_maker", ["DENSE-01"])
def half_of_the_numbers_zero(maker):
    """Negative numbers of a fresh table are set to zero, as a ReLU does."""
    def make_layer(*args):
        return NumpyLayer(np.maximum(maker.make_layer(*args).table(), 0), args[2])
    return altered(maker, make_layer=make_layer)


@fault("layer_maker", ["DENSE-01"])
def one_hot_table(maker):
    """A fresh table is the identity matrix."""
    def make_layer(rows, width, padding_id, seed, dtype):
        return NumpyLayer(np.eye(rows, width, dtype=dtype), padding_id)
    return altered(maker, make_layer=make_layer)


def measured_after(similarity, change):
    """All three measures of vectors that are changed first."""
    return altered(similarity, dot=lambda a, b: similarity.dot(change(a), change(b)),
                   cosine=lambda a, b: similarity.cosine(change(a), change(b)),
                   distance=lambda a, b, kind: similarity.distance(change(a), change(b), kind))


@fault("similarity", ["DENSE-03"])
def first_number_counts_twice(similarity):
    """The first number of every vector counts twice, as if it had a meaning of its own."""
    return measured_after(similarity, lambda x: x * np.where(np.arange(len(x)) == 0, 2, 1).astype(x.dtype))


@fault("similarity", ["DENSE-03"])
def skewed_space(similarity):
    """Vectors first pass through a map that is no rotation."""
    return measured_after(similarity, lambda x: np.cumsum(x, dtype=x.dtype))


@fault("similarity", ["DENSE-03"], size="subtle")
def first_number_counts_slightly_more(similarity):
    """The first number of every vector counts more by 64 units in its last place."""
    return measured_after(similarity, lambda x: x * np.where(
        np.arange(len(x)) == 0, 1 + 64 * np.finfo(x.dtype).eps, 1).astype(x.dtype))
