"""The size of the documents' tables."""

import numpy as np
import pytest

WORDS = "embeddings.word_embeddings.weight"


@pytest.mark.claim("PARAM-01")
def test_the_shape_of_the_table(encoder, evidence):
    """As stored."""
    evidence.equal(list(encoder.weights()[WORDS].shape), [250037, 384])


@pytest.mark.claim("PARAM-02")
def test_the_count_of_its_numbers(encoder, evidence):
    """Rows times width, of the word table alone."""
    evidence.equal(int(encoder.weights()[WORDS].size), 96_014_208)


@pytest.mark.claim("PARAM-03")
def test_the_memory_of_the_table(encoder, evidence):
    """Its numbers times the bytes of each, as stored."""
    table = encoder.weights()[WORDS]
    evidence.equal(int(table.size * table.itemsize), 384_056_832)


@pytest.mark.claim("SHAPE-16")
def test_rows_of_the_example_have_eight_numbers(layer, evidence):
    """Of thirty rows, three hold the numbers that are printed of them and others in between; they are looked up."""
    table = (np.arange(240, dtype=np.float32) / 16).reshape(30, 8)
    shown = {3: (0.12, -0.45, 0.88, 0.03), 4: (0.15, -0.42, 0.79, 0.11), 27: (0.91, 0.02, -0.33, -0.67)}
    for row, numbers in shown.items():
        table[row, [0, 1, 2, 7]] = numbers
    found = layer.with_table(table).lookup(np.array(list(shown)))
    evidence.equal(list(found.shape), [3, 8])
    evidence.equal(found, layer.held(table)[list(shown)])
