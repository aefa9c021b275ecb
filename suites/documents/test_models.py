"""How the documents' experiments use the model, seen while they run."""

import pytest

from . import running, snippets

#: the first experiment runs the input sublayer alone
WITH_STATES = snippets.WITH_MODEL[1:]


@pytest.mark.claim("CFG-02")
@pytest.mark.parametrize("number", snippets.WITH_MODEL)
def test_in_evaluation_mode_on_the_cpu(document, evidence, number):
    """The experiment gets a model in training mode: at each pass no submodule is in it any more."""
    did = running.run(snippets.experiment(document, number))
    evidence.equal(did["moved"], ["cpu"])
    evidence.equal({one["training"] for one in did["passes"]}, {False})


@pytest.mark.claim("CFG-03")
@pytest.mark.parametrize("number", snippets.WITH_MODEL)
def test_in_inference_mode(document, evidence, number):
    """At each pass, and on the states that come out of it."""
    did = running.run(snippets.experiment(document, number))
    evidence.equal({one["inference"] for one in did["passes"]}, {True})
    if number in WITH_STATES:
        evidence.equal([did["state"].get("requires_grad"), did["state"].get("inference")], [False, True])


@pytest.mark.claim("CFG-12")
@pytest.mark.parametrize("number", WITH_STATES)
def test_the_last_states_of_the_masked_batch(document, evidence, number):
    """The mask goes in, and what is pooled is what the model then gives as its last hidden state, bit for bit."""
    did = running.run(snippets.experiment(document, number))
    given = [one["given"] for one in did["passes"] if one["part"] == "model"]
    evidence.equal(["attention_mask" in names and "input_ids" in names for names in given], [True])
    evidence.equal(did["state"].get("is_last"), True)
