"""The summary in Markdown: a job's summary page, and a comment on a pull request as it stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .evidence_file import last_line
from .failures import failures, known, outdated, repeat, until

MARKER = "<!-- embedding-conformance -->"
#: failures and deviations that the table holds
MOST_ROWS = 12
MOST_CHARACTERS = 60_000


def render(evidence: dict[str, Any]) -> str:
    """At most 25 lines before the first fold, at most 60,000 characters in all."""
    counts = evidence["verdict"]["counts"]
    failed = failures(evidence)
    lines = [MARKER, f"### {headline(evidence, code)}", ""]
    rows = _rows(evidence)
    if rows:
        lines += ["| | claim | measured | bound |", "| --- | --- | --- | --- |", *rows[:MOST_ROWS]]
        if len(rows) > MOST_ROWS:
            lines.append(f"| | and {len(rows) - MOST_ROWS} more | | |")
        lines.append("")
    lines += [f"- {cell(reason)}" for reason in evidence["verdict"]["reasons"][:3]]
    numbers = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    reference = f" Reference {code(evidence['reference']['name'])}." if evidence.get("reference") else ""
    lines += [f"{numbers or 'No claim was judged'}.{reference}", ""]
    if failed:
        lines += [f"Repeat: {code(repeat(evidence, failed[0].claim, failed[0].subject))}", ""]
    lines += ["<details><summary>All claims that apply</summary>", "", "| claim | verdict | says |", "| --- | --- | --- |"]
    lines += [f"| {claim['id']} | {claim['verdict']} | {cell(claim['says']['en'])} |" for claim in evidence["claims"]]
    lines += ["", "</details>", "", f"`{last_line(evidence)}`", ""]
    text = "\n".join(lines)
    if len(text) > MOST_CHARACTERS:
        cut = text[:MOST_CHARACTERS - 200].rpartition("\n")[0]
        text = f"{cut}\n\n</details>\n\nThe list is cut; index.html has all.\n"
    return text


def _rows(evidence: dict[str, Any]) -> list[str]:
    """What failed, then the accepted deviations that are outdated, then those that excuse a failure."""
    rows = []
    for failure in failures(evidence):
        measured = failure.lines.get("measured") or failure.lines.get("because") or [""]
        bound = failure.lines.get("bound", [""])
        rows.append(f"| **{failure.verdict}** | {failure.claim} {cell(failure.says)} | {cell(measured[0])} | "
                    f"{cell(bound[0])} |")
        if "looks like" in failure.lines:
            rows.append(f"| | looks like {cell(failure.lines['looks like'][0])} | | |")
    rows += [f"| **outdated** | {cell(one['claim'])}, {until(one)}: {cell(one['because'])} | {cell(one['why'])} | |"
             for one in outdated(evidence)]
    rows += [f"| {until(one)} | {cell(one['claim'])} {cell(one['because'])}{cell(_issue(one))} | | |"
             for one in known(evidence)]
    return rows


def headline(evidence: dict[str, Any], quote: Callable[[str], str] = str) -> str:
    """The verdict in one sentence; `quote` marks the names of subjects as such."""
    counts, names = evidence["verdict"]["counts"], [one["name"] for one in evidence["subjects"]]
    who = ", ".join(map(quote, names)) or "nothing"
    failed = sum(counts[word] for word in ("error", "refuted", "blocked", "stale", "unproven"))
    total = sum(count for word, count in counts.items() if word not in ("not applicable", "informative"))
    word = evidence["verdict"]["word"]
    if word == "verified":
        return f"Verified: {who}, {counts['verified']} of {total} claims that apply"
    if word == "refuted" and failed:
        return f"Refuted: {failed} of {total} claims that apply to {who} failed"
    if word == "refuted" and (old := outdated(evidence)):
        more = "".join(f"; {reason}" for reason in evidence["verdict"]["reasons"])
        return f"Refuted: {_entries(len(old))} outdated on {who}{more}"
    return f"{word.capitalize()}: {'; '.join(evidence['verdict']['reasons']) or who}"


def _issue(one: dict[str, Any]) -> str:
    return f" ({one['issue']})" if one["issue"] else ""


def _entries(count: int) -> str:
    return "1 accepted deviation is" if count == 1 else f"{count} accepted deviations are"


def code(text: str) -> str:
    """Text as a code span, in which nothing is markup; the fence is longer than any in the text."""
    text = re.sub(r"\s+", " ", text)
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    space = " " if "`" in text else ""
    return f"{fence}{space}{text}{space}{fence}"


def cell(text: str) -> str:
    """Text that cannot leave its cell, nor become markup or a mention."""
    text = re.sub(r"\s+", " ", text).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("@", "@\u200b")
    return text if len(text) <= 200 else f"{text[:197]}..."
