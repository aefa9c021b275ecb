"""Annotations of a GitHub job: the failures, beside the code that they are about."""

from __future__ import annotations

import os
from typing import Any

import click

from .failures import Failure, failures, outdated

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
    lines = [_line(failure, places.get(failure.claim, "")) for failure in failed]
    lines += [_outdated(one) for one in outdated(evidence)]
    if len(lines) > MOST:
        rest = len(lines) - MOST + 1
        lines[MOST - 1:] = [f"::error title=embedding-conformance::and {rest} more failures; the report has all of them"]
    if not lines and evidence["verdict"]["exit"]:
        reasons = "; ".join(evidence["verdict"]["reasons"]) or evidence["verdict"]["word"]
        lines.append(f"::error title=embedding-conformance::{_message(reasons)}")
    return lines


def _outdated(one: dict[str, Any]) -> str:
    file, _, line = one["origin"].rpartition(":")
    where = f"file={_property(file)},line={line}," if file and line.isdigit() else ""
    title, said = f"deviation of {one['claim']} outdated", f"{one['why']} (accepted: {one['because']})"
    return f"::error {where}title={_property(title)}::{_message(said)}"


def _line(failure: Failure, place: str) -> str:
    # A user's own file is where he can mend it; without one, the test that says what was checked.
    kind, _, rest = failure.subject.partition(":")
    if ".py::" in failure.subject:  # a test of the user's own
        place = f"{failure.subject.partition('::')[0]}:1"
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
