"""The evidence, assembled from the outcome of a run. `store` writes and reads it as ``evidence.json``."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from .. import __version__, proof, verdict
from ..claims import Catalogue, Claim, test_places
from ..deviations import Deviation
from ..documents import Documents, fixture
from ..errors import Exit
from ..run import Outcome
from .schema import SCHEMA

#: lines of the documents that one message names
MOST_LINES = 12


@dataclass
class Context:
    """What is known besides the outcome: the catalogue, the documents, the proof records and how the run was asked for."""

    catalogue: Catalogue
    documents: Documents
    records: dict[str, dict[str, Any]]
    command: list[str]
    #: the options that choose among the claims; empty for a full run
    selection: list[str] = field(default_factory=list)
    #: for this project's own gate: every claim but these must be verified on some subject; None asks for nothing
    unverified: Collection[str] | None = None
    #: the failures that the user accepts
    deviations: tuple[Deviation, ...] = ()

    def proven(self) -> frozenset[str]:
        """The claims that a committed proof shows to catch a fault."""
        return frozenset(claim_id for record in self.records.values()
                         for claim_id, one in record["claims"].items() if one["proven"])

    def outdated(self) -> list[str]:
        """Chapters whose files changed after their proof, or that have none."""
        return [chapter for chapter in self.catalogue.chapters()
                if self.records.get(chapter, {}).get("digest") != proof.digest(chapter)]

    def unaccounted(self) -> list[str]:
        """The lines of the documents that no claim cites and no list excuses."""
        return self.documents.unaccounted(self.catalogue)


def judge(context: Context, outcome: Outcome) -> verdict.Judgement:
    """The verdicts of everything that was reported or lost so far."""
    lost = {node_id: (*outcome.collected.get(node_id, ([], "")), why) for node_id, why in sorted(outcome.lost.items())}
    facts = verdict.Facts(not_applicable=outcome.not_applicable, lost=lost, proven=context.proven(),
                          stale_sources=frozenset(context.documents.stale()), deviations=context.deviations,
                          today=outcome.opened.get("started", "")[:10], partial=outcome.incomplete())
    # By name, not as they finished: with several processes that order differs from run to run, and a reason is the first.
    return verdict.judge(context.catalogue, [outcome.results[node_id] for node_id in sorted(outcome.results)], facts)


def assemble(context: Context, outcome: Outcome) -> dict[str, Any]:
    """Everything that the reports show. The last entry is the footer: without it the evidence is no evidence."""
    judgement = judge(context, outcome)
    selected = _selected(context, judgement)
    counts = judgement.counts(selected)
    reasons = _reasons(context, outcome, judgement)
    code = _exit(context, outcome, judgement, selected, reasons)
    environment = outcome.opened.get("environment", {})
    rows = [_finite(outcome.results[node_id]) for node_id in sorted(outcome.results)]
    return {
        "schema": SCHEMA,
        "harness": __version__,
        "catalogue": {"version": context.catalogue.version, "claims": len(context.catalogue)},
        "command": context.command,
        "started": outcome.opened.get("started", ""),
        "seed": outcome.opened.get("seed", 0),
        "selection": {"by": context.selection, "claims": len(selected), "of": len(context.catalogue),
                      "partial": sorted(list(key) for key in outcome.incomplete() if key[0] in judgement.overall)},
        "environment": environment,
        "fingerprint": fingerprint(environment),
        "subjects": outcome.opened.get("subjects", []),
        "reference": outcome.opened.get("reference"),
        "documents": _documents(context),
        "proof": {"outdated": context.outdated(),
                  "faults": sum(not one["sound"] for one in _specimens(context).values()),
                  "sound": sum(one["sound"] for one in _specimens(context).values())},
        "specimens": _specimens(context),
        "claims": [_claim(claim, context, judgement) for claim in context.catalogue if claim.id in judgement.overall],
        "deviations": [standing(one) for one in judgement.deviations],
        "results": [{key: value for key, value in row.items() if key != "figures"} for row in rows],
        "figures": [{**figure, "claims": row["claims"], "subject": row["subject"], "nodeid": row["nodeid"]}
                    for row in rows for figure in row.get("figures", [])],
        "benchmarks": [],
        "merged": [],
        "reconciliation": {"collected": len(outcome.collected), "reported": len(outcome.results),
                           "lost": [{"nodeid": node_id, "claims": outcome.collected.get(node_id, ([], ""))[0],
                                     "subject": outcome.collected.get(node_id, ([], ""))[1], "why": why}
                                    for node_id, why in sorted(outcome.lost.items())],
                           "not_run": sorted(outcome.missing())},
        "verdict": {"word": word_of(code), "exit": int(code), "counts": counts, "reasons": reasons,
                    **({"refused": outcome.refused_as} if outcome.refused_as else {})},
        "footer": {"complete": not (outcome.interrupted or outcome.broke or outcome.refused or outcome.missing()),
                   "seconds": round(outcome.seconds, 2)},
    }


def standing(one: verdict.Standing) -> dict[str, str]:
    """An accepted deviation as evidence: what was written, and what became of it."""
    entry = one.deviation.model_dump(mode="json")
    return {**entry, "until": entry["until"] or "", "state": one.state, "why": one.why}


def _selected(context: Context, judgement: verdict.Judgement) -> list[str]:
    """The claims that decide: with a selection those that it touched, without one all that were judged."""
    touched = [claim.id for claim in context.catalogue if claim.id in judgement.overall]
    if not context.selection:
        return touched
    return [claim_id for claim_id in touched if judgement.overall[claim_id].word != "informative"]


def _reasons(context: Context, outcome: Outcome, judgement: verdict.Judgement) -> list[str]:
    """Why the run has no verdict or is not complete, in sentences."""
    reasons = []
    if outcome.refused:
        reasons.append(outcome.refused[1])
    if outcome.interrupted:
        reasons.append("interrupted: what was finished is reported")
    if outcome.broke:
        reasons.append(f"the harness broke: {outcome.broke}")
    if outcome.lost:
        reasons.append(f"{len(outcome.lost)} of {len(outcome.collected)} tests were lost")
    if outcome.not_run:
        reasons.append(f"stopped at the first failure: {len(outcome.not_run)} tests were not run")
    if context.unverified is not None:
        verified = {claim.id for claim in context.catalogue
                    if any(one.word == "verified" for one in judgement.by_subject.get(claim.id, {}).values())
                    or claim.level == "informative"}
        # What is said about the documents' text can only be verified where that is given.
        excused = {claim.id for claim in context.catalogue if proof.needs_documents(claim) and not context.documents.given}
        missing = [claim.id for claim in context.catalogue if claim.id not in verified | excused | set(context.unverified)]
        needless = [claim_id for claim_id in context.unverified if claim_id in verified or claim_id not in context.catalogue]
        if missing:
            reasons.append(f"not verified on any subject, and not listed as such: {', '.join(missing)}")
        if needless:
            reasons.append(f"listed as unverified without need: {', '.join(needless)}")
    if not context.selection and (lines := context.unaccounted()):
        shown = ", ".join(lines[:MOST_LINES]) + (f" and {len(lines) - MOST_LINES} more" if len(lines) > MOST_LINES else "")
        reasons.append(f"lines of the documents that no claim cites, and that are not listed in {fixture().name}: {shown}")
    return reasons


def _exit(context: Context, outcome: Outcome, judgement: verdict.Judgement, selected: list[str],
          reasons: list[str]) -> Exit:
    if outcome.refused:
        return outcome.refused[0]
    codes = [verdict.exit_code(judgement, selected, len(outcome.lost))]
    if outcome.broke:
        codes.append(Exit.INTERNAL)
    if outcome.interrupted:
        codes.append(Exit.INTERRUPTED)
    if any("verified on any subject" in reason or "without need" in reason for reason in reasons):
        codes.append(Exit.REFUTED)
    if not context.selection and context.unaccounted():
        codes.append(Exit.REFUTED)
    return Exit.worst(codes)


def _documents(context: Context) -> dict[str, Any]:
    """What is known of the documents; their text and hashes only where they were given."""
    documents = context.documents
    hashes = {key: hashlib.sha256((documents.folder / name).read_bytes()).hexdigest()
              for key, name in documents.names.items()} if documents.folder else {}
    return {"given": documents.given, "folder": str(documents.folder or ""), "names": documents.names, "sha256": hashes,
            "passages": documents.state, "unaccounted": context.unaccounted(), "listed": documents.listed(),
            "lines": documents.lines}


def fingerprint(environment: dict[str, Any]) -> str:
    """Twelve digits that are the same for runs on equal versions, processors and threads."""
    text = json.dumps(environment, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12] if environment else ""


def word_of(code: Exit) -> str:
    return {Exit.VERIFIED: "verified", Exit.REFUTED: "refuted", Exit.INTERRUPTED: "interrupted", Exit.INTERNAL: "broken",
            Exit.USAGE: "unusable", Exit.NOTHING_CHECKED: "nothing-checked", Exit.NO_VERDICT: "inconclusive"}[code]


def _specimens(context: Context) -> dict[str, Any]:
    return {name: one for record in context.records.values() for name, one in sorted(record["specimens"].items())}


def _claim(claim: Claim, context: Context, judgement: verdict.Judgement) -> dict[str, Any]:
    proof_record = context.records.get(claim.chapter, {})
    record = proof_record.get("claims", {}).get(claim.id, {})
    overall = judgement.overall[claim.id]
    return {
        "id": claim.id, "chapter": claim.chapter, "says": claim.says.model_dump(), "level": claim.level, "why": claim.why,
        "kind": claim.kind, "bound": claim.bound, "domain": claim.domain, "note": claim.note, "needs": claim.needs,
        "requires": claim.requires, "proxy": claim.proxy,
        "after": list(dict.fromkeys(_rests_on(claim.after, context.catalogue, judgement))),
        "source": [{"cite": source, "state": context.documents.state.get(source, "not checked"),
                    "quote": context.documents.quote(source)} for source in claim.source],
        "tests": [{"place": f"suites/{place.path.parent.name}/{place.path.name}:{place.line}", "name": place.name,
                   "says": place.says} for place in test_places() if claim.id in place.claims],
        "proven": record.get("proven", False), "caught": record.get("caught", []),
        "passed_by": record.get("passed_by", []), "margin": proof_record.get("measured", {}).get(claim.id),
        "verdict": overall.word, "reason": overall.reason,
        "subjects": {subject: {"verdict": one.word, "reason": one.reason}
                     for subject, one in judgement.by_subject[claim.id].items()},
    }


def _rests_on(claim_ids: Iterable[str], catalogue: Catalogue, judgement: verdict.Judgement) -> Iterable[str]:
    """The claims of this run that a claim rests on; one that was not judged stands for those that it rests on itself."""
    for claim_id in claim_ids:
        if claim_id in judgement.overall:
            yield claim_id
        else:
            yield from _rests_on(catalogue[claim_id].after, catalogue, judgement)


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinities; they are written as words."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return value


def last_line(evidence: dict[str, Any]) -> str:
    """The one line to look for: always there, always last, the same order of keys."""
    counts, reconciliation = evidence["verdict"]["counts"], evidence["reconciliation"]
    shown = {"verdict": evidence["verdict"]["word"], "claims": sum(counts.values())}
    shown |= {word.replace(" ", "_"): counts[word] for word in ("verified", "refuted", "error")}
    for word in ("blocked", "stale", "unproven", "deviation"):
        if counts[word]:
            shown[word] = counts[word]
    if outdated := sum(one["state"] == "outdated" for one in evidence["deviations"]):
        shown["outdated"] = outdated
    shown |= {"not_applicable": counts["not applicable"], "informative": counts["informative"],
              "lost": len(reconciliation["lost"])}
    if evidence["selection"]["by"]:
        shown["selected"] = f"{evidence['selection']['claims']}/{evidence['selection']['of']}"
    if evidence["verdict"]["exit"] in (Exit.USAGE, Exit.NO_VERDICT) and not reconciliation["collected"]:
        otherwise = "usage" if evidence["verdict"]["exit"] == Exit.USAGE else "not-loaded"
        shown["reason"] = evidence["verdict"].get("refused") or otherwise
    return " ".join(f"{key}={value}" for key, value in {**shown, "seconds": evidence["footer"]["seconds"]}.items())
