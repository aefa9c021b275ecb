"""From ids to the vector, stage by stage, each stage on the subject's own previous one."""

import numpy as np
import pytest

from ... import bounds
from ...bounds import Bound
from . import stages


def both(evidence, pair, look):
    """Direction and length of every text."""
    for measured in pair:
        evidence.texts_agree(measured.distances, measured.bound, measured.measure, measured.worst, look)


@pytest.mark.claim("AGREE-04")
def test_input_sublayer(encoder, reference, evidence):
    """What goes into the first layer, for the subject's own ids, token by token."""
    pair = stages.inputs(encoder, reference)
    look = stages.explained(reference, encoder.subject, reference.oracle and (
        lambda: stages.look_at_inputs(encoder, reference, stages.worst_texts(pair[0]))))
    both(evidence, pair, look)
    no_tier(evidence, encoder, reference, pair[0], encoder.input_vectors(pair[0].texts[:1])[0],
            lambda: stages.look_at_inputs(encoder, reference, stages.worst_texts(pair[0])))


@pytest.mark.claim("AGREE-05")
def test_network(encoder, reference, evidence):
    """The last states of all texts, pooled as the reference pools; where no tier holds, no fault may come much closer."""
    pair = stages.network(encoder, reference)
    look = stages.explained(reference, encoder.subject, reference.oracle and (
        lambda: stages.look_at_states(encoder, reference, stages.worst_texts(pair[0]))))
    both(evidence, pair, look)
    no_tier(evidence, encoder, reference, pair[0], encoder.hidden_states(pair[0].texts[:1])[0],
            lambda: stages.look_at_states(encoder, reference))


def no_tier(evidence, handle, reference, measured, answer, diagnose):
    """At a precision without a tier: the median keeps a ceiling, and no known fault explains what was lost."""
    if not stages.whole_numbers(stages.precision(reference, handle, answer)):
        return
    if "drift" not in handle.subject.declares:
        ceiling = Bound(bounds.MEDIAN_CEILING, "median over all texts, the ceiling for int8")
        evidence.at_most(np.median(measured.distances), ceiling)
    if reference.oracle:
        found = diagnose()
        closer = found.unexplained / max(found.named.residual, 1e-12) if found.named else 1.0
        evidence.at_most(closer, Bound(4.0, "how many times closer than the reference a faulty reference may come"),
                         f"looks like {found}" if found.named else "")


@pytest.mark.claim("AGREE-06")
def test_pooling(encoder, embedder, reference, evidence):
    """States and vectors of one batch, each asked for once: the reference's pooling of these states gives these vectors."""
    last = stages.finish(encoder, embedder, reference)
    measured = stages.pooling(reference, last)
    look = stages.explained(reference, encoder.subject, lambda: stages.look_at_pooling(reference, last))
    evidence.texts_agree(measured.distances, measured.bound, measured.measure, measured.worst, look)


@pytest.mark.claim("AGREE-07")
def test_normalisation(encoder, embedder, reference, evidence):
    """The lengths of these vectors against those that the reference gives to the same pooled states."""
    last = stages.finish(encoder, embedder, reference)
    measured = stages.scaling(reference, last)
    look = stages.explained(reference, encoder.subject, lambda: stages.look_at_pooling(reference, last, ["pooling", "length"]))
    evidence.texts_agree(measured.distances, measured.bound, measured.measure, measured.worst, look)
