"""Shapes of the table, and of what a lookup returns."""

import numpy as np
import pytest

from ... import bounds
from ...data import TABLE_SIZES, numbered_table, texts


@pytest.mark.claim("SHAPE-01")
def test_thirty_tokens_of_eight_numbers(layer_maker, evidence):
    """A fresh layer for the documents' small vocabulary: 30 rows, 8 columns, 240 numbers."""
    table = layer_maker.make_layer(30, 8).table()
    evidence.equal([*table.shape, table.size], [30, 8, 240])


@pytest.mark.claim("SHAPE-02")
def test_three_ids_give_three_rows(layer, evidence):
    """The documents' three ids: one row of the table's width for each."""
    for made in layer.over(((30, 8),)):
        ids = np.array(texts()["order"]["ids"]) % made.shape[0]
        evidence.equal(list(made.lookup(ids).shape), [3, made.table().shape[1]])


@pytest.mark.claim("SHAPE-03")
@pytest.mark.parametrize(("rows", "width"), TABLE_SIZES)
def test_a_given_table_keeps_its_rows_and_columns(layer, evidence, rows, width):
    """Layers around tables of many sizes."""
    evidence.equal(list(layer.with_table(numbered_table(rows, width)).table().shape), [rows, width])


@pytest.mark.claim("SHAPE-03")
@pytest.mark.parametrize(("rows", "width"), [*TABLE_SIZES, (8, 30), (512, 512)])
def test_a_fresh_table_has_a_row_a_token_and_a_column_a_dimension(layer_maker, evidence, rows, width):
    """Fresh layers of many sizes, wider than long among them."""
    evidence.equal(list(layer_maker.make_layer(rows, width).table().shape), [rows, width])


@pytest.mark.claim("SHAPE-04")
def test_ten_thousand_tokens_of_five_hundred_and_twelve_numbers(layer_maker, evidence):
    """A fresh layer for the documents' larger vocabulary: 5,120,000 numbers."""
    table = layer_maker.make_layer(10_000, 512).table()
    evidence.equal([*table.shape, table.size], [10_000, 512, 5_120_000])


@pytest.mark.claim("SHAPE-05")
def test_a_sentence_of_four_tokens(layer, evidence):
    """Ids [1, 4] give rows [1, 4, 512] on a table of that width."""
    for made in layer.over(((130, 512),)):
        ids = np.array(texts()["batch"]) % made.shape[0]
        evidence.equal(list(ids.shape), [1, 4])
        evidence.equal(list(made.lookup(ids).shape), [1, 4, made.table().shape[1]])


@pytest.mark.claim("SHAPE-06")
@pytest.mark.parametrize("shape", [(), (1,), (4,), (2, 3), (2, 8), (1, 1, 1), (2, 3, 5)], ids=str)
def test_the_width_is_appended_to_the_shape_of_the_ids(layer, evidence, shape):
    """Ids of no to three dimensions: floating-point vectors in the table's format, and each where its id stands."""
    for made in layer.over(((30, 8), (5, 1), (3, 4))):
        ids = np.array(np.arange(int(np.prod(shape))).reshape(shape) * 7 % made.shape[0])
        rows = made.lookup(ids)
        evidence.equal(list(rows.shape), [*shape, made.table().shape[1]])
        evidence.equal(str(rows.dtype), str(made.table().dtype))
        evidence.equal(str(rows.dtype) in bounds.UNIT_ROUNDOFF, True)
        last = tuple(size - 1 for size in shape)
        evidence.equal(rows[last], made.table()[ids[last]])


@pytest.mark.claim("SHAPE-08")
def test_the_seeded_example(layer, evidence):
    """Two sequences of four ids on a table [6, 3] give [2, 4, 3], which is 24 numbers."""
    for made in layer.over(((6, 3),)):
        width = made.table().shape[1]
        ids = np.array(texts()["seeded"]["ids"])
        rows = made.lookup(ids)
        evidence.equal([*ids.shape, *rows.shape, rows.size], [2, 4, 2, 4, width, 8 * width])
