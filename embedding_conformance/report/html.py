"""The page: one self-contained file that asks for nothing from anywhere and is whole without JavaScript."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import shlex
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from ..subjects import show
from . import changes, faults, reading
from .evidence_file import last_line
from .failures import EXPLAINED, closest, failures, repeat
from .figures import draw, of_bound, strip, used
from .summary import headline

#: marks that order text from right to left, and NUL
UNSEEN = re.compile("[\u202a-\u202e\u2066-\u2069\0]")
TEMPLATES = Path(__file__).parent / "templates"
#: lines of one claim's list of checks; the evidence holds the others
MOST_CHECKS = 60
TIME = {"s": 1.0, "ms": 1e-3, "\N{MICRO SIGN}s": 1e-6}
MEMORY = {"GiB": 2.0**30, "MiB": 2.0**20, "KiB": 2.0**10}


def render(evidence: dict[str, Any]) -> str:
    """The same evidence gives the same bytes."""
    style, script = ((TEMPLATES / name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
    checks: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for result in evidence["results"]:
        for claim_id in result["claims"]:
            checks[claim_id, result["subject"]].append(result)
    chapters: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for claim in evidence["claims"]:
        chapters[claim["chapter"]].append(_card(evidence, claim, checks))
    known = {claim["id"] for claim in evidence["claims"]}
    return _template().render(
        evidence=evidence, headline=headline(evidence), chapters=chapters, known=known, style=style, script=script,
        style_hash=_hash(style), script_hash=_hash(script), failures=failures(evidence), closest=closest(evidence),
        last_line=last_line(evidence), start=_start(evidence), figures=[draw(one, f"figure-{number}") for number, one in
                                                enumerate(evidence["figures"], 1)],
        reading=reading.view(evidence), faults=faults.view(evidence), comparison=_comparison(evidence, checks),
        changes=_changes(evidence), deviations=[_known(one) for one in evidence["deviations"]],
        scale=_scale(evidence["benchmarks"]), measured=(measured := _growth(evidence["benchmarks"])),
        compared=any(row.get("before") is not None for rows in measured for row in rows))


def _start(evidence: dict[str, Any]) -> list[tuple[str, int]]:
    """Refuted claims that other failures rest on, and how many these are, the most first."""
    blocked = [{claim["id"], *claim["after"]} - {claim["id"]} for claim in evidence["claims"] if claim["verdict"] == "blocked"]
    counts = {claim["id"]: sum(claim["id"] in after for after in blocked) for claim in evidence["claims"]
              if claim["verdict"] in ("refuted", "error")}
    return sorted(((one, count) for one, count in counts.items() if count), key=lambda pair: -pair[1])[:3]


def _card(evidence: dict[str, Any], claim: dict[str, Any],
          checks: dict[tuple[str, str], list[dict[str, Any]]]) -> dict[str, Any]:
    """What the card of a claim shows besides the claim itself."""
    found = {name: checks.get((claim["id"], name), []) for name in claim["subjects"]}
    nearest = {name: _nearest(results) for name, results in found.items()}
    observed = {name: share for name, one in nearest.items() if (share := used(one)) is not None}
    bounds = list(dict.fromkeys(_bound(one) for one in nearest.values() if one))
    return {
        **claim, "bounds": bounds,
        "strip": _marked(strip(observed, claim["margin"])) if claim["bound"] != "exact" and _upper(nearest) else None,
        "on": [{"name": name, **own, "lines": _own_lines(found[name], nearest[name], len(claim["tests"]))}
               for name, own in claim["subjects"].items()],
        "repeat": _commands(evidence, claim, [name for name, results in found.items() if results]),
        "checks": _checks(found, bounds),
        "faults": _faults(evidence, claim)}


def _upper(nearest: dict[str, dict[str, Any] | None]) -> bool:
    """Whether what was measured has to stay below its bound, as the strip shows it."""
    return not any(one and one["kind"] in ("greater", "differs") for one in nearest.values())


STANDING = {"accepted": "deviation", "outdated": "refuted", "not judged": "soft"}


def _known(one: dict[str, Any]) -> dict[str, Any]:
    """An accepted deviation with its colour and what narrows it."""
    only = [f"{key} {one[key]}" for key in ("subject", "case") if one[key]]
    only += [f'where it says "{one["match"]}"'] if one["match"] else []
    return {**one, "style": STANDING[one["state"]], "only": ", ".join(only)}


def _faults(evidence: dict[str, Any], claim: dict[str, Any]) -> list[str]:
    """The faults that are there for this claim, with what they do; then the names of others that it catches as well."""
    own, others = [], []
    for name in claim["caught"]:
        one = evidence["specimens"].get(name)
        if one and claim["id"] in one["breaks"]:
            own.append(f"{name}: {one['says']}")
        else:
            others.append(name)
    return [*own, *([f"{'Also ' if own else ''}{', '.join(others)}"] if others else []),
            *([f"Passes, as it must: {', '.join(claim['passed_by'])}"] if claim["passed_by"] else [])]


def _marked(drawn: dict[str, str] | None) -> dict[str, str] | None:
    return {**drawn, "svg": Markup(drawn["svg"])} if drawn else None


def _nearest(results: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The comparison that used most of its bound."""
    one = max((result["closest"] for result in results if result["closest"]), key=_use, default=None)
    return one if one and _use(one) >= 0 else None


