"""Layers: what a caller of a lookup relies on."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest

from ...data import designed_ids, generated_ids, generator, numbered_table
from . import layer_oracle as oracle

#: the widths of ids that every layer takes
DTYPES = ("int32", "int64")


@pytest.mark.claim("FIELD-30")
def test_ids_stay_as_they_were(layer, evidence):
    """Designed ids in both widths, the array that the layer was given, after the lookup."""
    for made in layer.over():
        for dtype in DTYPES:
            ids = designed_ids(made.shape[0]).astype(dtype)
            made.lookup(ids)
            evidence.equal(made.given[0], ids)


@pytest.mark.claim("FIELD-31")
@pytest.mark.parametrize("shape", [(), (1,), (2, 4)], ids=str)
def test_writing_into_an_answer_leaves_the_table(layer, evidence, shape):
    """All numbers of an answer are overwritten where it can be written to; a single id, one in a list, a table of ids."""
    for made in layer.over(((30, 8), (1, 5))):
        ids = np.array(np.resize(designed_ids(made.shape[0]), shape))
        before, answer = made.table().copy(), made.lookup(ids, as_returned=True)
        right = answer.copy()
        try:
            if answer.flags.writeable:
                answer[...] = -7
            evidence.equal(made.table(), before)
        finally:
            if answer.flags.writeable:
                answer[...] = right


@pytest.mark.claim("FIELD-32")
def test_the_same_ids_give_the_same_again(layer, evidence, seed):
    """Three times the same ids, with others asked for in between."""
    for made in layer.over():
        ids, others = designed_ids(made.shape[0]), generated_ids(made.shape[0], seed)
        expected = made.table()[ids]
        for _ in range(3):
            evidence.equal(made.lookup(ids), expected, given=ids)
            made.lookup(others)


@pytest.mark.claim("FIELD-32")
def test_an_answer_stays_when_others_follow(layer, evidence):
    """Answers for ids in five orders are kept, and looked at when all were given."""
    for made in layer.over():
        orders = [np.roll(designed_ids(made.shape[0]), shift) for shift in range(5)]
        answers = [made.lookup(ids, as_returned=True) for ids in orders]
        for ids, answer in zip(orders, answers, strict=True):
            evidence.equal(answer, made.table()[ids], given=ids)


@pytest.mark.claim("FIELD-33")
def test_threads_do_not_mix(layer, evidence, seed):
    """Four threads, forty lookups each of other ids in one shape."""
    for made in layer.over(((769, 16),)):
        table = made.table()
        asked = [np.roll(generated_ids(made.shape[0], seed), turn, axis=1) for turn in range(160)]
        with ThreadPoolExecutor(4) as threads:
            answers = list(threads.map(made.lookup, asked))
        evidence.equal(np.stack(answers), table[np.stack(asked)])


@pytest.mark.claim("FIELD-34")
@pytest.mark.parametrize(("rows", "width"), [(30, 8), (30, 5), (31, 8)])
def test_two_layers_do_not_mix(layer, evidence, rows, width):
    """Layers of one size, of two widths and of two numbers of rows are asked in turns for the same ids."""
    one, two = layer.with_table(numbered_table(30, 8)), layer.with_table(-numbered_table(rows, width) - 3)
    ids = designed_ids(30)
    for _ in range(2):
        for made in (one, two):
            evidence.equal(made.lookup(ids), made.table()[ids], given=ids)


@pytest.mark.claim("FIELD-35")
def test_no_ids_give_no_vectors(layer, evidence):
    """Empty ids of one to three dimensions, in both widths, each followed by a lookup of one."""
    for made in layer.over(((30, 8), (1, 1))):
        first = made.table()[:1]
        for dtype, shape in product(DTYPES, [(0,), (2, 0), (0, 3), (2, 0, 3)]):
            evidence.equal(list(made.lookup(np.zeros(shape, dtype)).shape), [*shape, made.shape[1]])
            evidence.equal(made.lookup(np.zeros(1, dtype)), first)


@pytest.mark.claim("FIELD-36")
def test_ids_in_any_layout(layer, evidence, seed):
    """The same ids by columns, with gaps, as part of a larger array, and read-only, in both widths."""
    for made in layer.over():
        ids = generated_ids(made.shape[0], seed)
        rows = made.table()[ids]
        for dtype, layout in product(DTYPES, oracle.LAYOUTS.values()):
            evidence.equal(made.lookup(layout(ids.astype(dtype)), as_laid_out=True), rows, given=ids)


@pytest.mark.claim("FIELD-37")
@pytest.mark.parametrize("shape", [(70_001,), (7, 10_001)], ids=str)
def test_many_ids_at_once(layer, evidence, shape):
    """70,001 ids and a few more, in two shapes: the first and the last places, those around powers of two, every eleventh."""
    for made in layer.over(((30, 8),)):
        ids = oracle.many_ids(made.shape[0], int(np.prod(shape)))
        found = made.lookup(ids.reshape(shape)).reshape(len(ids), -1)
        places = oracle.places_of(len(ids))
        evidence.equal(found[places], made.table()[ids[places]], given=ids[places])


@pytest.mark.claim("FIELD-37")
def test_rows_far_down(layer, evidence):
    """A table of 70,001 rows, each with numbers of its own: rows on either side of 32,768 and 65,536, and the last."""
    for made in layer.over(((70_001, 3),)):
        rows = made.shape[0]
        ids = np.array([rows - 1, 65_537, 0, 32_767, 65_535, 32_768, 1, 65_536, rows - 1]) % rows
        evidence.equal(made.lookup(ids), made.table()[ids], given=ids)
        evidence.equal(made.lookup(np.array(rows - 1)), made.table()[rows - 1])


@pytest.mark.claim("FIELD-38")
def test_the_gradient_of_many_ids(layer, evidence):
    """Gradients of plus and minus one; every sum, in whatever order, is a whole number that all formats hold.

    A wide layer that is taken as it is gets as many ids as make a gradient of two million numbers.
    """
    for made in layer.over(((300, 4),)):
        rows, width = made.shape
        ids = oracle.many_ids(rows, min(70_001, 234 * rows, 2_000_000 // width))
        ids = np.where(ids == made.padding_id, (ids + 1) % rows, ids)
        signs = oracle.signs(len(ids), width)
        evidence.equal(made.gradient(ids, signs).astype(np.float64), oracle.sums(ids, signs, rows))


@pytest.mark.claim("FIELD-86")
def test_the_same_gradient_bit_for_bit(layer, evidence, seed):
    """Six times the gradient of 300 ids, a third of them the same one, with output gradients that no order adds up exactly."""
    for made in layer.over(((30, 8), (6, 3))):
        rows, width = made.shape
        ids = oracle.many_ids(rows, 300)
        ids[::3] = rows - 1
        output_gradient = generator(seed, "output gradient").standard_normal((len(ids), width)).astype(np.float32)
        first = made.gradient(ids, output_gradient)
        for _ in range(5):
            evidence.equal(made.gradient(ids, output_gradient), first)


@pytest.mark.claim("FIELD-91")
def test_a_lookup_follows_training(layer, evidence):
    """Two steps on the designed ids, after each of which all of them and the whole table are looked up."""
    for made in layer.over(((30, 8), (6, 3))):
        rows, width = made.shape
        ids = designed_ids(rows)
        for _ in range(2):
            table = made.step(ids, np.ones((len(ids), width), np.float32), 0.5)
            evidence.equal(made.lookup(ids), table[ids], given=ids)
            evidence.equal(made.lookup(np.arange(rows)), table)


@pytest.mark.claim("FIELD-39")
def test_ids_below_zero(layer, evidence):
    """-1, as many below as there are rows, one and many more, each beside a good id."""
    word = layer.subject.declares["out_of_range_below"].value
    for made in layer.over(((30, 8), (1, 3))):
        rows = made.shape[0]
        for outside in (-1, -rows, -rows - 1, -1000 * rows, -2**31 - 1, -2**32):
            judge(evidence, made, outside, oracle.below(word, outside, rows))


@pytest.mark.claim("FIELD-40")
def test_ids_above_the_last(layer, evidence):
    """As many as there are rows, ten more, and numbers that 32 bits do not hold, each beside a good id."""
    word = layer.subject.declares["out_of_range_above"].value
    for made in layer.over(((30, 8), (1, 3))):
        rows = made.shape[0]
        for outside in (rows, rows + 10, 2**31 - 1, 2**31, 2**32, 2**32 + 1):
            judge(evidence, made, outside, oracle.above(word, outside, rows))


def judge(evidence, made, outside, expected):
    """A lookup of a good id and one outside: what the second gets, and that the first gets its row."""
    ids = np.array([0, outside])
    if expected == "refused":
        evidence.refuses(lambda: made.lookup(ids))
        evidence.equal(made.lookup(np.array([0])), made.table()[:1])
        return
    table = made.table()
    wanted = np.full_like(table[0], 0 if expected == "zero" else np.nan) if isinstance(expected, str) else table[expected]
    found = made.lookup(ids, finite=expected != "nan")
    evidence.equal(found[0], table[0])
    if expected == "nan":
        evidence.equal(np.isnan(found[1]), np.isnan(wanted))
    else:
        evidence.equal(found[1], wanted)


@pytest.mark.claim("FIELD-41")
def test_the_gradient_goes_where_the_lookup_read(layer, evidence):
    """Good ids with one below zero, and with one above the last; one for every id."""
    words = {side: layer.subject.declares[f"out_of_range_{side}"].value for side in ("below", "above")}
    for made in layer.over(((30, 8),)):
        rows, width = made.shape
        good = [row for row in (1, rows - 2, 1) if row != made.padding_id]
        for outside, expected in ((-2, oracle.below(words["below"], -2, rows)),
                                  (rows + 1, oracle.above(words["above"], rows + 1, rows))):
            ids = np.array([*good, outside])
            gradient = np.ones((len(ids), width), np.float32)
            if expected == "refused":
                evidence.refuses(lambda made=made, ids=ids: made.lookup(ids))  # nothing was read, so nothing is owed
                continue
            read = good if isinstance(expected, str) or expected == made.padding_id else [*good, expected]
            wanted = np.tile(np.bincount(read, minlength=rows)[:, None], (1, width))
            evidence.equal(made.gradient(ids, gradient).astype(np.int64), wanted)


@pytest.mark.claim("FIELD-42")
def test_the_table_is_held_at_its_precision(layer, evidence, seed):
    """Rows whose sizes differ a hundredfold, all positive, all negative, mixed, with a single number, and zeros."""
    given = oracle.rows_of_many_sizes(seed)
    held = layer.held(given)
    made = layer.with_table(given)
    evidence.equal(made.table(), held)
    evidence.equal(made.lookup(np.arange(len(given))), held)
