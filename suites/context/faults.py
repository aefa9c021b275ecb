"""Faulty and sound encoders, seen through the word bank."""

import copy
from functools import cache

import numpy as np

from ...proof import altered, fault, sound


@fault("encoder", ["BANK-01", "BANK-02"])
def id_depends_on_position(encoder):
    """The tokenizer gives words in the second half of a sentence ids of their own, as one that marks spaces may."""
    def token_ids(texts):
        return [np.where(np.arange(len(ids)) > 4, ids + 1, ids) for ids in encoder.token_ids(texts)]

    def input_embeddings(texts):
        return [rows + np.float32(0.01) * (np.arange(len(rows)) > 4)[:, None].astype(np.float32)
                for rows in encoder.input_embeddings(texts)]
    return altered(encoder, token_ids=token_ids, input_embeddings=input_embeddings)


@fault("encoder", ["BANK-02", "BANK-06"])
def positions_in_the_lookup(encoder):
    """What it calls looked-up vectors are model inputs: positions are already added."""
    def input_embeddings(texts):
        return [rows + np.cos(np.arange(len(rows), dtype=np.float32))[:, None] for rows in encoder.input_embeddings(texts)]
    return altered(encoder, input_embeddings=input_embeddings)


@fault("encoder", ["BANK-02", "BANK-06"])
def states_for_lookups(encoder):
    """What it calls looked-up vectors are hidden states."""
    return altered(encoder, input_embeddings=encoder.hidden_states)


@fault("encoder", ["BANK-03", "BANK-04", "BASE-02", "BASE-03"])
def lookups_for_states(encoder):
    """What it calls hidden states are the looked-up vectors: no context at all."""
    return altered(encoder, hidden_states=encoder.input_embeddings)


@fault("encoder", ["BANK-03", "BANK-04"])
def positions_without_context(encoder):
    """States are looked-up vectors with positions added: they differ at two positions, never at one."""
    def hidden_states(texts):
        return [rows + np.cos(np.arange(len(rows), dtype=np.float32))[:, None] for rows in encoder.input_embeddings(texts)]
    return altered(encoder, hidden_states=hidden_states)


@fault("encoder", ["BANK-04", "BASE-02", "BASE-03"])
@cache
def untrained(encoder):
    """A model of the same architecture with random weights."""
    import torch
    from transformers.models.bert.modeling_bert import BertModel

    from ...subjects.bundled import BertEncoder

    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = BertModel(encoder.model.config).eval()
    return BertEncoder(model, encoder.tokenizer, encoder.max_seq_length)


@fault("encoder", ["BASE-02", "BASE-03"])
def states_of_the_last_token(encoder):
    """Every position has the state of the last one, so that the word's own state is lost."""
    return altered(encoder, hidden_states=lambda texts: [np.repeat(rows[:1] * 0 + rows[-1:], len(rows), axis=0)
                                                         for rows in encoder.hidden_states(texts)])


@fault("encoder", ["BANK-05"])
def texts_reversed(encoder):
    """Results come back in the reverse order of the texts."""
    return altered(encoder, tokens=lambda texts: encoder.tokens(texts)[::-1])


@fault("encoder", ["BANK-05"])
def longest_first(encoder):
    """Texts are sorted by length for the batch, and results are not put back in order."""
    return altered(encoder, tokens=lambda texts: encoder.tokens(sorted(texts, key=len, reverse=True)))


@fault("encoder", ["BANK-06"])
def first_token_dropped(encoder):
    """Hidden states come without the first token, so that position i is the state of token i+1."""
    return altered(encoder, hidden_states=lambda texts: [rows[1:] for rows in encoder.hidden_states(texts)])


@fault("encoder", ["BASE-02", "BASE-03"], size="subtle")
def slightly_other_weights(encoder):
    """Every state is off by two parts in a thousand, 2e-6 in 1 - cosine: a nearby revision."""
    def hidden_states(texts):
        generator = np.random.default_rng(0)
        return [rows * (1 + np.float32(2e-3) * generator.standard_normal(rows.shape, dtype=np.float32))
                for rows in encoder.hidden_states(texts)]
    return altered(encoder, hidden_states=hidden_states)


@sound("encoder")
def one_text_at_a_time(encoder):
    """Every text in a batch of its own."""
    return altered(encoder, hidden_states=lambda texts: [encoder.hidden_states([text])[0] for text in texts])


@sound("encoder")
def unsorted_batches_of_four(encoder):
    """Batches of four in the order of the texts, with more padding."""
    def hidden_states(texts):
        ids = [list(map(int, row)) for row in encoder.token_ids(texts)]
        # The class's own, since that of the instance remembers each text.
        return [rows for start in range(0, len(ids), 4) for rows in type(encoder).forward(encoder, ids[start:start + 4])]
    return altered(encoder, hidden_states=hidden_states)


@sound("encoder")
@cache
def in_float64(encoder):
    """The same weights, computed in float64 and rounded at the end."""
    from ...subjects.bundled import BertEncoder

    double = BertEncoder(copy.deepcopy(encoder.model).double(), encoder.tokenizer, encoder.max_seq_length)
    return altered(encoder, hidden_states=lambda texts: [rows.astype(np.float32) for rows in double.hidden_states(texts)])
