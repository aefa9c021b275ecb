"""Hopeless embedders, judged from outside by everything that is said about embedders."""

import pytest

from embedding_conformance.proof import specimens
from embedding_conformance.report import store

from .conftest import Command

GALLERY = {
    "constant": {"FIELD-14", "FIELD-15", "FIELD-16", "FIELD-17", "FIELD-19", "FIELD-28", "FIELD-29", "RETR-08"},
    "checksum": {"FIELD-16", "FIELD-18", "FIELD-21", "FIELD-23", "FIELD-28", "FIELD-29", "RETR-08"},
    "padding-pooled": {"FIELD-01", "FIELD-03", "FIELD-11", "FIELD-29", "POOL-02", "SHAPE-11"},
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """The claims with their verdicts, of one run on three of the gallery."""
    command = Command(tmp_path_factory.mktemp("gallery"))
    done = command("check", *(f"fault:field/{name}" for name in GALLERY), "--facet", "embedder", timeout=300)
    assert done.returncode == 1, done.stdout + done.stderr
    found = store.load(command.folder / "embedding-conformance-report" / "evidence.json")
    return found["claims"]


def words(judged, name, *wanted):
    return {claim["id"] for claim in judged
            if claim["subjects"].get(f"fault:field/{name}", {}).get("verdict") in wanted}


@pytest.mark.parametrize("name", GALLERY)
def test_each_is_refuted_on_the_claims_that_it_breaks(judged, name):
    refuted = words(judged, name, "refuted", "blocked")
    assert refuted >= GALLERY[name]
    assert not words(judged, name, "error")


def test_padding_is_refuted_though_the_embedder_varies_by_as_much_itself(judged):
    """Its answers to one text differ by half with their company; that is no excuse, it is the refutation."""
    assert "FIELD-01" in words(judged, "padding-pooled", "refuted")
    assert not words(judged, "padding-pooled", "refuted") & {"FIELD-06", "FIELD-14", "FIELD-25"}


def test_every_one_breaks_several_claims():
    gallery = [one for one in specimens(documents=False).values() if one.change.__module__.endswith("faults_gallery")]
    assert len(gallery) >= 12
    assert all(len(one.breaks) >= 4 for one in gallery)
