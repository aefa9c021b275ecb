"""Every token has a vector of its own."""

import numpy as np
import pytest


def distinct(rows):
    return len({row.tobytes() for row in rows})


@pytest.mark.claim("CONCEPT-04")
def test_as_many_vectors_as_rows(layer, evidence):
    """All ids looked up: as many different vectors as the table has different rows."""
    for made in layer.over():
        evidence.equal(distinct(made.lookup(np.arange(made.shape[0]))), distinct(made.table()))
