"""Annotations of a GitHub job: the failures, beside the code that they are about."""

from __future__ import annotations

import os
from typing import Any

import click

from .failures import Failure, failures

#: GitHub shows ten a step and drops the rest without a word
MOST = 10
MOST_CHARACTERS = 400


def announce(evidence: dict[str, Any]) -> None:
    """Print the annotations where GitHub's runner reads them."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in render(evidence):
            click.echo(line)


def render(evidence: dict[str, Any]) -> list[str]:
    """At most ten lines; where there are more failures, the last says how many."""
    failed = failures(evidence)
    places = {claim["id"]: claim["tests"][0]["place"] for claim in evidence["claims"] if claim["tests"]}
    shown = failed if len(failed) <= MOST else failed[:MOST - 1]
    lines = [_line(failure, places.get(failure.claim, "")) for failure in shown]
    if len(failed) > len(shown):
        lines.append(f"::error title=embedding-conformance::and {len(failed) - len(shown)} more failures; "
                     "the report has all of them")
    if not failed and evidence["verdict"]["exit"]:
        reasons = "; ".join(evidence["verdict"]["reasons"]) or evidence["verdict"]["word"]
        lines.append(f"::error title=embedding-conformance::{_message(reasons)}")
    return lines


def _line(failure: Failure, place: str) -> str:
    # A user's own file is where he can mend it; without one, the test that says what was checked.
    kind, _, rest = failure.subject.partition(":")
    file, _, line = f"{rest.rpartition(':')[0]}:1".rpartition(":") if kind == "python" and ".py:" in rest \
        else place.rpartition(":")
    where = f"file={_property(file)},line={line}," if file else ""
    said = failure.lines.get("measured") or failure.lines.get("because") or [""]
    bound = f" (bound: {failure.lines['bound'][0]})" if "bound" in failure.lines else ""
    message = f"{failure.says} Measured on {failure.subject}: {said[0]}{bound}"
    return f"::error {where}title={_property(f'{failure.claim} {failure.verdict}')}::{_message(message)}"


def _message(text: str) -> str:
    """Text that stays in its annotation, as GitHub's toolkit escapes it."""
    short = text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS - 3]}..."
    return short.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
