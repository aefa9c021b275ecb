"""The corpus that probes embedders, the small embedder, and requirements that any declared value meets."""

import unicodedata

import numpy as np
import pytest

from embedding_conformance import data, home
from embedding_conformance.subjects import open_subject
from embedding_conformance.subjects.small_embedder import LIMIT, SmallEmbedder


def test_the_corpus_is_large_and_its_file_small():
    assert len(data.probe_texts()) >= 200
    assert len(set(data.probe_texts())) == len(data.probe_texts())
    assert all(isinstance(text, str) for text in data.probe_texts())
    assert (home() / "fixtures" / "probe.yaml").stat().st_size < 100_000


def test_lengths_are_around_powers_of_two_and_beyond_the_usual_limits():
    counts = [len(text.split()) for text in data.probe()["lengths"]]
    assert counts == list(data.WORDS)
    assert counts[0] == 1 and max(counts) > 512


def test_related_texts_are_what_their_group_says():
    groups = data.probe()
    for small, written, capitals in groups["case"]:
        assert small == small.lower() == written.lower() == capitals.lower() and capitals == capitals.upper()
    for plain, composed, decomposed in groups["accents"]:
        assert unicodedata.normalize("NFC", decomposed) == composed != decomposed
        assert "".join(sign for sign in decomposed if not unicodedata.combining(sign)) == plain
    for first, second in groups["edits"]:
        differing = [pair for pair in zip(first.split(), second.split(), strict=False) if pair[0] != pair[1]]
        assert differing and abs(len(first.split()) - len(second.split())) <= 1
    for longer, of_more_words in groups["lengths_disagree"]:
        assert len(longer) > len(of_more_words) and len(longer.split()) < len(of_more_words.split())
    assert {unicodedata.name(text.strip()[0]).split()[0] for text in groups["scripts"]} >= {
        "CJK", "HANGUL", "CYRILLIC", "GREEK", "ARABIC", "HEBREW", "DEVANAGARI", "THAI", "LATIN"}
    assert all(not text.strip("\u200b").strip() for text in groups["blank"])


def test_generated_texts_come_from_the_seed_alone():
    first, again, other = (data.generated_texts(seed, "x", (3, 5)) for seed in (1, 1, 2))
    assert first == again != other
    assert [len(text.split()) for text in first] == [3, 5]
    assert data.generated_texts(1, "y", (3, 5)) != first


def test_the_small_embedder_reads_order_and_refuses_what_is_too_long():
    embedder = SmallEmbedder()
    found = embedder.embed(["cat eats fish", "fish eats cat", ""])
    assert found.dtype == np.float32 and found.shape == (3, 64)
    assert not np.allclose(found[0], found[1])
    assert embedder.embed(["a " * (LIMIT - 1)]).shape == (1, 64)
    with pytest.raises(ValueError, match="at most 256"):
        embedder.embed(["a " * LIMIT])


def test_requirements_that_any_value_meets_and_what_is_assumed():
    subject = open_subject("formulas")
    assert not subject.does_not_declare({"max_seq_length": "any", "too_long": "error"})
    del subject.declares["max_seq_length"], subject.declares["too_long"]
    assert "it does not declare max_seq_length (--declare max_seq_length=...)" in subject.does_not_declare(
        {"max_seq_length": "any"})
    assert not subject.does_not_declare({"too_long": "cut"})
    assert subject.does_not_declare({"too_long": "error"})
