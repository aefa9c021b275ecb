"""``evidence.json``: written in columns, which makes 10,000 checks a file of a megabyte, and read back only if it is whole.

A file that contradicts itself is refused: the verdicts are derived again from the checks in it, and every count from them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from .. import verdict
from ..claims import Catalogue, Claim
from ..deviations import Deviation
from ..errors import Exit, UsageError, said
from .evidence_file import standing, word_of
from .schema import SCHEMA, Evidence

COLUMNS = ("module", "case", "claims", "subject", "outcome", "kinds", "compared", "time")
CLOSEST = ("against", "compared", "measured", "where", "expected", "actual")
#: what is kept of a check that did not pass
PROBLEM = ("message", "raised", "bound", "looks_like", "stages", "worst", "rows", "detail")
#: columns of `CLOSEST` that hold indices of strings
WORDS = frozenset({"where", "expected", "actual"})
#: of a second
TICKS = 10_000


class _Strings:
    """A table in which every string stands once, in the order of its first use."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.index.setdefault(text, len(self.index))


def dump(evidence: dict[str, Any]) -> str:
    """The text of the file; the same evidence gives the same bytes."""
    packed = {**evidence, "results": pack(evidence["results"]), "claims": [_terse(claim) for claim in evidence["claims"]]}
    parts = [f"{json.dumps(key)}:{json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(',', ':'))}"
             for key, value in packed.items()]
    return "{" + ",\n".join(parts) + "}\n"


def _terse(claim: dict[str, Any]) -> dict[str, Any]:
    """A claim without what is empty."""
    def without_empty(one: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in one.items() if value or (value == 0 and value is not False)}

    return without_empty({**claim, "source": [without_empty(one) for one in claim["source"]],
                          "subjects": {name: without_empty(one) for name, one in claim["subjects"].items()}})