def _use(closest: dict[str, Any]) -> float:
    share = used(closest)
    return -1.0 if share is None else share


def _bound(closest: dict[str, Any]) -> str:
    word = "at least" if closest["kind"] in ("greater", "differs") else "at most"
    return f"{word} {measure(closest['bound'])}: {closest['why']}"


def _own_lines(results: list[dict[str, Any]], nearest: dict[str, Any] | None, tests: int) -> list[str]:
    """What was measured on one subject; `tests` are all that the claim has, of which some may ask for another facet."""
    if not results:
        return []
    compared = sum(result["compared"] for result in results)
    if failed := [result for result in results if result["outcome"] != "passed"]:
        first = failed[0]
        bound = f"; bound: {first['bound']}" if first.get("bound") else ""
        return [f"{len(failed)} of {_plural(len(results), 'check')} failed: {first['message']}{bound}",
                *(f"{label} {first[key]}" for key, label in EXPLAINED.items() if first.get(key)),
                *(first.get("worst") or first.get("detail") or [])[:4]]
    line = f"{_plural(len(results), 'check')}, {_plural(compared, 'value')}"
    ran = len({result["nodeid"].partition("[")[0] for result in results})
    if ran < tests:
        line += f" ({ran} of its {tests} tests: the others ask for what this subject does not offer or declare)"
    if not nearest:
        return [f"{line}: {_kinds(results)}"]
    place = f" {nearest['where']}" if nearest["where"] else ""
    shown = f", expected {nearest['expected']}, found {nearest['actual']}" if nearest["expected"] or nearest["actual"] else ""
    if nearest["kind"] in ("greater", "differs"):  # both are measured, and differ as they must
        shown = f", between {nearest['expected']} and {nearest['actual']}" if shown else ""
    if nearest["expected"] and nearest["expected"] == nearest["actual"]:
        shown = f", expected and found {nearest['expected']}"
    return [f"{line}; nearest to the bound: {measure(nearest['measured'])}{place}{shown}"]


def _commands(evidence: dict[str, Any], claim: dict[str, Any], subjects: list[str]) -> list[str]:
    """One command for all subjects where their options are the same, else one each."""
    commands = {name: repeat(evidence, claim["id"], name) for name in subjects}
    quoted = {name: shlex.quote(name) for name in subjects}
    options = {command.replace(f" check {quoted[name]}", " check", 1) for name, command in commands.items()}
    if len(options) == 1 and len(commands) > 1:
        return [options.pop().replace(" check", f" check {' '.join(quoted.values())}", 1)]
    return list(commands.values())


def _checks(found: dict[str, list[dict[str, Any]]], bounds: list[str]) -> list[str]:
    """Every check, failures first: a line for each test and subject, with the parameters and what was measured."""
    lines = []
    for name, results in found.items():
        groups: dict[str, list[str]] = defaultdict(list)
        for result in sorted(results, key=lambda one: one["outcome"] == "passed")[:MOST_CHECKS]:
            test, _, case = result["nodeid"].partition("::")[2].partition("[")
            usual = f"{'+'.join(result['claims'])}-{name}"
            case = case.removeprefix(usual).removeprefix("-").removesuffix("]")
            measured = _measured(result["closest"], bounds)
            groups[test].append(FAILED[result["outcome"]] + ": ".join(filter(None, (case, measured))))
        on = f" on {name}" if len(found) > 1 else ""
        lines += [f"{test}{on}: {'; '.join(cases)}" if any(cases) else f"{test}{on}" for test, cases in groups.items()]
        if len(results) > MOST_CHECKS:
            lines.append(f"and {len(results) - MOST_CHECKS} more{on}, in evidence.json")
    return lines


