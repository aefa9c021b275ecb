"""A lookup reads rows of a table."""

import numpy as np
import pytest

from ...data import designed_ids, generated_ids, texts


@pytest.mark.claim("LOOKUP-01")
def test_each_id_gets_its_row(layer, evidence):
    """Designed ids on tables of many sizes: unsorted, repeated, first and last row included."""
    for made in layer.over():
        ids = designed_ids(made.shape[0])
        evidence.equal(made.lookup(ids), made.table()[ids], given=ids)


@pytest.mark.claim("LOOKUP-01")
def test_each_generated_id_gets_its_row(layer, evidence, seed):
    """Two-dimensional ids drawn from the run's seed."""
    for made in layer.over():
        ids = generated_ids(made.shape[0], seed)
        evidence.equal(made.lookup(ids), made.table()[ids], given=ids)


@pytest.mark.claim("LOOKUP-02")
@pytest.mark.parametrize("reorder", [np.sort, lambda ids: np.sort(ids)[::-1].copy(), lambda ids: np.roll(ids, 1)],
                         ids=["ascending", "descending", "rolled"])
def test_rows_come_in_the_order_of_the_ids(layer, evidence, reorder):
    """The document's three ids in three orders: one row an id, where the id stands."""
    for made in layer.over():
        ids = reorder(np.array(texts()["order"]["ids"]) % made.shape[0])
        evidence.equal(made.lookup(ids), np.stack([made.table()[i] for i in ids]), given=ids)


@pytest.mark.claim("LOOKUP-03")
def test_id_five_gets_row_five(layer, evidence):
    """Id 5 alone and at the head of the document's batch, on a table that has all ids of the batch where it can be made."""
    for made in layer.over(((130, 6),)):
        batch = np.array(texts()["batch"])
        row = 5 % made.shape[0]
        evidence.equal(made.lookup(np.array(5 % made.shape[0])), made.table()[row])
        evidence.equal(made.lookup(batch % made.shape[0])[0, 0], made.table()[row])


@pytest.mark.claim("SHAPE-17")
def test_one_id_gives_one_vector(layer, evidence):
    """The first, a middle and the last id alone: as many numbers as the table is wide, and no other dimension."""
    for made in layer.over():
        rows, width = made.shape
        for row in (0, rows // 2, rows - 1):
            evidence.equal(list(made.lookup(np.array(row)).shape), [width])


@pytest.mark.claim("LOOKUP-04")
def test_every_token_owns_its_row(layer, evidence):
    """All ids from 0 to V-1 give the whole table."""
    for made in layer.over():
        ids = np.arange(made.shape[0])
        evidence.equal(made.lookup(ids), made.table(), given=ids)


@pytest.mark.claim("LOOKUP-07")
def test_the_same_id_gives_the_same_vector_everywhere(layer, evidence):
    """Ids repeated within and across the two sequences of the seed-17 batch."""
    for made in layer.over():
        ids = np.array([[1, 2, 2, 0], [3, 2, 4, 0]]) % made.shape[0]
        vectors = made.lookup(ids)
        for place in np.argwhere(ids >= 0):
            first = np.argwhere(ids == ids[tuple(place)])[0]
            evidence.equal(vectors[tuple(place)], vectors[tuple(first)])


@pytest.mark.claim("LOOKUP-12")
def test_another_table_is_all_that_changes(layer, evidence):
    """Two layers with tables of one size: each gives the rows of the table that it was given."""
    table = np.linspace(-3, 3, 60, dtype=np.float32).reshape(12, 5)
    for given in (table, table[::-1].copy()):
        evidence.equal(layer.with_table(given).lookup(np.arange(12)), layer.held(given))


@pytest.mark.claim("LOOKUP-13")
def test_bits_are_preserved(layer, evidence):
    """Signed zero, infinities, NaN and the smallest number above zero; scaled whole numbers can be neither infinite nor NaN."""
    odd = [0.0, 0.0, 0.0] if layer.quantised else [np.inf, -np.inf, np.nan]
    special = np.array([[0.0, -0.0, 1.0], odd, [1e-45, -1e-45, 3.0]], dtype=np.float32)
    ids = np.array([2, 0, 1, 0])
    made = layer.with_table(special)
    evidence.equal(made.lookup(ids), made.table()[ids], given=ids, finite=False)
    # Which bits stand for NaN may change when a table is converted; what is NaN may not.
    stored, held = (np.where(np.isnan(table), table.dtype.type(0), table) for table in (made.table(), layer.held(special)))
    evidence.equal(np.isnan(made.table()), np.isnan(special))
    evidence.equal(stored, held, finite=False)
