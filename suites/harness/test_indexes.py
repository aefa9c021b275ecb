"""A declared metric in a whole run, and the ready-made indexes."""

import json

import numpy as np
import pytest

from embedding_conformance.subjects.exact_index import largest

ONE_METRIC = """
from embedding_conformance.subjects.exact_index import ExactIndex

class Cosine(ExactIndex):
    declares = {"exact": True, "metric": "cosine"}

    def build(self, vectors, metric):
        if metric != "cosine":
            raise ValueError("only cosines here")
        super().build(vectors, metric)
"""


def outcomes(command, *args):
    done = command("check", *args, "--report", "r")
    events = [json.loads(line) for line in (command.folder / "r" / "events.jsonl").read_text().splitlines()]
    results = {event["nodeid"]: event["outcome"] for event in events if event["event"] == "result"}
    return done, results, {claim: why for event in events if event["event"] == "not_applicable"
                           for claim, _, why in event["not_applicable"]}


def test_an_index_of_one_metric_is_judged_by_that_alone(command):
    command.write("mine.py", ONE_METRIC)
    done, results, inapplicable = outcomes(command, "python:mine.py:Cosine", "-k", "RETR")
    assert set(results.values()) == {"passed"}
    assert not any("dot" in name or "euclidean" in name for name in results)
    assert inapplicable["RETR-04"] == "it declares metric=cosine, and this needs cosine and dot"
    assert "RETR-06" not in inapplicable
    assert "Traceback" not in done.stdout + done.stderr


def test_an_index_of_one_metric_that_declares_none_is_refuted(command):
    command.write("mine.py", ONE_METRIC.replace(', "metric": "cosine"', ""))
    _, results, _ = outcomes(command, "python:mine.py:Cosine", "-k", "RETR-06")
    violated = {name.split("-")[-1].rstrip("]") for name, outcome in results.items() if outcome == "violated"}
    assert violated == {"dot", "euclidean"}


@pytest.mark.parametrize("name", ["faiss_flat", "faiss_hnsw", "usearch_exact", "usearch_hnsw"])
def test_ready_made_indexes_find_what_they_declare(command, name):
    pytest.importorskip(name.partition("_")[0])
    _, results, _ = outcomes(command, f"python:embedding_conformance.indexes:{name}", "-k", "FIELD-45 or FIELD-46 or RETR-12")
    assert results and set(results.values()) == {"passed"}


def test_the_largest_are_those_of_a_stable_sort():
    """With ties, with what is no number, of no row and of all."""
    random = np.random.default_rng(0)
    for _ in range(500):
        scores = random.integers(0, 6, random.integers(0, [5, 60])).astype(np.float32)
        scores[random.random(scores.shape) < 0.1] = np.nan
        k = min(int(random.integers(0, 12)), scores.shape[1])
        if len(scores):
            np.testing.assert_array_equal(largest(scores, k), np.argsort(-scores, axis=1, kind="stable")[:, :k])
