"""What a trained encoder puts near each other."""

import numpy as np
import pytest

from ...bounds import Bound
from ...data import texts
from ..similarity.oracle import NEARER, cosine_matrix, share

#: sentences of the map that say nearly the same: cat and kitten, train and railway
RELATED = ((0, 1), (5, 6))


def cosines(embedder):
    return cosine_matrix(embedder.embed(texts()["map"]))


def pairs():
    return [(i, j) for i in range(8) for j in range(i + 1, 8)]


@pytest.mark.claim("MAP-08")
@pytest.mark.parametrize(("i", "j"), RELATED)
def test_paraphrases_are_each_others_nearest(embedder, evidence, i, j):
    """Their cosine against that of either of them with any other sentence."""
    found = cosines(embedder)
    other = max(found[one, row] for one in (i, j) for row in range(8) if row not in (i, j))
    evidence.at_most(share(found[i, j], other), NEARER, "each other, as a share of the nearest other sentence")


@pytest.mark.claim("MAP-09")
def test_related_sentences_are_nearer_than_unrelated_ones(embedder, evidence):
    """The mean cosine of the two related pairs against the mean of the other 26."""
    found = cosines(embedder)
    related = np.mean([found[pair] for pair in RELATED])
    unrelated = np.mean([found[pair] for pair in pairs() if pair not in RELATED])
    evidence.at_most(share(related, unrelated), Bound(2 / 3, "a third nearer; trained models have 0.54 at most, untrained "
                                                             "ones 0.81 at least"), "related, as a share of unrelated")
