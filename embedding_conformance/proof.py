"""Faults and sound variants: how chapters register them, and what a proof run shows.

A fault is a function that takes a sound object which offers a facet and returns a broken one. A sound variant is built the
same way, differs from the original and must pass. Both are subjects: ``fault:CHAPTER/NAME``.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from . import home
from .claims import Catalogue, Claim, chapter_folders, suites
from .errors import UsageError, nearest

#: a bound must lie this far below the smallest fault that it must catch, and this far above what sound variants do
ROOM = 4
#: a subtle fault of a claim that is bounded by rounding has an effect of at most so many times its bound
SUBTLE = 64

#: facet -> the subject whose object faults of that facet are made from
BASES = {
    "layer": "numpy", "layer_maker": "torch", "training_step": "torch", "trainer": "torch", "module": "torch",
    "tied_model": "torch", "tokenizer": "tokenizers", "tokenizer_maker": "tokenizers", "encoder": "bundled",
    "embedder": "bundled", "pooler": "formulas", "encodings": "formulas", "similarity": "formulas",
    "projector": "formulas", "index": "formulas", "store": "store", "service": "service", "document": "documents",
}


@dataclass(frozen=True)
class Specimen:
    """A registered fault or sound variant."""

    name: str
    says: str
    sound: bool
    facet: str
    base: str
    #: claims whose tests must catch it; a sound variant may break a claim too, when it is sound for all others
    breaks: tuple[str, ...]
    size: Literal["gross", "subtle"]
    #: whether it raises instead of answering; a raised exception is no catch of any other fault
    raises: bool
    source: str
    change: Callable[[Any], Any]
    declares: dict[str, Any]
    #: the stage at which it shows first, one of `SEAMS`; empty for what no difference to a reference is explained by
    seam: str = ""
    #: the same fault at other places or of other sizes, label -> broken object, where one example does not stand for all
    variants: Callable[[Any], Iterable[tuple[str, Any]]] | None = None


#: the stages of an embedder, in the order in which they depend on each other; "batch" is of the network too, but shows only
#: among other texts
SEAMS = ("ids", "input", "states", "batch", "pooling", "length", "rows")
_registry: dict[str, Specimen] = {}


def fault(facet: str, breaks: Iterable[str], *, size: Literal["gross", "subtle"] = "gross", raises: bool = False,
          base: str = "", source: str = "", declares: dict[str, Any] | None = None, seam: str = "",
          variants: Callable[[Any], Iterable[tuple[str, Any]]] | None = None) -> Callable[[Any], Any]:
    """Register a function from a sound object to a broken one. Its docstring says what is broken.

    With a `seam` it is one of the faults that a difference to a reference may be explained by.
    """
    return _register(facet, breaks, sound=False, size=size, raises=raises, base=base, source=source, declares=declares,
                     seam=seam, variants=variants)


def sound(facet: str, *, breaks: Iterable[str] = (), base: str = "", source: str = "",
          declares: dict[str, Any] | None = None) -> Callable[[Any], Any]:
    """Register a function from a sound object to another sound one. Its docstring says how it differs.

    `breaks` names the claims of the facet for which it is not sound, such as a one-hot product on a table with infinities.
    """
    return _register(facet, breaks, sound=True, size="gross", raises=False, base=base, source=source, declares=declares)


def _register(facet: str, breaks: Iterable[str], **kwargs: Any) -> Callable[[Any], Any]:
    def decorate(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
        chapter = change.__module__.split(".")[-2]
        name = f"{chapter}/{change.__name__.replace('_', '-')}"
        says = " ".join((change.__doc__ or "").split())
        kwargs["base"] = kwargs["base"] or BASES[facet]
        kwargs["declares"] = kwargs["declares"] or {}
        if not says or name in _registry:
            raise UsageError(f"{name}: a specimen needs a docstring and a name of its own")
        _registry[name] = Specimen(name=name, says=says, facet=facet, breaks=tuple(breaks), change=change, **kwargs)
        return change

    return decorate


class altered:
    """An object with some attributes replaced; everything else is the original's."""

    def __init__(self, original: Any, **replaced: Any):
        self.__dict__.update(replaced)
        self._original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


