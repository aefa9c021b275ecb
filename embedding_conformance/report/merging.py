"""Several runs as one: parts of one run that were judged apart, or other subjects."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .. import verdict
from ..errors import Exit, UsageError
from .evidence_file import standing, word_of
from .store import rejudge, selection

#: what the runs must have in common, and what it is called
COMMON = {"harness": "versions of the harness", "catalogue": "catalogues", "seed": "seeds", "specimens": "records of the proof"}


def merge(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """One evidence of all `parts`; a single one is returned as it is.

    Raises `UsageError` when two hold the same check, or were not made alike enough for one verdict.
    """
    if len(parts) == 1:
        return parts[0]
    for key, name in COMMON.items():
        if any(part[key] != parts[0][key] for part in parts):
            raise UsageError(f"these runs cannot be merged: they were made with different {name}")
    references = [part["reference"] for part in parts if part.get("reference")]
    if any(one != references[0] for one in references):
        raise UsageError("these runs cannot be merged: their subjects were compared with different references")
    results = sorted((result for part in parts for result in part["results"]), key=lambda one: one["nodeid"])
    lost = sorted((one for part in parts for one in part["reconciliation"]["lost"]), key=lambda one: one["nodeid"])
    judged = [one["nodeid"] for one in [*results, *lost]]
    if twice := sorted(name for name, count in Counter(judged).items() if count > 1):
        raise UsageError(f"these runs cannot be merged: {len(twice)} checks stand in more than one of them, such as {twice[0]}")
    not_run = sorted({name for part in parts for name in part["reconciliation"]["not_run"]} - set(judged))
    documents = next((part["documents"] for part in parts if part["documents"]["given"]), parts[0]["documents"])
    if any(part["documents"]["sha256"] not in ({}, documents["sha256"]) for part in parts):
        raise UsageError("these runs cannot be merged: they were made with different documents")
    merged = {
        **parts[0],
        "started": min(part["started"] for part in parts),
        "environment": parts[0]["environment"] if len({part["fingerprint"] for part in parts}) == 1 else {},
        "fingerprint": parts[0]["fingerprint"] if len({part["fingerprint"] for part in parts}) == 1 else "",
        "subjects": list({one["name"]: one for part in parts for one in part["subjects"]}.values()),
        "reference": references[0] if references else None,
        "documents": documents,
        "proof": {**parts[0]["proof"], "outdated": sorted({one for part in parts for one in part["proof"]["outdated"]})},
        "claims": _claims(parts),
        "deviations": _deviations(parts),
        "results": results,
        "figures": sorted((one for part in parts for one in part["figures"]), key=lambda one: (one["nodeid"], one["title"])),
        "benchmarks": [one for part in parts for one in part["benchmarks"]],
        "merged": [single for part in parts for single in part["merged"] or [{
            "command": part["command"], "started": part["started"], "environment": part["environment"],
            "word": part["verdict"]["word"], "reported": part["reconciliation"]["reported"],
            "seconds": part["footer"]["seconds"]}]],
        "reconciliation": {"collected": len(results) + len(lost) + len(not_run), "reported": len(results), "lost": lost,
                           "not_run": not_run},
        "footer": {"complete": all(part["footer"]["complete"] for part in parts),
                   "seconds": round(sum(part["footer"]["seconds"] for part in parts), 2)},
    }
    merged.pop("since", None)
    whole = any(not part["selection"]["by"] for part in parts)
    by = [] if whole else list(dict.fromkeys(word for part in parts for word in part["selection"]["by"]))
    partial = sorted({tuple(key) for part in parts for key in part["selection"]["partial"]})
    merged["selection"] = {"by": by, "claims": 0, "of": parts[0]["selection"]["of"], "partial": [list(key) for key in partial]}
    return _judged(merged, parts)


def _claims(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every claim of the parts, with what each of them says about its subjects."""
    found: dict[str, dict[str, Any]] = {}
    order = max(parts, key=lambda part: len(part["claims"]))["claims"]
    for claim in [*order, *(claim for part in parts for claim in part["claims"])]:
        if claim["id"] not in found:
            found[claim["id"]] = {**claim, "subjects": dict(claim["subjects"])}
            continue
        one = found[claim["id"]]
        one["subjects"] |= claim["subjects"]
        one["after"] = list(dict.fromkeys([*one["after"], *claim["after"]]))
        if any(source["quote"] for source in claim["source"]):
            one["source"] = claim["source"]
    return list(found.values())


def _deviations(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The accepted deviations of all parts, each once; what became of them is derived from the whole."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for part in parts:
        for one in part["deviations"]:
            written = tuple(value for key, value in one.items() if key not in ("origin", "state", "why"))
            found.setdefault(written, one)
    return list(found.values())


def _judged(merged: dict[str, Any], parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Verdicts, counts and exit code of the whole."""
    judgement = rejudge(merged)
    merged["deviations"] = [standing(one) for one in judgement.deviations]
    for claim in merged["claims"]:
        overall = judgement.overall[claim["id"]]
        claim |= {"verdict": overall.word, "reason": overall.reason,
                  "subjects": {subject: {"verdict": one.word, "reason": one.reason}
                               for subject, one in judgement.by_subject[claim["id"]].items()}}
    selected = selection(merged, judgement)
    merged["selection"]["claims"] = len(selected)
    # That one part found nothing to check is no news where another did. That claims of it failed, or deviations of it were
    # outdated, is derived from the whole; what else failed it stands in its reasons.
    codes = [verdict.exit_code(judgement, selected, len(merged["reconciliation"]["lost"]))]
    codes += [Exit(part["verdict"]["exit"]) for part in parts
              if part["verdict"]["exit"] not in (Exit.VERIFIED, Exit.NOTHING_CHECKED)
              and (part["verdict"]["exit"] != Exit.REFUTED or part["verdict"]["reasons"])]
    code = Exit.worst(codes)
    merged["verdict"] = {"word": word_of(code), "exit": int(code), "counts": judgement.counts(selected),
                         "reasons": list(dict.fromkeys(reason for part in parts for reason in part["verdict"]["reasons"]))}
    return merged
