"""The stored hidden states of the documents' sentences, which other chapters take as data."""

import numpy as np
import pytest

from ...data import texts


def lists():
    """The lists of texts whose states are stored, by name."""
    experiments = texts()
    return {
        "map": experiments["map"],
        "pooling": [experiments["pooling"]],
        "retrieval": [experiments["retrieval"]["query"], *(one["text"] for one in experiments["retrieval"]["documents"])],
        "words": [*experiments["words"], *experiments["bank"]["contexts"]],
    }


def stacked(states):
    """States [L, d] of several texts as one array [N, L, d], padded with zeros at the end, and its mask [N, L]."""
    longest = max(map(len, states))
    mask = np.array([[1] * len(rows) + [0] * (longest - len(rows)) for rows in states])
    return np.stack([np.pad(rows, ((0, longest - len(rows)), (0, 0))) for rows in states]), mask


def arrays(hidden_states):
    found = {}
    for name, sentences in lists().items():
        found[f"{name}.states"], found[f"{name}.mask"] = stacked(hidden_states(sentences))
    return found


@pytest.mark.claim("BASE-03")
def test_recorded_states(encoder, evidence):
    """Every number of every stored state."""
    def exact():
        from ..encoder_input.bundled_oracle import hidden_states

        return arrays(hidden_states)

    evidence.baseline("states", arrays(encoder.hidden_states), exact)