def specimens(*, documents: bool = True) -> dict[str, Specimen]:
    """Every registered fault and sound variant of all chapters, by name; those of the documents only where these are given."""
    for folder in chapter_folders(suites()):
        if (folder / "faults.py").is_file():
            importlib.import_module(f"embedding_conformance.suites.{folder.name}.faults")
    return {name: one for name, one in _registry.items() if documents or one.base != "documents"}


def needs_documents(claim: Claim) -> bool:
    """Whether a claim is about the text of the documents, so that it can be judged only where they are given."""
    return any(need.startswith("document.") for need in claim.needs)


def specimen(name: str) -> Specimen:
    """The fault or sound variant of this name; raises `UsageError` with the nearest one."""
    known = specimens()
    if name in known:
        return known[name]
    ends = [full for full in known if full.partition("/")[2] == name]
    hint = f'; did you mean "{ends[0]}"?' if ends else nearest(name, known)
    raise UsageError(f'there is no fault "{name}"{hint or "; the command claims ID lists those of a claim"}')


# --- what a proof run showed -------------------------------------------------------------------------------------------


@dataclass
class Assessment:
    """The outcome of a proof run: the records to keep, and what is wrong."""

    records: dict[str, dict[str, Any]]
    problems: list[str]
    proven: set[str]
    faults: int
    sound: int
    margins: dict[str, Margin]


@dataclass
class Margin:
    """How much room an approximate claim leaves, everything as a multiple of its bound."""

    #: the largest deviation of a sound variant
    sound: float = 0.0
    #: the effect of each fault that it declares: in the test that sees it best, and in the one that sees it least
    faults: dict[str, float] = field(default_factory=dict)
    least: dict[str, float] = field(default_factory=dict)
    #: the smallest relative noise on the subject's answers that one of its tests catches
    limit: float | None = None

    @property
    def smallest(self) -> float:
        return min(self.faults.values(), default=math.inf)

    @property
    def fragile(self) -> bool:
        """Whether a sound variant comes so near to the bound that another machine might cross it."""
        return self.sound > 1 / ROOM


def assess(catalogue: Catalogue, known: dict[str, Specimen], results: Iterable[dict[str, Any]], selected: set[str],
           root: Path | None = None) -> Assessment:
    """Judge a proof run. `results` are finished tests (claims, subject, outcome, raised); `selected` are claim ids.

    Red is: a claim without a fault that its own tests catch, a declared catch that did not happen, a sound variant that was
    caught, a catch outside the fault's facet, a test that broke, an approximate claim without a subtle fault or without one
    that is measured against its bound.
    """
    caught: dict[str, set[str]] = defaultdict(set)
    judged: dict[str, set[str]] = defaultdict(set)
    problems: list[str] = []
    margins = {claim.id: Margin() for claim in catalogue if claim.id in selected and claim.bound in ("rounding", "network")}
    for result in results:
        if result["outcome"] == "error":
            problems.append(f"{result['nodeid']}: broke on {result['subject']}: {result['message']}")
        if result["subject"].startswith("noise:"):
            _limit(margins, result, problems)
            continue
        one = known[result["subject"].removeprefix("fault:")]
        for claim_id in result["claims"]:
            judged[one.name].add(claim_id)
            if result["outcome"] == "violated" and (one.raises or not result["raised"]):
                caught[one.name].add(claim_id)
            if claim_id in margins:
                _measure(margins[claim_id], one, claim_id, result)
    catchers: dict[str, list[str]] = defaultdict(list)
    racing = {claim.id for claim in catalogue if claim.races}
    for name, one in sorted(known.items()):
        if not one.sound:
            caught[name] -= racing - set(one.breaks)
        for claim_id in sorted(set(one.breaks) & selected):
            if claim_id not in judged[name]:
                problems.append(f"{name}: no test of {claim_id} was run on it, though it declares that it breaks this claim")
            elif claim_id not in caught[name]:
                problems.append(f"{name}: {claim_id} does not catch it, though it declares that it breaks this claim")
        if one.sound:
            for claim_id in sorted(caught[name] - set(one.breaks)):
                problems.append(f"{name}: a sound variant is refuted by {claim_id}")
        for claim_id in caught[name]:
            catchers[claim_id].append(name)
    proven = set()
    for claim in catalogue:
        if claim.id not in selected or claim.level == "informative" or claim.proxy:
            continue
        own = [known[name] for name in catchers[claim.id] if claim.id in known[name].breaks]
        lacking = _lacking(claim, own, margins.get(claim.id))
        problems += [f"{claim.id} is unproven: {lack}" for lack in lacking]
        if not lacking:
            proven.add(claim.id)
    return Assessment(_records(catalogue, known, caught, judged, proven, root), problems, proven,
                      sum(not one.sound for one in known.values()), sum(one.sound for one in known.values()), margins)


