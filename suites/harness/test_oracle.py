"""The float64 oracle of BERT against values that others have published, and what proofs remember of the model."""

import numpy as np
from embedding_conformance.suites.encoder_input import oracle
from embedding_conformance.suites.encoder_input.bundled_oracle import bert, embeddings, token_ids

from embedding_conformance.subjects import bundled
from embedding_conformance.subjects.faulty import remembering

TEXTS = ["cat", "the bank of the river", "", "one two three four five six seven eight nine ten"]

#: all-MiniLM-L6-v2, mean pooling, normalised, "hello world": the first five numbers, most of them printed to five decimals
PUBLISHED = [-0.034478, 0.03102, 0.00673, 0.02611, -0.039362]


def test_the_oracle_gives_the_published_values():
    """Within half a unit of the fifth decimal."""
    np.testing.assert_allclose(embeddings(["hello world"])[0, :5], PUBLISHED, rtol=0, atol=5e-6)


def test_texts_that_are_run_at_once_do_not_mix(monkeypatch):
    """In one group and in several, against each by itself."""
    ids = token_ids(TEXTS)
    alone = [bert().hidden_states(one) for one in ids]
    for rows in (oracle.ROWS, 12):
        monkeypatch.setattr(oracle, "ROWS", rows)
        for together, states in zip(bert().hidden_states_of(ids), alone, strict=True):
            np.testing.assert_allclose(together, states, rtol=0, atol=1e-12)
    assert len(oracle.groups(ids)) > 1
    assert bert().hidden_states_of([]) == []


def test_a_model_runs_once_a_text_and_no_fault_spoils_what_is_kept(monkeypatch):
    passes = []
    usual = bundled.BertEncoder.forward
    monkeypatch.setattr(bundled.BertEncoder, "forward", lambda self, ids: passes.append(len(ids)) or usual(self, ids))
    encoder = bundled.bundled()
    once = remembering(encoder)
    texts = ["a text of this test alone", "and another one", "a text of this test alone"]
    first = once.hidden_states(texts)
    for states in first:
        states[:] = 0
    again, vectors = once.hidden_states(texts[::-1]), once.embed(texts)
    assert sum(passes) == 2
    assert remembering(encoder) is once
    for found, states in zip(again[::-1], encoder.hidden_states(texts), strict=True):
        np.testing.assert_allclose(found, states, rtol=0, atol=1e-5)
    np.testing.assert_allclose(vectors, encoder.embed(texts), rtol=0, atol=1e-6)


def test_a_batch_ends_where_its_padding_costs_more_than_a_pass():
    encoder = bundled.bundled()
    lengths = [200, 3, 4, 3, 60, 5, 210]
    batches = encoder._batches(lengths)
    assert sorted(i for batch in batches for i in batch) == list(range(7))
    for batch in batches:
        longest = max(lengths[i] for i in batch)
        assert sum(longest - lengths[i] for i in batch) <= encoder.most_padding
    assert len(batches) == 3
    assert [len(batch) for batch in encoder._batches([5] * 70)] == [32, 32, 6]