def pack(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Checks as columns."""
    strings = _Strings()
    columns: dict[str, Any] = {key: [] for key in COLUMNS}
    closest: dict[str, list[Any]] = {key: [] for key in CLOSEST}
    bounds: dict[tuple[Any, ...], int] = {}
    problems = []
    for number, result in enumerate(results):
        claims, node_id = "+".join(result["claims"]), result["nodeid"]
        module = node_id.partition("[")[0]
        case, usual = node_id.removeprefix(module), f"[{claims}-{result['subject']}"
        case = "*" + case.removeprefix(usual) if case.startswith(usual) else case
        own = (strings(module), strings(case), strings(claims), strings(result["subject"]), strings(result["outcome"]),
               strings(",".join(result["kinds"])), result["compared"], round(result["seconds"] * TICKS))
        for column, value in zip(columns.values(), own, strict=True):
            column.append(value)
        one = result["closest"]
        against = bounds.setdefault((one["kind"], one["bound"], one["why"]), len(bounds)) if one else -1
        closest["against"].append(against)
        for key in CLOSEST[1:]:
            value = one[key] if one else "" if key in WORDS else 0
            closest[key].append(strings(str(value)) if key in WORDS else value)
        if result["outcome"] != "passed":
            problem: dict[str, Any] = {key: result[key] for key in PROBLEM if key in result}
            problems.append({"row": number, **problem})
    table = [{"kind": kind, "bound": bound, "why": why} for kind, bound, why in bounds]
    return {"strings": list(strings.index), **columns, "bounds": table, "closest": closest, "problems": problems}


def unpack(packed: dict[str, Any]) -> list[dict[str, Any]]:
    """Columns as checks. Raises `ValueError` where their lengths differ or an index leads nowhere."""
    strings, closest = packed["strings"], packed["closest"]
    if len({len(packed[name]) for name in COLUMNS} | {len(column) for column in closest.values()}) > 1:
        raise ValueError("the columns of its results have different lengths")
    try:
        results = [_row(strings, packed["bounds"], own, nearest) for own, nearest in zip(
            zip(*(packed[name] for name in COLUMNS), strict=True), zip(*(closest[name] for name in CLOSEST), strict=True),
            strict=True)]
        for problem in packed["problems"]:
            results[problem["row"]] |= {key: value for key, value in problem.items() if key != "row"}
    except IndexError as error:
        raise ValueError("its results hold an index that leads nowhere") from error
    return results


def _row(strings: list[str], bounds: list[dict[str, Any]], own: tuple[Any, ...], nearest: tuple[Any, ...]) -> dict[str, Any]:
    module, case, claims, subject, outcome, kinds = (strings[index] for index in own[:6])
    against, compared, measured, *words = nearest
    where, expected, actual = (strings[index] for index in words)
    return {
        "nodeid": module + (f"[{claims}-{subject}{case[1:]}" if case.startswith("*") else case),
        "seconds": own[7] / TICKS, "claims": claims.split("+") if claims else [], "subject": subject, "outcome": outcome,
        "raised": False, "message": "", "compared": own[6], "kinds": kinds.split(",") if kinds else [],
        "closest": {**bounds[against], "compared": compared, "measured": measured, "where": where, "expected": expected,
                    "actual": actual} if against >= 0 else None,
    }


def load(path: Path) -> dict[str, Any]:
    """Read evidence. Raises `UsageError` for what is no evidence, is cut off, or contradicts itself."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: no evidence, or cut off: {said(error)}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        found = data.get("schema", "none") if isinstance(data, dict) else "none"
        raise UsageError(f"{path}: its schema is {found}, and this version reads {SCHEMA}")
    try:
        whole = Evidence.model_validate(data)
        data["claims"] = [claim.model_dump() for claim in whole.claims]
        data["deviations"] = [one.model_dump() for one in whole.deviations]
        data["selection"].setdefault("partial", [])
        data["results"] = unpack(data["results"])
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"])
        raise UsageError(f"{path}: no valid evidence: {place}: {problem['msg']}") from error
    except ValueError as error:
        raise UsageError(f"{path}: no valid evidence: {error}") from error
    for contradiction in contradictions(data):
        raise UsageError(f"{path}: it contradicts itself: {contradiction}")
    return data


def contradictions(evidence: dict[str, Any]) -> Iterator[str]:
    """What the file says and its own checks do not bear out."""
    reconciliation, stated = evidence["reconciliation"], evidence["verdict"]
    missing, known = len(reconciliation["lost"]) + len(reconciliation["not_run"]), len(evidence["results"])
    if reconciliation["reported"] != known:
        yield f"it reports {reconciliation['reported']} checks and holds {known}"
    if reconciliation["collected"] != known + missing:
        yield (f"collected {reconciliation['collected']} is not reported {known} + lost {len(reconciliation['lost'])} "
               f"+ not run {len(reconciliation['not_run'])}")
    names = [result["nodeid"] for result in evidence["results"]] + [one["nodeid"] for one in reconciliation["lost"]]
    if len(names) != len(set(names)):
        yield "a check stands in it twice"
    ids = {claim["id"] for claim in evidence["claims"]}
    strangers = {claim_id for result in evidence["results"] for claim_id in result["claims"]} - ids
    strangers |= {other for claim in evidence["claims"] for other in claim["after"]} - ids
    if strangers:
        yield f"it names claims that it does not hold: {', '.join(sorted(strangers))}"
        return
    if len(ids) != len(evidence["claims"]):
        yield "a claim stands in it twice"
    judgement = rejudge(evidence)
    yield from _verdicts(evidence, judgement)
    selected = selection(evidence, judgement)
    if evidence["selection"]["claims"] != len(selected):
        yield f"it selects {evidence['selection']['claims']} claims and holds {len(selected)}"
    counts = judgement.counts(selected)
    if {word: counts[word] for word in verdict.WORDS} != {word: stated["counts"].get(word, 0) for word in verdict.WORDS}:
        yield f"its counts are {_shown(stated['counts'])}, and its claims give {_shown(counts)}"
    faults = sum(not one["sound"] for one in evidence["specimens"].values())
    if (evidence["proof"]["faults"], evidence["proof"]["sound"]) != (faults, len(evidence["specimens"]) - faults):
        yield "it does not hold the faults and sound variants that it counts"
    if [standing(one) for one in judgement.deviations] != evidence["deviations"]:
        yield "what it says of accepted deviations does not follow from its checks"
    yield from _exit(evidence, judgement, selected)


def _verdicts(evidence: dict[str, Any], judgement: verdict.Judgement) -> Iterator[str]:
    for claim in evidence["claims"]:
        own = {subject: one["verdict"] for subject, one in claim["subjects"].items()}
        derived = {subject: one.word for subject, one in judgement.by_subject[claim["id"]].items()}
        for subject in sorted(own.keys() | derived.keys()):
            if own.get(subject) != derived.get(subject):
                yield (f"{claim['id']} on {subject} is called {own.get(subject, 'not judged')}, and its checks say "
                       f"{derived.get(subject, 'not judged')}")
        overall = judgement.overall.get(claim["id"])
        if overall is None or overall.word != claim["verdict"]:
            yield (f"{claim['id']} is called {claim['verdict']}, and its subjects say "
                   f"{overall.word if overall else 'not judged'}")


def _exit(evidence: dict[str, Any], judgement: verdict.Judgement, selected: list[str]) -> Iterator[str]:
    stated, footer, reconciliation = evidence["verdict"], evidence["footer"], evidence["reconciliation"]
    code = Exit(stated["exit"])
    if stated["word"] != word_of(code):
        yield f"its verdict is {stated['word']}, and its exit code {code:d} means {word_of(code)}"
    least = verdict.exit_code(judgement, selected, len(reconciliation["lost"]))
    if Exit.worst([code, least]) != code and code not in (Exit.USAGE, Exit.NO_VERDICT):
        yield f"its exit code is {code:d}, and its claims give {least:d}"
    if code == Exit.VERIFIED and (stated["reasons"] or not footer["complete"]):
        yield "it is called verified, and says why it is not"
    if footer["complete"] and (reconciliation["not_run"] or code in (Exit.INTERRUPTED, Exit.INTERNAL)):
        yield "it is called complete, and is not"


def _shown(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "none"


def selection(evidence: dict[str, Any], judgement: verdict.Judgement) -> list[str]:
    """The claims that decide: all that were judged, or with a selection those that it touched."""
    judged = [claim["id"] for claim in evidence["claims"] if claim["id"] in judgement.overall]
    return [claim_id for claim_id in judged
            if not evidence["selection"]["by"] or judgement.overall[claim_id].word != "informative"]


def _deviation(one: dict[str, Any]) -> Deviation:
    written = {key: value for key, value in one.items() if key not in ("state", "why", "until")}
    return Deviation(**written, until=date.fromisoformat(one["until"]) if one["until"] else None)


def rejudge(evidence: dict[str, Any]) -> verdict.Judgement:
    """The verdicts, from the checks in the evidence alone."""
    ids = {claim["id"] for claim in evidence["claims"]}
    catalogue = Catalogue([Claim.model_construct(
        id=claim["id"], level=claim["level"], why=claim["why"], source=[one["cite"] for one in claim["source"]],
        after=claim["after"], proxy=[other for other in claim["proxy"] if other in ids]) for claim in evidence["claims"]])
    lost = {one["nodeid"]: (one["claims"], one["subject"], one["why"]) for one in evidence["reconciliation"]["lost"]}
    facts = verdict.Facts(
        not_applicable={(claim["id"], subject): own["reason"] for claim in evidence["claims"] if not claim["proxy"]
                        for subject, own in claim["subjects"].items() if own["verdict"] == "not applicable"},
        lost=lost, proven=frozenset(claim["id"] for claim in evidence["claims"] if claim["proven"]),
        stale_sources=frozenset(source for source, state in evidence["documents"]["passages"].items() if state == "changed"),
        deviations=tuple(_deviation(one) for one in evidence["deviations"]), today=today(evidence),
        partial=frozenset((claim, subject) for claim, subject in evidence["selection"]["partial"]))
    return verdict.judge(catalogue, evidence["results"], facts)


def today(evidence: dict[str, Any]) -> str:
    """The day of a run, or of the last of several, by which accepted deviations have ended."""
    return str(max([evidence["started"], *(part["started"] for part in evidence["merged"])])[:10])
