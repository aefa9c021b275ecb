"""Sixteen planted faults: all are refuted by a comparison with the oracle, and at least twelve get their names."""

import importlib
import inspect
from functools import cache

import pytest

from embedding_conformance.evidence import ClaimViolation, Evidence
from embedding_conformance.handles import Embedder, Encoder
from embedding_conformance.reference import default_reference, of_subject
from embedding_conformance.subjects import declared, open_subject
from embedding_conformance.subjects.python_object import from_object
from embedding_conformance.texts import agreement_texts

from . import planted

ORDER = ("AGREE-01", "AGREE-02", "AGREE-03", "AGREE-04", "AGREE-05", "AGREE-06", "AGREE-07", "AGREE-08", "AGREE-09",
         "AGREE-10", "AGREE-11", "AGREE-12")


@cache
def claims_of_agreement():
    """Claim -> (test function, names of its arguments)."""
    found = {}
    for name in ("test_tokens", "test_stages", "test_vectors"):
        module = importlib.import_module(f"embedding_conformance.suites.agreement.{name}")
        for function in vars(module).values():
            for mark in getattr(function, "pytestmark", []):
                found[mark.args[0]] = function, list(inspect.signature(function).parameters)
    return found


def opened(thing, facets=("encoder", "embedder"), **declares):
    """The subject that an object is, of which only some facets may be known."""
    subject = from_object(thing, "planted")
    subject.declares |= declared(declares, "test")
    subject.capabilities = frozenset(one for one in subject.capabilities if one.partition(".")[0] in facets)
    return subject


def judge(subject, claims=ORDER, *, explains=False, reference=None):
    """Claim -> violation, of those that a subject does not hold against a reference, or else the oracle."""
    reference = reference or default_reference(open_subject("bundled"), agreement_texts())
    violations = {}
    for claim in claims:
        test, names = claims_of_agreement()[claim]
        if "encoder" in names and "encoder" not in subject.facets:
            continue
        given = {"encoder": Encoder(subject), "embedder": Embedder(subject), "reference": reference, "seed": 0,
                 "evidence": Evidence(explains=explains)}
        try:
            test(**{name: given[name] for name in names})
        except ClaimViolation as violation:
            violations[claim] = violation
    return violations


def first_explained(subject):
    """The first claim, in the order of the stages, that a subject refutes, and what it looks like."""
    for claim in ORDER:
        if found := judge(subject, (claim,), explains=True):
            return claim, found[claim].explanation.looks_like
    return "", ""


def whole_numbers(kind):
    thing = kind()
    thing.model = planted.dynamic_int8(thing.model)
    return thing


@pytest.mark.parametrize("kind", planted.SOUND, ids=lambda kind: kind.__name__)
def test_sound_variants_raise_no_alarm(kind):
    assert judge(opened(kind())) == {}


@pytest.mark.parametrize(("kind", "name"), planted.FAULTS.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_every_planted_fault_is_refuted_and_named(kind, name):
    claim, looks_like = first_explained(opened(kind()))
    assert claim
    if name:
        assert looks_like.startswith(name), looks_like
    else:
        assert looks_like.startswith("no registered fault explains it")


def test_a_sound_dynamic_int8_model_raises_no_alarm():
    assert judge(opened(whole_numbers(planted.Planted), precision="int8")) == {}


#: planted faults that drown in what this int8 arithmetic loses, where no drift is declared
DROWNED = frozenset({planted.TokenTypeOne, planted.OneBiasLost, planted.NoiseOnTheWeights})


@pytest.mark.parametrize("kind", planted.FAULTS, ids=lambda kind: kind.__name__)
def test_planted_in_a_dynamic_int8_model(kind):
    """Without a declared drift; structural stages are exact at any precision."""
    subject = opened(whole_numbers(kind), precision="int8")
    exact_first = sorted(ORDER, key=lambda claim: claim in ("AGREE-04", "AGREE-05", "AGREE-08"))
    refuted = any(judge(subject, (claim,)) for claim in exact_first)
    assert refuted == (kind not in DROWNED)


@pytest.mark.parametrize("kind", [planted.ClsForMean, planted.StrayPrefix, planted.TruncatedAt32, planted.FixedPadding],
                         ids=lambda kind: kind.__name__)
def test_a_black_box_is_refuted_and_named(kind):
    """Only vectors are known of it. Without a reference no claim refutes the one that is padded to 128 tokens."""
    claim, looks_like = first_explained(opened(kind(), facets=("embedder",)))
    assert claim == "AGREE-08"
    assert looks_like.startswith(planted.FAULTS[kind]), looks_like


def test_a_difference_is_looked_into_where_only_long_texts_have_the_ids_of_the_reference():
    """What is padded to 128 tokens has them from there on, and the texts that are usually looked at are shorter."""
    subject = opened(whole_numbers(planted.FixedPadding), facets=("encoder",), precision="int8")
    long = [one for one in agreement_texts() if len(one.text) > 700]
    reference = of_subject(open_subject("bundled"), [*agreement_texts()[:12], *long])
    assert judge(subject, ("AGREE-04", "AGREE-05"), reference=reference) == {}
