"""The inputs of the documents' experiments are those that the suites use."""

import numpy as np
import pytest

from ...data import texts
from . import running, snippets

MODEL = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
TITLES = ["Python CSV", "Pandas table", "Paris train", "Rail transfer", "Cat sofa", "Kitten couch"]


def chosen(document, number, *names):
    """The constants of these names, None for one that is not set."""
    constants = snippets.constants(snippets.experiment(document, number))
    return [constants.get(name) for name in names]


@pytest.mark.claim("CFG-01")
def test_one_model(document, evidence):
    """The name in each experiment that loads a model, and those by which a tokenizer and the model are then loaded."""
    codes = [snippets.experiment(document, number) for number in range(7)]
    named = [MODEL if number in snippets.WITH_MODEL else None for number in range(7)]
    evidence.equal([snippets.constants(code).get("MODEL_ID") for code in codes], named)
    evidence.equal([running.run(code)["loaded"] for code in codes], [[name] * 2 if name else [] for name in named])


@pytest.mark.claim("CFG-04")
def test_the_two_single_sentences(document, evidence):
    """The sentence that is looked up and the one that is pooled."""
    evidence.equal(chosen(document, snippets.LOOKUP, "TEXT"), [texts()["lookup"]])
    evidence.equal(chosen(document, snippets.POOLING, "TEXT"), [texts()["pooling"]])


@pytest.mark.claim("CFG-05")
def test_the_constants_of_the_audit_step(document, evidence):
    """Seed, size of the table, padding id, learning rate, ids and target."""
    code, ours = snippets.experiment(document, snippets.AUDIT_STEP), texts()["seeded"]
    evidence.equal(chosen(document, snippets.AUDIT_STEP, "V", "d", "padding_idx", "learning_rate", "target_value"),
                   [ours["rows"], ours["width"], ours["padding"], 0.25, 0.5])
    evidence.equal(snippets.arguments(code, "manual_seed"), [ours["seed"]])
    evidence.equal(running.run(code)["values"].get("input_ids"), ours["ids"])


@pytest.mark.claim("CFG-06")
def test_pooled_by_mean_and_normalised(document, evidence):
    """The two settings, and the words that the first is compared with: what is neither of them is the mean."""
    evidence.equal(chosen(document, snippets.POOLING, "POOLING", "NORMALIZE"), ["mean", True])
    evidence.equal(snippets.compared(snippets.experiment(document, snippets.POOLING), "POOLING"), ["cls", "max"])


@pytest.mark.claim("CFG-07")
def test_the_angle_and_the_two_lengths(document, evidence):
    """The two vectors that the code makes: one on the axis, one turned by our angle, both of our lengths."""
    did = running.run(snippets.experiment(document, snippets.COSINE))["values"]
    angle, (a, b) = np.deg2rad(texts()["angle"]["degrees"]), texts()["angle"]["lengths"]
    evidence.equal([did.get(name) for name in ("theta", "a", "b")],
                   [float(angle), [a, 0.0], [float(b * np.cos(angle)), float(b * np.sin(angle))]])


@pytest.mark.claim("CFG-08")
def test_the_sentences_of_the_map(document, evidence):
    """Eight sentences in their order, the first and the second being the ends of the line, which is read at its start."""
    sentences, t, target = chosen(document, snippets.MAP, "sentences", "t", "target_index")
    evidence.equal(sentences, texts()["map"])
    evidence.equal([t, target], [0, 1])


@pytest.mark.claim("CFG-09")
def test_the_query_and_how_it_is_answered(document, evidence):
    """The query, how many answers are wanted, and whether vectors are normalised first."""
    evidence.equal(chosen(document, snippets.RETRIEVAL, "query", "TOP_K", "NORMALIZE_BEFORE_SEARCH"),
                   [texts()["retrieval"]["query"], 3, True])


@pytest.mark.claim("CFG-10")
def test_the_six_texts_that_are_searched(document, evidence):
    """Id, title, category and text of each, in their order."""
    (found,) = chosen(document, snippets.RETRIEVAL, "documents")
    ours = [own | {"title": title} for own, title in zip(texts()["retrieval"]["documents"], TITLES, strict=True)]
    evidence.equal(found, ours)
    evidence.equal([one["category"] for one in ours], ["code", "code", "travel", "travel", "pets", "pets"])


@pytest.mark.claim("CFG-11")
def test_the_words_and_the_two_sentences(document, evidence):
    """The one list that is embedded, made by the code: fourteen words, then two sentences."""
    did = running.run(snippets.experiment(document, snippets.ANALOGY))["values"]
    evidence.equal(did.get("texts"), [*texts()["words"], *texts()["bank"]["contexts"]])
