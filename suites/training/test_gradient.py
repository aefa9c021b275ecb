"""The gradient of a table: what each row receives."""

import numpy as np
import pytest

from ... import bounds
from ...data import TABLE_SIZES, designed_ids, generated_ids, generator
from . import oracle
from .inputs import LONG, audit, generated_gradient, padded_batches, padded_layers, powers

EXACT = bounds.Bound(0.0, "exact: sums of distinct powers of two below 2^8, which every format holds")


def rows_with_gradient(gradient):
    """The rows that are not all zero, as a list."""
    return np.flatnonzero((gradient != 0).any(axis=1)).tolist()


@pytest.mark.claim("GRAD-02")
def test_repeated_ids_accumulate(layer, evidence):
    """Ids that are repeated apart and in unequal counts; every sum of powers of two says which places are in it."""
    for made in layer.over():
        rows, width = made.shape
        ids = designed_ids(rows)
        output_gradient = powers(ids, width)
        used, sums, _, _ = oracle.row_sums(ids, output_gradient, made.padding_id)
        evidence.close(made.gradient(ids, output_gradient)[used], sums, EXACT)


@pytest.mark.claim("GRAD-02")
@pytest.mark.parametrize("length", LONG)
def test_many_repetitions_accumulate(layer, evidence, seed, length):
    """Batches on either side of 768 and 3072 ids, a third of them the same one, with generated output gradients."""
    for made in layer.over(((30, 8), (6, 3), (1, 5))):
        rows, width = made.shape
        drawn = generator(seed, f"ids {length}").integers(0, min(rows, 40), size=length)
        ids = np.where(np.arange(length) % 3, rows - 1 - drawn, rows // 2)
        output_gradient = generated_gradient(ids, width, seed)
        used, sums, sizes, counts = oracle.row_sums(ids, output_gradient, made.padding_id)
        bound = bounds.accumulated(counts, made.precision, sizes, sums)
        evidence.close(made.gradient(ids, output_gradient)[used], sums, bound)


@pytest.mark.claim("GRAD-02")
def test_small_terms_are_not_lost(layer, evidence):
    """One id, 32 and 300 times: a large term, then small ones, each of which half formats would lose on its own."""
    for made in layer.over(((6, 3), (769, 16))):
        rows, width = made.shape
        i = 0 if made.padding_id == rows - 1 else rows - 1
        for length, small in ((32, 2.0**-8), (32, 2.0**-11), (300, 2.0**-8), (300, 2.0**-11)):
            ids = np.full(length, i)
            output_gradient = np.full((length, width), small, np.float32)
            output_gradient[0] = 1
            exact = np.full(width, 1 + (length - 1) * small)
            bound = bounds.accumulated(length, made.precision, exact, exact)
            evidence.close(made.gradient(ids, output_gradient)[i], exact, bound)


@pytest.mark.claim("GRAD-02")
def test_a_row_used_three_times_gets_three_gradients(training_step, evidence):
    """Id 2 of the audit: three times what each of its places gets; ids 1, 3 and 4 once."""
    step = audit()
    parts = training_step.mse_step(step["table"], step["ids"], 0.5, learning_rate=0.25, padding_id=0)
    for i, count in ((1, 1), (2, 3), (3, 1), (4, 1)):
        single = parts["output_gradient"][step["ids"] == i][0].astype(np.float64)
        bound = bounds.sum(count, parts["table_gradient"], scale=count * np.abs(single))
        evidence.close(parts["table_gradient"][i], count * single, bound)


@pytest.mark.claim("GRAD-05")
def test_only_the_rows_of_the_batch_have_a_gradient(layer, evidence, seed):
    """Designed and generated ids: the rows with a gradient are the ids that occur, all others have exactly none."""
    for made in layer.over():
        rows, width = made.shape
        for ids in (designed_ids(rows), generated_ids(rows, seed)[:, :3]):
            # Occurrences have sums that cannot cancel: their signs are those of the columns.
            found = rows_with_gradient(made.gradient(ids, powers(ids, width)))
            evidence.equal(found, sorted(set(ids.ravel().tolist()) - {made.padding_id}))


@pytest.mark.claim("GRAD-05")
def test_each_row_alone_has_a_gradient(layer, evidence):
    """A batch of one id: the first, a middle and the last row of every table, but padding."""
    for made in layer.over():
        rows, width = made.shape
        for i in sorted({0, rows // 2, rows - 1} - {made.padding_id}):
            evidence.equal(rows_with_gradient(made.gradient(np.array([i]), powers(np.array([i]), width))), [i])


@pytest.mark.claim("GRAD-05")
def test_rows_outside_the_audit_have_no_gradient(training_step, evidence):
    """Rows 1 to 4 have a gradient; row 5 is absent, row 0 is padding."""
    step = audit()
    parts = training_step.mse_step(step["table"], step["ids"], 0.5, learning_rate=0.25, padding_id=0)
    evidence.equal(rows_with_gradient(parts["table_gradient"]), [1, 2, 3, 4])


@pytest.mark.claim("GRAD-07")
def test_a_gradient_is_not_added_to_an_older_one(layer, evidence):
    """The same gradient twice, and after that of another batch."""
    for made in layer.over(((30, 8), (6, 3))):
        rows, width = made.shape
        ids, others = designed_ids(rows), np.array([rows - 1, 0])
        first = made.gradient(ids, powers(ids, width)).copy()
        made.gradient(others, powers(others, width))
        evidence.equal(made.gradient(ids, powers(ids, width)), first)


@pytest.mark.claim("PAD-03")
@pytest.mark.parametrize("place", ["in front", "in the middle", "at the end", "padding alone"])
def test_the_padding_row_gets_no_gradient(layer, evidence, seed, place):
    """Padding at various places of a batch, at various ids, over a row that is not zero; other rows get all of theirs."""
    for made, padding_id in padded_layers(layer, seed):
        ids = padded_batches(made.shape[0], padding_id)[place]
        output_gradient = powers(ids, made.shape[1])
        gradient = made.gradient(ids, output_gradient)
        evidence.close(gradient[padding_id], np.zeros(made.shape[1]), oracle.ZERO)
        used, sums, _, _ = oracle.row_sums(ids, output_gradient, padding_id)
        if used.size:
            evidence.close(gradient[used], sums, EXACT)


@pytest.mark.claim("PAD-03")
@pytest.mark.parametrize("length", LONG)
def test_the_padding_row_gets_no_gradient_in_long_batches(layer, evidence, seed, length):
    """Batches on either side of 768 and 3072 ids, half of them padding, and padding alone."""
    for made, padding_id in padded_layers(layer, seed, TABLE_SIZES[:2]):
        rows, width = made.shape
        ids = generator(seed, f"padded {length}").integers(0, rows, size=length)
        ids[::2] = padding_id
        for batch in (ids, np.full(length, padding_id)):
            gradient = made.gradient(batch, powers(batch, width))
            evidence.close(gradient[padding_id], np.zeros(width), oracle.ZERO)


@pytest.mark.claim("PAD-03")
def test_the_padding_row_of_the_audit_gets_no_gradient(training_step, evidence):
    """Row 0 has no gradient though the output has one at both of its places."""
    step = audit()
    parts = training_step.mse_step(step["table"], step["ids"], 0.5, learning_rate=0.25, padding_id=0)
    at_padding = parts["output_gradient"][step["ids"] == 0]
    evidence.differs(at_padding, np.zeros_like(at_padding), 1 / 48, "half of 2 * 0.5 / 24")
    evidence.close(parts["table_gradient"][0], np.zeros(3), oracle.ZERO)


@pytest.mark.claim("PAD-06")
def test_without_a_padding_id_every_row_gets_its_gradient(layer, evidence):
    """Id 0 alone, between others and repeated, and the last id, in layers that were made without a padding id."""
    for rows, width in TABLE_SIZES:
        made = layer.with_table(np.ones((rows, width), np.float32))
        for ids in (np.array([0]), np.array([0, rows - 1, 0]), np.array([rows - 1])):
            output_gradient = powers(ids, width)
            used, sums, _, _ = oracle.row_sums(ids, output_gradient)
            evidence.close(made.gradient(ids, output_gradient)[used], sums, EXACT)
