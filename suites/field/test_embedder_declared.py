"""What a subject declares about letters, lengths, roles and pooling."""

import numpy as np
import pytest

from ...bounds import UNIT_ROUNDOFF, Bound, gamma
from ...data import generated_texts, probe
from ...evidence import ClaimViolation
from ..pooling.oracle import lengths
from .inputs import alone, core, declared, offers_queries
from .oracle import apart, same, steadiness

#: pooling by the names that sentence-transformers gives: from the states [L, d] of a text to its vector
POOLINGS = {
    "mean": lambda states: states.mean(axis=0),
    "cls": lambda states: states[0],
    "max": lambda states: states.max(axis=0),
    "lasttoken": lambda states: states[-1],
    "mean_sqrt_len_tokens": lambda states: states.sum(axis=0) / np.sqrt(len(states)),
    "weightedmean": lambda states: np.average(states, axis=0, weights=np.arange(1, len(states) + 1)),
}


def prompts_of(embedder):
    """The declared prompts of a query and of a document; a role without one has an empty prompt."""
    prompts = declared(embedder, "prompts", {})
    return prompts.get("query", ""), prompts.get("document", "")


@pytest.mark.claim("FIELD-21")
def test_capitals_do_not_count(embedder, evidence, seed):
    """Texts in small letters, as written and in capitals, and one made from the seed."""
    rows = [*probe()["case"], [text(generated_texts(seed, "case", (9,))[0]) for text in (str.lower, str.title, str.upper)]]
    small, written, capitals = ([row[column] for row in rows] for column in range(3))
    same(evidence, embedder, embedder.embed(written), embedder.embed(small), written)
    same(evidence, embedder, embedder.embed(capitals), embedder.embed(small), capitals)


@pytest.mark.claim("FIELD-22")
def test_capitals_count(embedder, evidence):
    """Texts in small letters and in capitals."""
    small, capitals = ([row[column] for row in probe()["case"]] for column in (0, 2))
    apart(evidence, embedder, embedder.embed(small), embedder.embed(capitals), "small letters against capitals")


@pytest.mark.claim("FIELD-23")
def test_marks_on_letters_do_not_count(embedder, evidence):
    """Without marks, with composed ones (NFC) and with decomposed ones (NFD)."""
    plain, composed, decomposed = ([row[column] for row in probe()["accents"]] for column in range(3))
    same(evidence, embedder, embedder.embed(composed), embedder.embed(plain), composed)
    same(evidence, embedder, embedder.embed(decomposed), embedder.embed(plain), decomposed)


@pytest.mark.claim("FIELD-24")
def test_marks_on_letters_count(embedder, evidence):
    """Without marks and with composed ones."""
    plain, composed = ([row[column] for row in probe()["accents"]] for column in (0, 1))
    apart(evidence, embedder, embedder.embed(plain), embedder.embed(composed), "marks on letters against none")


def unit(embedder, found):
    """Of the length of a row that was divided by its length.

    The squares are added up in float32 at least; the root, the division and the answer are each rounded to the format.
    Answers in float64 may hold what was computed in float32, as lists of Python's numbers do.
    """
    single = UNIT_ROUNDOFF["float32"]
    u = max(UNIT_ROUNDOFF[steadiness(embedder, found)], single)
    width = found.shape[1]
    return Bound(gamma(4, u) + gamma(width // 2 + 2, single),
                 f"rounding of a norm of {width} terms, and of a division by it")


@pytest.mark.claim("FIELD-25")
def test_every_row_has_length_one(embedder, evidence, seed):
    """Texts alone and in one call, and in the role of a query where that is offered."""
    texts = core(seed)
    answers = [embedder.embed(texts, fresh=True), alone(embedder, texts)]
    if offers_queries(embedder):
        answers += [embedder.embed_query(texts[:3], fresh=True), embedder.embed_query(texts[3:4], fresh=True)]
    for found in answers:
        evidence.close(lengths(found), np.ones(len(found)), unit(embedder, found))


@pytest.mark.claim("FIELD-26")
def test_a_prompt_stands_before_the_text_once(embedder, evidence, seed):
    """A role's vector against that of its prompt and the text in the role that has no prompt; without any, both agree."""
    query, document = prompts_of(embedder)
    texts = core(seed)[:4]
    if not document:
        written = [f"{query}{text}" for text in texts]
        same(evidence, embedder, embedder.embed_query(texts, fresh=True), embedder.embed(written, fresh=True), texts)
    elif not query:
        written = [f"{document}{text}" for text in texts]
        same(evidence, embedder, embedder.embed(texts, fresh=True), embedder.embed_query(written, fresh=True), texts)
    else:
        differ(evidence, embedder, embedder.embed_query(texts, fresh=True), embedder.embed(texts, fresh=True), texts)


def differ(evidence, embedder, queries, documents, texts):
    """The two roles differ where their prompts do."""
    query, document = prompts_of(embedder)
    if query == document:
        same(evidence, embedder, queries, documents, texts)
    else:
        apart(evidence, embedder, queries, documents, "a text as a query and as a document")


@pytest.mark.claim("FIELD-27")
def test_roles_differ_whichever_was_asked_first(embedder, evidence, seed):
    """Three texts as documents and then as queries, and three made from the seed as queries and then as documents."""
    texts = core(seed)[:3]
    documents, queries = embedder.embed(texts, fresh=True), embedder.embed_query(texts, fresh=True)
    differ(evidence, embedder, queries, documents, texts)
    texts = generated_texts(seed, "roles", (4, 9, 2))
    queries, documents = embedder.embed_query(texts, fresh=True), embedder.embed(texts, fresh=True)
    differ(evidence, embedder, queries, documents, texts)


@pytest.mark.claim("FIELD-29")
def test_vectors_are_pooled_from_the_subjects_own_states(encoder, embedder, evidence, seed):
    """Sentences and texts made from the seed, in each role: against their own states, pooled as declared."""
    word = declared(embedder, "pooling")
    if word not in POOLINGS:
        raise ClaimViolation(f"it declares pooling={word}", f"one of {', '.join(POOLINGS)}")
    texts = [*core(seed)[8:13], *(pair[0] for pair in probe()["edits"][:2])]
    query, document = prompts_of(embedder)
    roles = [(document, embedder.embed)] + ([(query, embedder.embed_query)] if offers_queries(embedder) else [])
    for prompt, ask in roles:
        states = encoder.hidden_states([f"{prompt}{text}" for text in texts])
        expected, found = np.stack([POOLINGS[word](rows.astype(np.float64)) for rows in states]), ask(texts, fresh=True)
        if declared(embedder, "normalized"):
            expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
        same(evidence, embedder, found, expected, texts)
