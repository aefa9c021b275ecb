"""A text's vector is a function of the text: not of its company, nor of what was asked before, at the same time or again."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ...bounds import Bound
from ...data import generator, probe
from .inputs import alone, attempt, core, fitting, odd, offers_queries
from .oracle import same


@pytest.mark.claim("FIELD-01")
def test_company(embedder, evidence, seed):
    """Sixteen texts of 1 to 60 words and a paragraph, in one call and each by itself."""
    texts = [*core(seed), *fitting(embedder, probe()["paragraphs"][:1])]
    expected = alone(embedder, texts)
    same(evidence, embedder, embedder.embed(texts, fresh=True), expected, texts)


@pytest.mark.claim("FIELD-01")
def test_a_long_mate(embedder, evidence, seed):
    """The shortest texts, each beside the longest of the sixteen, before it and after it."""
    texts = core(seed)
    longest = max(texts, key=len)
    for text in (texts[3], texts[13]):
        for pair in ([text, longest], [longest, text]):
            same(evidence, embedder, embedder.embed(pair, fresh=True), alone(embedder, pair), pair)


@pytest.mark.claim("FIELD-02")
@pytest.mark.parametrize("order", ["reversed", "shortest first", "longest first", "drawn"])
def test_order(embedder, evidence, seed, order):
    """The sixteen texts as they stand and in another order."""
    texts = core(seed)
    orders = {"reversed": range(len(texts))[::-1],
              "shortest first": sorted(range(len(texts)), key=lambda i: len(texts[i])),
              "longest first": sorted(range(len(texts)), key=lambda i: -len(texts[i])),
              "drawn": generator(seed, "order of texts").permutation(len(texts))}
    chosen = [texts[i] for i in orders[order]]
    same(evidence, embedder, embedder.embed(chosen, fresh=True), embedder.embed(texts)[list(orders[order])], chosen)


def many(seed):
    """131 places of the sixteen texts: more than a batch holds, and no multiple of its size."""
    return generator(seed, "many texts").integers(0, 16, 131)


@pytest.mark.claim("FIELD-03")
def test_more_texts_than_a_batch(embedder, evidence, seed):
    """131 texts in one call, sixteen different ones in a drawn arrangement, against each by itself."""
    texts, places = core(seed), many(seed)
    chosen = [texts[place] for place in places]
    same(evidence, embedder, embedder.embed(chosen), alone(embedder, texts)[places], chosen)


@pytest.mark.claim("FIELD-03")
@pytest.mark.parametrize("size", [2, 3, 7])
def test_small_calls(embedder, evidence, seed, size):
    """The sixteen texts in calls of 2, 3 and 7, the last of which is smaller, against one call."""
    texts = core(seed)
    parts = [embedder.embed(texts[start:start + size], fresh=True) for start in range(0, len(texts), size)]
    same(evidence, embedder, np.concatenate(parts), embedder.embed(texts), texts)


@pytest.mark.claim("FIELD-04")
def test_earlier_calls(embedder, evidence, seed):
    """A short text before and after a paragraph, many texts, odd ones, and its own role as a query."""
    texts = core(seed)
    asked = [texts[1]]
    before = alone(embedder, asked)
    earlier = [lambda: embedder.embed(fitting(embedder, probe()["paragraphs"][1:2]) or texts[12:13], fresh=True),
               lambda: embedder.embed(texts, fresh=True), lambda: attempt(embedder, odd()[:1], fresh=True),
               lambda: attempt(embedder, [odd()[9], texts[3]], fresh=True)]
    if offers_queries(embedder):
        earlier.append(lambda: embedder.embed_query(asked, fresh=True))
    for call in earlier:
        call()
        same(evidence, embedder, embedder.embed(asked, fresh=True), before, asked)


@pytest.mark.claim("FIELD-04")
def test_some_texts_asked_before(embedder, evidence, seed):
    """Five new texts in one call, two of which were asked for just before: a store of answers is half full."""
    texts = core(seed)[:5]
    embedder.embed([texts[3], texts[1]], fresh=True)
    same(evidence, embedder, embedder.embed(texts, fresh=True), alone(embedder, texts), texts)


@pytest.mark.claim("FIELD-05")
def test_calls_at_the_same_time(embedder, evidence, seed):
    """Four threads, each with its own four texts, three times; against the same calls one after the other."""
    lists = [core(seed)[start:start + 4] for start in range(0, 16, 4)]
    expected = [embedder.embed(texts, fresh=True) for texts in lists]
    with ThreadPoolExecutor(len(lists)) as pool:
        for _ in range(3):
            found = list(pool.map(lambda texts: embedder.embed(texts, fresh=True), lists))
            for texts, one, other in zip(lists, found, expected, strict=True):
                same(evidence, embedder, one, other, texts)


@pytest.mark.claim("FIELD-06")
def test_repeats(embedder, evidence, seed):
    """Twelve calls with the same three texts."""
    texts = core(seed)[4:7]
    first = embedder.embed(texts, fresh=True)
    for _ in range(11):
        same(evidence, embedder, embedder.embed(texts, fresh=True), first, texts)


@pytest.mark.claim("FIELD-07")
def test_repeats_bit_for_bit(embedder, evidence, seed):
    """Six calls with the same five texts."""
    texts = core(seed)[7:12]
    first = embedder.embed(texts, fresh=True).copy()
    for _ in range(5):
        evidence.equal(embedder.embed(texts, fresh=True), first)


@pytest.mark.claim("FIELD-08")
@pytest.mark.parametrize("places", [(0,), (3, 1), (2, 2, 2), (0, 5, 0, 5, 9), (4, 11, 11, 7, 3, 15, 4, 0, 11), ()])
def test_a_row_for_each_text(embedder, evidence, seed, places):
    """One text, two, the same three times, duplicates apart and side by side, 131 drawn ones: each row is its own text's."""
    texts, fresh, places = core(seed), bool(places), places or tuple(many(seed).tolist())
    found, known = embedder.embed([texts[place] for place in places], fresh=fresh), alone(embedder, texts)
    distance = np.linalg.norm(found[:, None].astype(np.float64) - known, axis=2)
    evidence.equal(distance.shape, (len(places), len(texts)))
    for row, place in enumerate(places):
        other = np.delete(distance[row], place).min()
        bound = Bound(0.5, "half of the distance to the nearest other text, which is where a row of another text is")
        evidence.at_most(distance[row, place] / max(other, np.finfo(np.float64).tiny), bound, f"row {row}")


