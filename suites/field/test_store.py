"""Stored vectors. All of these read what one pass over the store found."""

import pytest


@pytest.mark.claim("FIELD-55")
def test_every_number_is_finite(store, evidence):
    """All rows; NaN and infinities count, in whatever place."""
    found = store.summary()
    evidence.no_rows(found.not_finite, found.count, "finite numbers")


@pytest.mark.claim("FIELD-56")
@pytest.mark.metric("cosine")
def test_no_row_is_zero(store, evidence):
    """All rows."""
    found = store.summary()
    evidence.no_rows(found.zero, found.count, "a number that is not zero")


@pytest.mark.claim("FIELD-57")
def test_every_stored_row_has_length_one(store, evidence):
    """The row whose length is farthest from one."""
    found = store.summary()
    deviation, row = found.deviation
    evidence.at_most(deviation, found.unit_bound(), f"row {row}; {found.not_unit.count} rows exceed the bound",
                     found.not_unit.ranges)
    evidence.no_rows(found.not_unit, found.count, "length one")


@pytest.mark.claim("FIELD-58")
def test_all_rows_have_one_form(store, evidence):
    """All rows against the first: how many numbers, in which format; a missing row has none."""
    found = store.summary()
    width, form = found.form or (0, "nothing")
    evidence.no_rows(found.other_form, found.count, f"{width} numbers in {form}, as the first")


@pytest.mark.claim("FIELD-59")
def test_rows_are_not_all_alike(store, evidence):
    """All rows against the first."""
    found = store.summary()
    evidence.equal(found.count < 2 or not found.all_alike, True)


@pytest.mark.claim("FIELD-60")
def test_no_number_is_at_the_end_of_its_format(store, evidence):
    """All rows; what was larger than the format allows was cut there."""
    found = store.summary()
    evidence.no_rows(found.saturated, found.count, "numbers below the largest of their format")


@pytest.mark.claim("FIELD-61")
def test_digits_are_those_of_the_declared_format(store, evidence):
    """The bits that are zero in every number that went through float16 or bfloat16: some number has others."""
    found = store.summary()
    width, _ = found.form or (0, "")
    few = found.count * width < 100
    evidence.equal(" and ".join(sorted(found.coarse)) if found.coarse and not few else "neither", "neither")


@pytest.mark.claim("FIELD-62")
def test_a_vector_for_each_text(store, evidence):
    """The number of rows and the number of texts."""
    evidence.equal(store.summary().count, store.text_count())


@pytest.mark.claim("FIELD-63")
def test_a_row_is_found_by_its_number(store, evidence):
    """First, middle and last rows of the first batches and the very last row, in no order, one of them twice."""
    numbers, rows = store.summary().sampled()
    evidence.equal(store.rows(numbers), rows, given=numbers, finite=False)


@pytest.mark.claim("FIELD-64")
def test_batches_join(store, evidence):
    """Where each batch says that it begins, and how many rows there were in the end."""
    found = store.summary()
    at, begins = found.gap or (found.count, found.count)
    evidence.equal(begins, at)
    evidence.equal(found.count, found.count if found.total is None else found.total)
