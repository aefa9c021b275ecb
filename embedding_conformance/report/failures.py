"""What failed, claim by claim: the same lines in the terminal, in the summary and on the page."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from typing import Any

from ..subjects import Declaration, again
from ..verdict import FAILING
from .rows import NAME

#: parts of an explanation, and how a line with it begins
EXPLAINED = {"looks_like": "looks like", "stages": "stages"}


@dataclass
class Failure:
    """One claim that failed on one subject, with the lines that explain it."""

    claim: str
    says: str
    subject: str
    verdict: str
    #: label -> lines
    lines: dict[str, list[str]]


def failures(evidence: dict[str, Any]) -> list[Failure]:
    """Every failed claim and subject; refuted ones first, those that only rest on others last."""
    results: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for result in evidence["results"]:
        for claim_id in result["claims"]:
            results.setdefault((claim_id, result["subject"]), []).append(result)
    found = []
    for claim in evidence["claims"]:
        for subject, own in claim["subjects"].items():
            if own["verdict"] in FAILING and not claim["proxy"]:
                lines = _lines(evidence, claim, subject, own, results.get((claim["id"], subject), []))
                found.append(Failure(claim["id"], claim["says"]["en"], subject, own["verdict"], lines))
    order = ["refuted", "error", "stale", "unproven", "blocked"]
    # The one that most others rest on is the one to mend first.
    rests = Counter(other for claim in evidence["claims"] for other in claim["after"])
    return sorted(found, key=lambda failure: (order.index(failure.verdict), -rests[failure.claim]))


def outdated(evidence: dict[str, Any]) -> list[dict[str, Any]]:
    """The accepted deviations that are no longer true, and so fail the run."""
    return [one for one in evidence["deviations"] if one["state"] == "outdated"]


def known(evidence: dict[str, Any]) -> list[dict[str, Any]]:
    """The accepted deviations that excuse a failure of this run."""
    return [one for one in evidence["deviations"] if one["state"] == "accepted"]


def until(one: dict[str, Any]) -> str:
    """How long a deviation is accepted, in words."""
    return f"accepted until {one['until']}" if one["until"] else "accepted"


def _lines(evidence: dict[str, Any], claim: dict[str, Any], subject: str, own: dict[str, str],
           results: list[dict[str, Any]]) -> dict[str, list[str]]:
    failed = [result for result in results if result["outcome"] == "violated"]
    lines: dict[str, list[str]] = {}
    if failed and own["verdict"] == "refuted":
        first = failed[0]
        share = f" ({len(failed)} of {len(results)} checks fail)" if len(results) > 1 else ""
        lines["measured"] = [first["message"] + share]
        lines["bound"] = [first["bound"]]
        for key, label in EXPLAINED.items():
            if first.get(key):
                lines[label] = [first[key]]
        if first["worst"]:
            lines["worst"] = first["worst"]
        if first.get("rows"):
            lines["rows"] = [f"listed in {NAME} beside the report"]
    if own["verdict"] != "refuted":
        lines["because"] = [own["reason"]]
    lines["repeat"] = [repeat(evidence, claim["id"], subject, with_documents=own["verdict"] == "stale")]
    return lines


def repeat(evidence: dict[str, Any], claim_id: str, subject: str, *, with_documents: bool = False) -> str:
    """The command that judges one claim on one subject again, with the same inputs and declarations."""
    known: dict[str, Any] = next((one for one in evidence["subjects"] if one["name"] == subject),
                                 {"declares": {}, "facets": []})
    if known.get("repeat"):
        return str(known["repeat"]).replace("{claim}", claim_id)
    options = again({key: Declaration(value, origin) for key, (value, origin) in known["declares"].items()})
    if "document" in known["facets"] or with_documents:
        options += ["--documents", evidence["documents"]["folder"]]
    options += compared(evidence, claim_id)
    return shlex.join(["embedding-conformance", "check", subject, *options, "--seed", str(evidence["seed"]), "-k", claim_id])


def compared(evidence: dict[str, Any], claim_id: str) -> list[str]:
    """The options that name the reference again, for a claim that is judged by one."""
    needs: list[str] = next((claim["needs"] for claim in evidence["claims"] if claim["id"] == claim_id), [])
    reference = evidence.get("reference")
    if not reference or not any(need.startswith("reference.") for need in needs):
        return []
    return ["--reference", reference["name"], *(["--texts", reference["own"]] if reference["own"] else [])]


def drift(evidence: dict[str, Any]) -> list[tuple[str, str]]:
    """Of each subject that was compared with a named reference: what it lost, in one line."""
    found = []
    for figure in evidence["figures"] if evidence.get("reference") else []:
        if figure["title"] == "Agreement with the reference":
            values = [f"{value:.2g}" if isinstance(value, float) else str(value) for value in figure["data"]["rows"][0]]
            found.append((figure["subject"], ", ".join(f"{name} {value}" for name, value in zip(
                figure["data"]["columns"], values, strict=True))))
    return found


def closest(evidence: dict[str, Any]) -> str:
    """The passed check that came nearest to its bound: one that has to stay below it, if there is any."""
    best, least = "", (True, 1e6)  # what is a million times its bound away is near nothing
    for result in evidence["results"]:
        one = result.get("closest")
        if result["outcome"] != "passed" or not one or not one["bound"] or not one["measured"] or one["measured"] < 0:
            continue
        wants_more = one["kind"] in ("greater", "differs")
        slack = one["measured"] / one["bound"] if wants_more else one["bound"] / one["measured"]
        if (wants_more, slack) < least:
            least = (wants_more, slack)
            what = ("difference", "at least") if wants_more else ("error", "bound")
            best = (f"{'+'.join(result['claims'])} on {result['subject']}: {what[0]} {one['measured']:.2g}, "
                    f"{what[1]} {one['bound']:.2g}")
    return best