@pytest.mark.claim("FIELD-12")
def test_the_list_of_texts_stays_as_it_was(embedder, evidence, seed):
    """The list that was handed over, after the call: nothing sorted, removed, stripped or put before a text."""
    texts = core(seed)
    embedder.embed(texts, fresh=True)
    evidence.equal(embedder.given[0], texts)
    if offers_queries(embedder):
        embedder.embed_query(texts, fresh=True)
        evidence.equal(embedder.given[0], texts)


@pytest.mark.claim("FIELD-13")
def test_an_answer_stays_as_it_was(embedder, evidence, seed):
    """The rows of one call after two other calls, one as large and one larger."""
    texts = core(seed)
    first = embedder.embed(texts[:4], as_returned=True)
    kept = first.copy()
    embedder.embed(texts[4:8], fresh=True)
    embedder.embed(texts[::-1], fresh=True)
    evidence.equal(first, kept)


@pytest.mark.claim("FIELD-13")
def test_who_writes_into_an_answer_changes_no_later_one(embedder, evidence, seed):
    """An answer is overwritten where that is possible, and the same texts are asked for again."""
    texts = core(seed)[:4]
    first = embedder.embed(texts, as_returned=True)
    kept = first.copy()
    if first.flags.writeable:
        first[...] = 0
    same(evidence, embedder, embedder.embed(texts, fresh=True), kept, texts)