FAILED = {"passed": "", "violated": "FAILED ", "error": "ERROR "}


def _measured(closest: dict[str, Any] | None, bounds: list[str]) -> str:
    if not closest:
        return ""
    other = "" if [_bound(closest)] == bounds else f" of {measure(closest['bound'])}"
    return f"{measure(closest['measured'])}{other}"


WORDS = {"equal": "equal bit for bit", "close": "no difference", "at most": "nothing over", "refuses": "refused as it must be",
         "greater": "greater", "differs": "different"}


def _kinds(results: list[dict[str, Any]]) -> str:
    return ", ".join(WORDS.get(kind, kind) for kind in sorted({kind for result in results for kind in result["kinds"]}))


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def _comparison(evidence: dict[str, Any], checks: dict[tuple[str, str], list[dict[str, Any]]]) -> dict[str, Any] | None:
    """Where several subjects were judged: verdicts by chapter, and the claims on which they differ."""
    names = [one["name"] for one in evidence["subjects"]]
    if len(names) < 2:
        return None
    table: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: {name: defaultdict(int) for name in names})
    differing, shared = [], 0
    for claim in evidence["claims"]:
        words = {name: claim["subjects"][name]["verdict"] for name in names if name in claim["subjects"]}
        for name, word in words.items():
            table[claim["chapter"]][name][word] += 1
        shared += len(words) > 1
        if len(set(words.values())) > 1:
            differing.append({"id": claim["id"], "says": claim["says"], "words": [words.get(name, "") for name in names],
                              "use": [_use_text(checks.get((claim["id"], name), [])) for name in names]})
    rows = {chapter: [", ".join(f"{count} {word}" for word, count in sorted(own[name].items())) for name in names]
            for chapter, own in table.items() if any(own.values())}
    return {"names": names, "rows": rows, "differing": differing, "shared": shared}


def _use_text(results: list[dict[str, Any]]) -> str:
    nearest = _nearest(results)
    share = used(nearest) if nearest else None
    return f", {of_bound(share)}" if share else ""


def _changes(evidence: dict[str, Any]) -> list[dict[str, str]] | None:
    if "since" not in evidence:
        return None
    return sorted(({**one, "kind": changes.kind(one)} for one in evidence["since"]["changes"]),
                  key=lambda one: (changes.KINDS.index(one["kind"]), one["claim"], one["subject"]))


def _scale(benchmarks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Benchmarks with their place on a common logarithmic axis, in tenths of a percent."""
    times = [one[key] for one in benchmarks for key in ("low", "high") if one[key] > 0]
    if not times:
        return []
    low, high = math.log10(min(times)), math.log10(max(times))

    def at(value: float) -> float:
        return 4 + 292 * (math.log10(max(value, min(times))) - low) / ((high - low) or 1)

    return [{**one, "x": at(one["low"]), "width": max(at(one["high"]) - at(one["low"]), 1.0), "middle": at(one["median"])}
            for one in benchmarks]


def _growth(benchmarks: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """What benchmarks measured, the rows of one thing together."""
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in (row for one in benchmarks for row in one.get("measured", [])):
        rows[row["what"]].append(row)
    return list(rows.values())


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined, finalize=_visible)
    environment.filters |= {"measure": measure, "shown": show, "duration": duration, "memory": memory, "ratio": _digits}
    return environment.get_template("index.html.j2")


def _visible(value: Any) -> Any:
    """Text without what would turn the text behind it around, or ends in a browser what stands in the file."""
    return type(value)(UNSEEN.sub("\ufffd", value)) if isinstance(value, str) and UNSEEN.search(value) else value


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def duration(seconds: float) -> str:
    """Seconds in three digits, in the unit that makes them easy to read."""
    return _scaled(seconds, TIME) if seconds else ""


def memory(size: int | None) -> str:
    """Bytes in three digits, in the unit that makes them easy to read."""
    return "" if size is None else _scaled(size, MEMORY)


def _scaled(value: float, units: dict[str, float]) -> str:
    """A number in the largest of the units of which it is one or more; else in the smallest."""
    unit, factor = next((pair for pair in units.items() if value >= pair[1]), list(units.items())[-1])
    return f"{_digits(value / factor)}\N{NO-BREAK SPACE}{unit}"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def measure(value: Any) -> str:
    """A number in three digits; other values as they are."""
    return f"{value:.3g}" if isinstance(value, float) else "" if value is None else str(value)
