"""From the tests of a user's own to evidence, the same as that of a run of ``check``."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from . import documents, proof
from .deviations import Deviation
from .own_tests import catalogue
from .report import evidence_file
from .run import Outcome

#: options of pytest that choose among tests
SELECTING = {"keyword": "-k", "markexpr": "-m", "lf": "--lf", "stepwise": "--sw"}


def assemble(config: pytest.Config, tests: dict[str, dict[str, Any]], results: dict[str, dict[str, Any]],
             lost: dict[str, str], skipped: set[str], *, stopped: bool) -> dict[str, Any]:
    """The evidence on all tests of the user's own; each is a subject, named by its node id. What the user skips counts as not
    selected."""
    checks = {node_id: (claims, test) for test, one in tests.items() for node_id, claims in one["collected"]}
    left_out = {(claim, test) for node_id, (claims, test) in checks.items() if node_id in skipped for claim in claims}
    chosen = [*selection(config), *(["skip"] if left_out else [])]
    first = next(iter(tests.values()))
    collected = {node_id: one for node_id, one in checks.items() if node_id not in skipped}
    outcome = Outcome(
        opened={"subjects": [one["subject"] for one in tests.values()], "seed": first["seed"],
                "environment": first["environment"], "started": first["started"],
                "reference": next((one["reference"] for one in tests.values() if one["reference"]), None)},
        collected=collected, results={node_id: results[node_id] for node_id in collected if node_id in results},
        # What was not selected is not known here, so that with a selection nothing is said of what does not apply.
        not_applicable={} if chosen else {(claim, test): why for test, one in tests.items()
                                          for claim, why in one["not_applicable"]},
        partial=left_out | {(claim, test) for test, one in tests.items() for claim in one["partial"]},
        seconds=sum(one["seconds"] for one in results.values()))
    if stopped:
        outcome.interrupted = bool(outcome.missing())
    else:
        outcome.lost = {node_id: lost.get(node_id, "the test was collected and never reported")
                        for node_id in outcome.missing()}
    context = evidence_file.Context(
        catalogue(), documents.read(catalogue(), None), proof.read_records(catalogue()),
        command=["pytest", *config.invocation_params.args], selection=chosen,
        deviations=tuple(_deviation(one) for test in tests.values() for one in test["deviations"]))
    return evidence_file.assemble(context, outcome)


def selection(config: pytest.Config) -> list[str]:
    """The options that chose among the checks, as they would be typed."""
    words = []
    for name, option in SELECTING.items():
        if value := getattr(config.option, name, None):
            words += [option] if value is True else [option, str(value)]
    return [*words, *(str(word) for word in config.args if "::" in str(word))]


def _deviation(one: dict[str, Any]) -> Deviation:
    return Deviation(**{**one, "until": date.fromisoformat(one["until"]) if one["until"] else None})
