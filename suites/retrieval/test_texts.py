"""From texts to a ranking: the rows that an embedder returns, and what a trained one finds."""

import numpy as np
import pytest

from ...bounds import Bound
from ...data import texts
from ..similarity.oracle import NEARER, cosine, share


def sentences():
    """The question, then the six documents."""
    experiment = texts()["retrieval"]
    return [experiment["query"], *(document["text"] for document in experiment["documents"])]


@pytest.mark.claim("RETR-01")
def test_rows_come_in_the_order_of_the_texts(embedder, evidence):
    """Each row of the seven is the vector that its text has alone: far nearer to it than any other row is."""
    together = embedder.embed(sentences(), fresh=True)
    alone = np.concatenate([embedder.embed([text], fresh=True) for text in sentences()])
    distances = np.linalg.norm(together[:, None].astype(np.float64) - alone, axis=2)
    for row in range(7):
        other = np.delete(distances[row], row).min()
        bound = Bound(0.25, "a quarter of the distance to the nearest other text; a row of another text has 1 or more")
        evidence.at_most(distances[row, row] / other, bound, f"row {row}")


@pytest.mark.claim("RETR-08")
def test_the_two_documents_on_code_come_first(embedder, evidence):
    """D1 before D2, and both before the documents on travel and pets."""
    vectors = embedder.embed(sentences())
    scores = [cosine(vectors[0], vector) for vector in vectors[1:]]
    others = max(scores[2:])
    evidence.at_most(share(scores[0], others), NEARER, "D1, as a share of the best other")
    evidence.at_most(share(scores[1], others), NEARER, "D2, as a share of the best other")
    evidence.at_most(share(scores[0], scores[1]), NEARER, "D1, as a share of D2")
