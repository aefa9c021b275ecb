"""The float64 oracle of BERT against values that others have published."""

import numpy as np
from embedding_conformance.suites.encoder_input.bundled_oracle import embeddings

#: all-MiniLM-L6-v2, mean pooling, normalised, "hello world": the first five numbers, most of them printed to five decimals
PUBLISHED = [-0.034478, 0.03102, 0.00673, 0.02611, -0.039362]


def test_the_oracle_gives_the_published_values():
    """Within half a unit of the fifth decimal."""
    np.testing.assert_allclose(embeddings(["hello world"])[0, :5], PUBLISHED, rtol=0, atol=5e-6)
