"""The numbers of the documents' search, recorded: on stored vectors, and on the bundled model's own."""

import numpy as np
import pytest

from ...bounds import Bound
from . import oracle
from .test_texts import sentences
from .vectors import documents, query


def numbers_of(raw):
    """Of raw vectors [7, d], the question first: lengths [7], inner products and cosines [6], and the order by cosine."""
    dots, cosines = (oracle.scores(raw[:1], raw[1:], metric)[0] for metric in ("dot", "cosine"))
    return {"lengths": np.linalg.norm(raw, axis=1), "dots": dots, "cosines": cosines, "order": np.argsort(-cosines)}


@pytest.mark.claim("BASE-06")
@pytest.mark.metric("cosine", "dot")
def test_recorded_scores(index, evidence):
    """Inner products and cosines of the six documents, and their order."""
    asked, vectors = query().astype(np.float64), documents().astype(np.float64)
    arrays, rounding = {}, {}
    for name, metric in (("dots", "dot"), ("cosines", "cosine")):
        index.build(vectors, metric)
        indices, scores = index.search(asked, 6)
        arrays[name] = scores[0, np.argsort(indices[0])].astype(np.float64)
        bound = oracle.bound(asked, vectors, metric, scores)
        rounding[name] = Bound(np.max(bound.value), bound.why)
    arrays["order"] = indices[0].astype(np.int64)
    evidence.baseline("formulas_search", arrays,
                      lambda: {key: numbers_of(np.concatenate([asked, vectors]))[key] for key in arrays}, rounding)


@pytest.mark.claim("BASE-08")
def test_recorded_scores_of_the_model(encoder, evidence):
    """Lengths, inner products, cosines and order, from means of the model's own hidden states."""
    def exact():
        from ..encoder_input.bundled_oracle import hidden_states

        return numbers_of(np.stack([states.mean(axis=0) for states in hidden_states(sentences())]))

    raw = np.stack([states.astype(np.float64).mean(axis=0) for states in encoder.hidden_states(sentences())])
    found = {key: array.astype(np.float32 if array.dtype.kind == "f" else np.int64)
             for key, array in numbers_of(raw).items()}
    evidence.baseline("bundled_search", found, exact)
