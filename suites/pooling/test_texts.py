"""From texts to vectors: shapes, what is pooled, and whether the batch matters."""

import numpy as np
import pytest

from ... import bounds
from ...data import texts
from ...reference import document_prompt
from ..encoder_input.oracle import gaps


def seven():
    """The query and the six documents."""
    return [texts()["retrieval"]["query"], *(document["text"] for document in texts()["retrieval"]["documents"])]


def agree(evidence, embedder, found, expected):
    """Every row has the direction and the length that it has in other company, as far as the declared precision goes."""
    evidence.equal(list(found.shape), list(expected.shape))
    direction, length = bounds.network(bounds.steady(embedder.precision_of(found)))
    turned, stretched = gaps(found, expected)
    evidence.at_most(turned.max(), direction, f"row {turned.argmax()}")
    evidence.at_most(stretched.max(), length, f"row {stretched.argmax()}")


@pytest.mark.claim("POOL-02")
def test_a_text_alone_and_among_others(embedder, evidence):
    """Each of seven texts by itself against all in one call, in both orders."""
    together, reverse = embedder.embed(seven(), fresh=True), embedder.embed(seven()[::-1], fresh=True)[::-1]
    for row, text in enumerate(seven()):
        alone = embedder.embed([text], fresh=True)
        agree(evidence, embedder, together[row:row + 1], alone)
        agree(evidence, embedder, reverse[row:row + 1], alone)


@pytest.mark.claim("POOL-08")
def test_special_tokens_count(encoder, embedder, evidence):
    """The vectors against the means over all states; over all but the first and the last, another direction comes out."""
    asked = [document_prompt(embedder.subject) + text for text in seven()]
    states, found = encoder.hidden_states(asked, fresh=True), embedder.embed(seven(), fresh=True)
    everything = np.stack([rows.mean(axis=0, dtype=np.float64) for rows in states])
    words = np.stack([rows[1:-1].mean(axis=0, dtype=np.float64) for rows in states])
    evidence.equal(list(found.shape), list(everything.shape))
    # Whole numbers are the network's, which made both: the mean itself is taken in the format of the answer.
    declared = embedder.precision_of(found)
    direction, _ = bounds.network(declared if declared in bounds.UNIT_ROUNDOFF else str(found.dtype))
    turned, _ = gaps(found, everything)
    evidence.at_most(turned.max(), direction, f"row {turned.argmax()}")
    evidence.greater(gaps(found, words)[0].min(), 0, 4 * float(direction.value), "four times what the precision may lose")


@pytest.mark.claim("SHAPE-09")
def test_one_sentence(encoder, embedder, evidence):
    """As many states as tokens, and one vector as wide as a state."""
    sentence = [texts()["pooling"]]
    tokens, states = encoder.tokens(sentence)[0], encoder.hidden_states(sentence, fresh=True)[0]
    evidence.equal(len(states), len(tokens))
    evidence.equal(list(embedder.embed(sentence, fresh=True).shape), [1, states.shape[1]])


@pytest.mark.claim("SHAPE-10")
def test_query_and_six_documents(encoder, evidence):
    """Seven entries in one call, each with the states of its own tokens, the longest as long as the longest text."""
    tokens, states = encoder.tokens(seven(), fresh=True), encoder.hidden_states(seven(), fresh=True)
    width = states[0].shape[1]
    evidence.equal([rows.shape for rows in states], [(len(entry), width) for entry in tokens])
    stacked = np.stack([np.pad(rows, ((0, max(map(len, tokens)) - len(rows)), (0, 0))) for rows in states])
    evidence.equal(list(stacked.shape), [7, max(map(len, tokens)), width])


@pytest.mark.claim("SHAPE-11")
def test_the_first_row_is_the_query(embedder, evidence):
    """Seven rows: the first is the query's vector, the other six are those of the documents, in order."""
    found = embedder.embed(seven(), fresh=True)
    query, documents = found[0], found[1:]
    evidence.equal([found.ndim, query.shape, documents.shape], [2, (found.shape[1],), (6, found.shape[1])])
    agree(evidence, embedder, query[None], embedder.embed(seven()[:1], fresh=True))
    agree(evidence, embedder, documents, embedder.embed(seven()[1:], fresh=True))
