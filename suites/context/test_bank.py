"""The word bank: one looked-up vector, two hidden states."""

import numpy as np
import pytest

from ...data import texts
from ..similarity.oracle import NEARER, cosine, share


def place(encoder, sentence):
    """The position of the word bank among the tokens of a sentence, whatever marks its tokenizer puts before words."""
    tokens = encoder.tokens([sentence])[0]
    return next((i for i, token in enumerate(tokens) if token.lstrip("▁Ġ").lower() == "bank"), None)


def states(encoder, sentences):
    """[N, d]: the last hidden state of the word in each sentence."""
    return np.stack([rows[place(encoder, sentence)]
                     for sentence, rows in zip(sentences, encoder.hidden_states(sentences), strict=True)])


@pytest.mark.claim("BANK-01")
def test_the_word_has_one_id(encoder, evidence):
    """In the sentence about a loan and in the one about a river."""
    contexts = texts()["bank"]["contexts"]
    places = [place(encoder, sentence) for sentence in contexts]
    evidence.equal(None in places, False)
    first, second = (ids[i] for ids, i in zip(encoder.token_ids(contexts), places, strict=True))
    evidence.equal(int(first), int(second))


@pytest.mark.claim("BANK-02")
def test_the_looked_up_vectors_are_equal(encoder, evidence):
    """The two sentences of the document, where the word stands at different positions."""
    contexts = texts()["bank"]["contexts"]
    places = [place(encoder, sentence) for sentence in contexts]
    evidence.equal(places[0] == places[1], False)
    first, second = (rows[i] for rows, i in zip(encoder.input_embeddings(contexts), places, strict=True))
    evidence.equal(first, second)


@pytest.mark.claim("BANK-03")
@pytest.mark.parametrize("pair", ["contexts", "same_position"])
def test_the_hidden_states_differ(encoder, evidence, pair):
    """The two sentences of the document, and two with the word at one position, so that only the context differs."""
    sentences = texts()["bank"][pair]
    evidence.equal(place(encoder, sentences[0]) == place(encoder, sentences[1]), pair == "same_position")
    first, second = states(encoder, sentences)
    evidence.differs(first, second, 1e-2, "a hundredth of the size of a layer-normalised state, about 1")


@pytest.mark.claim("BANK-04")
def test_the_states_group_by_sense(encoder, evidence):
    """Mean cosine within four sentences of a sense against the mean between the senses, the word at one position."""
    money, river = (states(encoder, texts()["bank"][sense]) for sense in ("money", "river"))
    within = np.mean([cosine(sense[i], sense[j]) for sense in (money, river) for i in range(4) for j in range(i)])
    between = np.mean([cosine(a, b) for a in money for b in river])
    evidence.at_most(share(within, between), NEARER, "within a sense, as a share of between the senses")


@pytest.mark.claim("BANK-05")
def test_the_last_two_rows_are_the_sentences(encoder, evidence):
    """All sixteen texts of the experiment in one call: the word stands in rows 14 and 15 and in no other."""
    tokens = encoder.tokens([*texts()["words"], *texts()["bank"]["contexts"]], fresh=True)
    has_bank = [row for row, entry in enumerate(tokens) if any(t.lstrip("▁Ġ").lower() == "bank" for t in entry)]
    evidence.equal(has_bank, [14, 15])
    for row, word in ((14, "loan"), (15, "river")):
        evidence.equal(any(token.lstrip("▁Ġ").lower() == word for token in tokens[row]), True)


@pytest.mark.claim("BANK-06")
def test_lookups_and_states_are_aligned(encoder, layer, evidence):
    """Sixteen texts: as many looked-up rows as states and tokens, each row the table's row of that id."""
    table = layer.table()
    batch = [*texts()["words"], *texts()["bank"]["contexts"]]
    asked = (encoder.tokens(batch), encoder.token_ids(batch), encoder.input_embeddings(batch), encoder.hidden_states(batch))
    for tokens, ids, rows, hidden in zip(*asked, strict=True):
        evidence.equal(list(hidden.shape), [len(tokens), table.shape[1]])
        evidence.equal(rows, table[ids])


@pytest.mark.claim("BASE-02")
def test_recorded_cosine(encoder, evidence):
    """The cosine of the document's two states, and of the control's, against the recorded ones."""
    pairs = texts()["bank"]["contexts"], texts()["bank"]["same_position"]

    def exact():
        from ..encoder_input.bundled_oracle import hidden_states

        found = [[rows[place(encoder, s)] for s, rows in zip(pair, hidden_states(pair), strict=True)] for pair in pairs]
        return {"cosine": np.array([cosine(*pair) for pair in found])}

    found = np.array([cosine(*states(encoder, pair)) for pair in pairs], dtype=np.float32)
    evidence.baseline("bank_cosine", {"cosine": found}, exact)
