"""From ids to the first layer, seen through the encoder's own vectors and judged from its weights."""

import numpy as np
import pytest

from ... import bounds
from .inputs import sentences
from .oracle import Bert, gaps, run_layers

TENTH = "a tenth of the size of the numbers of a layer-normalised vector, about 1"


def oracle(encoder):
    return Bert(encoder.weights(), encoder.config())


def judged(encoder, bert, seed):
    """For each text its ids, what goes into the first layer, and what rounding allows each number of that."""
    chosen = sentences(seed)
    for ids, found in zip(encoder.token_ids(chosen), encoder.input_vectors(chosen), strict=True):
        precision = rounded_in(encoder, found)
        yield ids, found, bounds.layer_norm(bert.input_rows(ids), *learned(bert), bert.epsilon, precision)


def learned(bert):
    """The gain and the shift of the layer normalisation, [d] each."""
    return tuple(bert.weight(f"embeddings.LayerNorm.{name}") for name in ("weight", "bias"))


def rounded_in(encoder, vectors):
    """The declared precision, or the format of the answer where weights are whole numbers, in which no sum is taken."""
    declared = encoder.precision_of(vectors)
    return declared if declared in bounds.UNIT_ROUNDOFF else str(vectors.dtype)


@pytest.mark.claim("INPUT-01")
def test_input_is_the_normalised_sum(encoder, evidence, seed):
    """Every number of every input vector of five texts, one of them generated."""
    bert = oracle(encoder)
    for ids, found, bound in judged(encoder, bert, seed):
        evidence.close(found, bert.input_vectors(ids), bound)


@pytest.mark.claim("INPUT-06")
def test_without_gain_and_shift_the_vectors_are_standard(encoder, evidence, seed):
    """Mean and variance of each vector after the learned gain and shift are undone."""
    bert = oracle(encoder)
    gain, shift = learned(bert)
    for ids, found, bound in judged(encoder, bert, seed):
        evidence.equal(list(found.shape), [len(ids), len(gain)])
        normal, off = (found - shift) / gain, bound.value / np.abs(gain)
        mean = bounds.Bound(off.mean(axis=1), f"mean of the {bound.why}")
        evidence.close(normal.mean(axis=1), np.zeros(len(normal)), mean)
        # The square of a number x that is off by e is off by 2 |x| e + e^2.
        square = bounds.Bound((2 * np.abs(normal) * off + off**2).mean(axis=1), f"mean of the squares: {bound.why}")
        evidence.close((normal**2).mean(axis=1), np.ones(len(normal)), square)


@pytest.mark.claim("POS-03")
def test_the_word_row_is_one_of_three_terms(encoder, evidence, seed):
    """The vectors brought back to where and how large the sum is, less the looked-up row: the rows of position and type."""
    bert = oracle(encoder)
    gain, shift = learned(bert)
    for ids, found, bound in judged(encoder, bert, seed):
        evidence.equal(list(found.shape), [len(ids), len(gain)])
        word, position, kind = bert.input_rows(ids)
        total = word + position + kind
        size = np.sqrt(total.var(axis=1, keepdims=True) + bert.epsilon) / gain
        rest = (found - shift) * size + total.mean(axis=1, keepdims=True) - word
        evidence.close(rest, position + kind, bounds.Bound(bound.value * np.abs(size), f"scaled back: {bound.why}"))


@pytest.mark.claim("INPUT-02")
def test_inputs_are_the_same_when_asked_again(encoder, evidence, seed):
    """All texts twice: nothing is dropped at random."""
    chosen = sentences(seed)
    for first, second in zip(encoder.input_vectors(chosen, fresh=True), encoder.input_vectors(chosen, fresh=True),
                             strict=True):
        evidence.equal(second, first)


@pytest.mark.claim("INPUT-03")
def test_inputs_are_not_the_looked_up_rows(encoder, evidence, seed):
    """Each vector differs from the row of its id somewhere."""
    chosen = sentences(seed)
    for rows, found in zip(encoder.input_embeddings(chosen), encoder.input_vectors(chosen), strict=True):
        evidence.equal(list(found.shape), list(rows.shape))
        for row, vector in zip(rows, found, strict=True):
            evidence.differs(vector, row, 0.1, TENTH)


@pytest.mark.claim("INPUT-05")
def test_one_id_at_two_positions(encoder, evidence):
    """A word four times: two equal ids have different input vectors."""
    ids, found = (ask(["bank bank bank bank"])[0] for ask in (encoder.token_ids, encoder.input_vectors))
    pairs = [(i, j) for j in range(len(ids)) for i in range(j) if ids[i] == ids[j]]
    evidence.equal(bool(pairs), True)
    for i, j in pairs:
        evidence.differs(found[i], found[j], 0.1, TENTH)


@pytest.mark.claim("INPUT-07", "POS-02")
def test_inputs_have_the_shape_of_the_lookups(encoder, layer, evidence, seed):
    """As many vectors as ids, each as wide as the table."""
    chosen, (_, width) = sentences(seed), layer.shape
    for ids, found in zip(encoder.token_ids(chosen), encoder.input_vectors(chosen), strict=True):
        evidence.equal(list(found.shape), [len(ids), width])


@pytest.mark.claim("INPUT-08")
def test_the_layers_start_from_exactly_these_vectors(encoder, evidence, seed):
    """The layers, computed in float64 from what the encoder says goes into the first one, end in its own last states."""
    chosen = sentences(seed)
    inputs, found = encoder.input_vectors(chosen), encoder.hidden_states(chosen, fresh=True)
    width = len(learned(oracle(encoder))[0])
    for ids, vectors, states in zip(encoder.token_ids(chosen), inputs, found, strict=True):
        evidence.equal([vectors.shape, states.shape], [(len(ids), width)] * 2)
    weights, config = encoder.weights(), encoder.config()
    expected, reference = run_layers(weights, config, inputs)
    deviation = max(gaps(*pair)[0].max() for pair in zip(reference, expected, strict=True))
    direction, length = bounds.network(encoder.precision_of(found[0]), deviation)
    turned, stretched = gaps(np.concatenate(found), np.concatenate(expected))
    places = [f"token {i} of {text!r}" for text, states in zip(chosen, found, strict=True) for i in range(len(states))]
    evidence.at_most(turned.max(), direction, places[turned.argmax()])
    evidence.at_most(stretched.max(), length, places[stretched.argmax()])


@pytest.mark.claim("POS-05")
def test_position_p_has_row_p_of_the_learned_table(encoder, evidence, seed):
    """Of all rows of the position table, the one that gives each input vector is the row of its position."""
    chosen, bert = sentences(seed), oracle(encoder)
    every = bert.stored["embeddings.position_embeddings.weight"].astype(np.float64)
    for ids, found in zip(encoder.token_ids(chosen), encoder.input_vectors(chosen), strict=True):
        evidence.equal(list(found.shape), [len(ids), every.shape[1]])
        word, _, kind = bert.input_rows(ids)
        explains = [int(np.abs(bert.normalize(row + every, "embeddings.LayerNorm") - vector).max(axis=1).argmin())
                    for row, vector in zip(word + kind, found, strict=True)]
        evidence.equal(explains, list(range(len(ids))))
