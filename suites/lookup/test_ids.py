"""Which ids are taken and which are refused."""

import numpy as np
import pytest

from ...data import designed_ids


@pytest.mark.claim("LOOKUP-05")
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_whole_number_ids_are_taken(layer, evidence, dtype):
    """A vector of ids and a single id, in both widths."""
    ids = designed_ids(layer.shape[0]).astype(dtype)
    evidence.equal(layer.lookup(ids), layer.table()[ids])
    evidence.equal(layer.lookup(np.array(ids[0])), layer.table()[ids[0]])


@pytest.mark.claim("LOOKUP-05")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fractional_ids_are_refused(layer, evidence, dtype):
    """Floating-point ids, whole in value or not."""
    whole = designed_ids(layer.shape[0])
    evidence.refuses(lambda: layer.lookup(whole.astype(dtype)))
    evidence.refuses(lambda: layer.lookup(np.full(3, 0.5, dtype)))


@pytest.mark.claim("LOOKUP-06")
def test_a_lookup_leaves_the_table_as_it_was(layer, evidence):
    """The table before and after lookups of different ids."""
    for made in layer.over():
        before = made.table().copy()
        made.lookup(designed_ids(made.shape[0]))
        made.lookup(np.array([0]))
        evidence.equal(made.table(), before)


@pytest.mark.claim("LOOKUP-08")
@pytest.mark.parametrize("beyond", [-1, 0, 10], ids=["below", "at V", "above"])
def test_ids_outside_the_table_are_refused(layer, evidence, beyond):
    """One id too low, the first too high, and one far beyond, each beside a good one."""
    for made in layer.over(((30, 8), (1, 3))):
        outside = beyond if beyond < 0 else made.shape[0] + beyond
        evidence.refuses(lambda made=made, outside=outside: made.lookup(np.array([0, outside])))
        evidence.equal(made.lookup(np.array([made.shape[0] - 1])), made.table()[-1:])


@pytest.mark.claim("LOOKUP-11")
@pytest.mark.parametrize("text", ["cat", "猫"])
def test_text_is_refused(layer, evidence, text):
    """A word, alone and as an array of words."""
    evidence.refuses(lambda: layer.lookup(text))
    evidence.refuses(lambda: layer.lookup(np.array([text])))