def _lacking(claim: Claim, own: list[Specimen], margin: Margin | None) -> list[str]:
    """What is missing for the proof of a claim; `own` are the faults that it declares and catches."""
    if not own:
        return ["none of its tests catches a fault"]
    if margin is None:
        return []
    lacking = [f"it is approximate and catches no {size} fault" for size in ("subtle", "gross")
               if not any(one.size == size for one in own)]
    if margin.smallest < ROOM:
        name = min(margin.faults, key=margin.faults.__getitem__)
        lacking.append(f"its bound is more than a quarter of the smallest fault that it must catch, {name}, "
                       f"{margin.smallest:.2g} times the bound")
    subtle = [margin.least[one.name] for one in own if one.size == "subtle" and one.name in margin.least]
    if claim.bound == "rounding" and subtle and min(subtle) > SUBTLE:
        lacking.append(f"its subtle faults are not subtle: at least {min(subtle):.2g} times the bound")
    if not margin.faults:
        lacking.append("none of the faults that it must catch reaches its bound: a wider one would catch them too")
    if margin.limit is None:
        lacking.append("no amount of noise on the subject's answers is caught")
    return lacking


def _measure(margin: Margin, one: Specimen, claim_id: str, result: dict[str, Any]) -> None:
    closest = result["closest"]
    if not closest or closest["kind"] not in ("close", "at most") or not closest["bound"]:
        return
    size = abs(closest["measured"]) / closest["bound"]
    if one.sound and claim_id not in one.breaks:
        margin.sound = max(margin.sound, size)
    elif not one.sound and result["outcome"] == "violated" and claim_id in one.breaks and size > 1:
        margin.faults[one.name] = max(margin.faults.get(one.name, 0.0), size)
        margin.least[one.name] = min(margin.least.get(one.name, math.inf), size)


def _limit(margins: dict[str, Margin], result: dict[str, Any], problems: list[str]) -> None:
    if result["outcome"] == "violated":
        problems.append(f"{result['nodeid']}: the sound base itself is refuted: {result['message']}")
    limit = result.get("limit")
    for claim_id in result["claims"]:
        if claim_id in margins and limit is not None:
            known = margins[claim_id].limit
            margins[claim_id].limit = limit if known is None else min(known, limit)


