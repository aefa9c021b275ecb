"""Tables, ids and targets for a tied model of any size."""

import numpy as np

from ...data import designed_ids, generator


def table_of_size_one(model, seed):
    """A table like the model's own, whose numbers are about one, so that slopes are neither tiny nor huge."""
    own = model.table()
    return generator(seed, "tied table").standard_normal(own.shape).astype(own.dtype)


def places(rows):
    """Ids [2, 4] with repeats and the last row, and targets that are others; both leave rows unread and unwanted."""
    ids = designed_ids(rows)
    targets = np.array([rows - 1, 3, 1, 9, 5, 0, rows - 2, 3]) % rows
    return ids.reshape(2, 4), targets.reshape(2, 4)


def unread(rows, *used):
    """The first row that none of the arrays of ids names."""
    return int(np.setdiff1d(np.arange(rows), np.concatenate([ids.reshape(-1) for ids in used]))[0])
