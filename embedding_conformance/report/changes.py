"""What differs from an earlier run: the verdicts of claims on subjects."""

from __future__ import annotations

from typing import Any

from ..errors import Exit
from ..verdict import FAILING
from .evidence_file import word_of

#: what a change can be, in the order of a reader's interest
KINDS = ("worse", "gone", "other", "new", "better")
#: claims of a kind that one line names
SHOWN = 4


def compare(evidence: dict[str, Any], earlier: dict[str, Any]) -> dict[str, Any]:
    """The evidence with `since`. A claim that was judged then and is judged no longer makes a run "nothing checked", unless a
    selection explains it or something worse decides."""
    was, now = _verdicts(earlier), _verdicts(evidence)
    changes = [{"claim": claim, "subject": subject, "was": was.get((claim, subject), ""), "now": now.get((claim, subject), "")}
               for claim, subject in sorted(was.keys() | now.keys())
               if was.get((claim, subject)) != now.get((claim, subject))]
    gone = [one for one in changes if one["was"] not in ("", "not applicable") and one["now"] in ("", "not applicable")]
    compared = {**evidence, "since": {"started": earlier["started"], "command": earlier["command"],
                                      "fingerprint": earlier["fingerprint"], "changes": changes}}
    if gone and not evidence["selection"]["by"]:
        code = Exit.worst([Exit(evidence["verdict"]["exit"]), Exit.NOTHING_CHECKED])
        named = ", ".join(dict.fromkeys(one["claim"] for one in gone[:12]))
        reason = f"{len(gone)} verdicts of the earlier run have no counterpart any more: {named}"
        compared["verdict"] = {**evidence["verdict"], "exit": int(code), "word": word_of(code),
                               "reasons": [*evidence["verdict"]["reasons"], reason]}
    return compared


def kind(change: dict[str, str]) -> str:
    """One of `KINDS`."""
    if not change["was"]:
        return "new"
    if not change["now"]:
        return "gone"
    if change["now"] in FAILING and change["was"] not in FAILING:
        return "worse"
    return "better" if change["was"] in FAILING and change["now"] not in FAILING else "other"


def summarised(changes: list[dict[str, str]]) -> str:
    """The changes in one line: their kinds, with the claims that are first of each."""
    claims: dict[str, list[str]] = {}
    for one in changes:
        claims.setdefault(kind(one), []).append(one["claim"])
    parts = []
    for name in KINDS:
        named = list(dict.fromkeys(claims.get(name, ())))
        more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
        parts += [f"{name}: {', '.join(named[:SHOWN])}{more}"] if named else []
    return "; ".join(parts) or "nothing changed"


def _verdicts(evidence: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {(claim["id"], subject): own["verdict"] for claim in evidence["claims"]
            for subject, own in claim["subjects"].items()}