def _records(catalogue: Catalogue, known: dict[str, Specimen], caught: dict[str, set[str]], judged: dict[str, set[str]],
             proven: set[str], root: Path | None) -> dict[str, dict[str, Any]]:
    records = {}
    for chapter in catalogue.chapters():
        records[chapter] = {
            "digest": digest(chapter, root),
            "claims": {claim.id: {
                "proven": claim.id in proven,
                "caught": sorted(name for name in caught if claim.id in caught[name] and not known[name].sound),
                "passed_by": sorted(name for name, one in known.items()
                                    if one.sound and claim.id in judged[name] - caught[name]),
            } for claim in catalogue if claim.chapter == chapter and not claim.proxy and claim.level == "must"},
            "specimens": {name: {
                "says": one.says, "sound": one.sound, "facet": one.facet, "size": one.size, "source": one.source,
                "breaks": sorted(one.breaks), "caught_by": sorted(caught[name]),
            } for name, one in sorted(known.items()) if name.startswith(f"{chapter}/")},
        }
    return records


def digest(chapter: str, root: Path | None = None) -> str:
    """sha256 over the chapter's files and the modules that judge: what a proof is valid for."""
    folder = (root or suites()) / chapter
    package = Path(__file__).parent
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".yaml")]
    files += [package / name for name in ("bounds.py", "evidence.py", "proof.py", "streaming.py")]
    hashed = hashlib.sha256()
    for path in files:
        hashed.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return hashed.hexdigest()


def record_path(chapter: str) -> Path:
    return home() / "fixtures" / "proof" / f"{chapter}.json"


def read_records(catalogue: Catalogue) -> dict[str, dict[str, Any]]:
    """The committed record of each chapter that has one."""
    records = {}
    for chapter in catalogue.chapters():
        path = record_path(chapter)
        if path.is_file():
            try:
                records[chapter] = json.loads(path.read_text(encoding="utf-8"))
            except ValueError as error:
                raise UsageError(f"{path}: not valid JSON: {error}; `embedding-conformance prove --write` makes it anew") \
                    from error
    return records


def dump(record: dict[str, Any]) -> str:
    """A record as it is committed: sorted, one entry a line, so that a change is a diff."""
    return json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def differences(old: dict[str, Any] | None, new: dict[str, Any], chapter: str) -> list[str]:
    """How a chapter's record differs from the committed one, in words."""
    if old is None:
        return [f"{chapter}: there is no committed record"]
    found = []
    for kind in ("claims", "specimens"):
        before, after = old.get(kind, {}), new[kind]
        found += [f"{chapter}: {name} is new" for name in sorted(after.keys() - before.keys())]
        found += [f"{chapter}: {name} is gone" for name in sorted(before.keys() - after.keys())]
        for name in sorted(after.keys() & before.keys()):
            for key in after[name]:
                was, now = before[name].get(key), after[name][key]
                if was != now:
                    found.append(f"{chapter}: {name}: {key} {_change(was, now)}")
    if not found and old.get("digest") != new["digest"]:
        found.append(f"{chapter}: its files changed since the record was made")
    return found


def moved(claim_id: str, recorded: dict[str, Any] | None, margin: Margin) -> list[str]:
    """What the checks of an approximate claim notice, where it is not what the record says: a bound was moved.

    Machines differ too, in the last digits of what they compute, so only what changed by more than `ROOM` counts.
    """
    if recorded is None:
        return []
    found = []
    was, now = recorded["limit"], margin.limit
    if _apart(was, now):
        found.append(f"{claim_id} notices noise from {_size(now)} on, in the record from {_size(was)} on")
    for name, was in recorded["faults"].items():
        now = margin.faults.get(name, was)
        if _apart(was, now):
            found.append(f"{name} is {_size(now)} times the bound of {claim_id}, in the record {_size(was)} times")
    return found


def _apart(was: float | None, now: float | None) -> bool:
    if was is None or now is None:
        return was is not now
    return max(was, now) > ROOM * min(was, now)


def _size(number: float | None) -> str:
    return "none" if number is None else f"{number:.2g}"


def _change(was: Any, now: Any) -> str:
    if isinstance(was, list) and isinstance(now, list):
        gained, lost = sorted(set(now) - set(was)), sorted(set(was) - set(now))
        return ", ".join([f"+{one}" for one in gained] + [f"-{one}" for one in lost])
    return f"{json.dumps(was)} -> {json.dumps(now)}"
