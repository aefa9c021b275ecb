"""The form of ``evidence.json``, schema ``evidence/1``: the models that check a file when it is read.

``evidence.schema.json`` beside this module is the same in JSON Schema 2020-12, for everyone else's programs;
``python -c "from embedding_conformance.report.schema import publish; publish()"`` renews it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA = "evidence/1"
PATH = Path(__file__).with_name("evidence.schema.json")

#: JSON has no NaN and no infinities; they are written as words
Number = float | Literal["nan", "inf", "-inf"]
Index = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
VerdictWord = Literal["error", "refuted", "blocked", "stale", "unproven", "deviation", "verified", "not applicable",
                      "informative"]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class CatalogueSize(Model):
    version: int
    claims: Count


class Selection(Model):
    """`by` are the options that chose among the claims; empty for a full run. `partial` are [claim, subject] of which some
    checks were not run."""

    by: list[str]
    claims: Count
    of: Count
    partial: list[tuple[str, str]] = []


class Subject(BaseModel):
    """What was judged. `declares` is key -> [value, where that was said]; `repeat` how one claim is judged again, where that is
    no command of this program: "{claim}" stands for its id."""

    model_config = ConfigDict(extra="allow")
    name: str
    title: str
    facets: list[str]
    capabilities: list[str]
    facts: dict[str, Any]
    declares: dict[str, list[Any]]
    repeat: str = ""


class Reference(Model):
    """What the subjects were compared with, where it was named. `texts` counts those of the comparison, `own` is the file of
    the user's own among them; a text itself is never kept."""

    name: str
    title: str
    facts: dict[str, Any]
    declares: dict[str, list[Any]]
    texts: Count
    own: str


class Documents(Model):
    """`passages` is the state of every cited one; `lines` their text, present only when they were given."""

    given: bool
    folder: str
    names: dict[str, str]
    sha256: dict[str, str]
    passages: dict[str, str]
    unaccounted: list[str]
    listed: dict[str, str]
    lines: dict[str, list[str]]


class ProofSummary(Model):
    outdated: list[str]
    faults: Count
    sound: Count


class Specimen(Model):
    """A fault, or a sound variant."""

    says: str
    sound: bool
    facet: str
    size: str
    source: str
    breaks: list[str]
    caught_by: list[str]


class Says(Model):
    en: str
    zh: str


class Source(Model):
    cite: str
    state: str
    quote: list[str] = []


class Test(Model):
    place: str
    name: str
    says: str


class Margin(Model):
    """From the proof, in multiples of the bound: the largest deviation of a sound variant, the effect of each fault. `limit` is
    the smallest relative noise on the subject's answers that is caught."""

    sound: float
    limit: float | None
    faults: dict[str, float]


class OwnVerdict(Model):
    verdict: VerdictWord
    reason: str = ""


class Claim(Model):
    """A claim with its verdict: overall, which is the worst, and for every subject. What is empty is left out."""

    id: str
    chapter: str
    says: Says
    level: Literal["must", "informative"]
    why: str = ""
    kind: str
    bound: str
    domain: str = ""
    note: str = ""
    needs: list[str] = []
    requires: dict[str, Any] = {}
    proxy: list[str] = []
    after: list[str] = []
    source: list[Source]
    tests: list[Test] = []
    proven: bool = False
    caught: list[str] = []
    passed_by: list[str] = []
    margin: Margin | None = None
    verdict: VerdictWord
    reason: str = ""
    subjects: dict[str, OwnVerdict] = {}


class Deviation(Model):
    """A failure of a claim that the user accepts, as it was written (`until` is the last day, in UTC; `match` words of the
    failure's message; `case` part of a check's name), and what became of it."""

    claim: str
    because: Annotated[str, Field(min_length=1)]
    issue: str
    until: str
    match: str
    case: str
    subject: str
    origin: str
    unknown: str
    state: Literal["accepted", "outdated", "not judged"]
    why: str


class Bound(Model):
    """Something that checks were held against; null where they were compared bit for bit."""

    kind: str
    bound: Number | None
    why: str


class Closest(Model):
    """The comparison of each check that came nearest to its bound, in columns; `against` is an index into `bounds`, or -1 where
    there was nothing to measure and the other columns say nothing."""

    against: list[Annotated[int, Field(ge=-1)]]
    compared: list[Count]
    measured: list[Number | None]
    where: list[Index]
    expected: list[Index]
    actual: list[Index]


class Problem(Model):
    """What a check that did not pass says; `row` is its index. `rows` are the rows of a store that are at fault, as ranges from
    and up to."""

    row: Index
    message: str
    raised: bool
    bound: str = ""
    looks_like: str = ""
    stages: str = ""
    worst: list[str] = []
    rows: list[tuple[Index, Index]] = []
    detail: list[str] = []


class Results(Model):
    """All checks, in columns of equal length; the integers in `module`, `case`, `claims` (joined by "+"), `subject`, `outcome`
    and `kinds` (joined by ",") are indices into `strings`. The node id is `module` and `case` joined, where a `*` at the
    beginning of `case` stands for "[claims-subject"; `time` counts tenths of a millisecond."""

    strings: list[str]
    module: list[Index]
    case: list[Index]
    claims: list[Index]
    subject: list[Index]
    outcome: list[Index]
    kinds: list[Index]
    compared: list[Count]
    time: list[Count]
    bounds: list[Bound]
    closest: Closest
    problems: list[Problem]


class Figure(Model):
    """Numbers to be drawn, measured by a check. What `data` holds depends on `kind`: see `Evidence.figure`."""

    kind: Literal["matrix", "map", "curve", "bars", "table"]
    title: str
    data: dict[str, Any]
    claims: list[str]
    subject: str
    nodeid: str


Finite = Annotated[float, Field(allow_inf_nan=False, ge=0)]


class Measured(Model):
    """What a benchmark compared in one run: `ratio` is the time over that of `to`, a smaller size or a floor ("itself" for the
    floor); `seconds` and `peak`, in bytes, are those of `size`; `before` is the ratio of an earlier run."""

    what: str
    size: str
    seconds: Finite
    peak: Count | None = None
    ratio: Finite
    to: str
    before: Finite | None = None


class Benchmark(Model):
    """Seconds of one benchmark, the median and the interval of the middle half, and what it measured."""

    name: str
    median: Finite
    low: Finite
    high: Finite
    rounds: Count
    group: str
    measured: list[Measured] = []


class Lost(Model):
    nodeid: str
    claims: list[str]
    subject: str
    why: str


class Reconciliation(Model):
    """collected = reported + lost + not run."""

    collected: Count
    reported: Count
    lost: list[Lost]
    not_run: list[str]


class RunVerdict(Model):
    """`counts` are of the selected claims; `refused` is the word for why nothing was judged."""

    word: Literal["verified", "refuted", "interrupted", "broken", "unusable", "nothing-checked", "inconclusive"]
    exit: Literal[0, 1, 2, 3, 4, 5, 7]
    counts: dict[VerdictWord, Count]
    reasons: list[str]
    refused: str = ""


class Change(Model):
    """A claim on a subject whose verdict is not that of an earlier run; a side on which it was not judged is empty."""

    claim: str
    subject: str
    was: str
    now: str


class Since(Model):
    """The comparison with an earlier run."""

    started: str
    command: list[str]
    fingerprint: str
    changes: list[Change]


class Part(Model):
    """One of the runs that a merged file was made from."""

    command: list[str]
    started: str
    environment: dict[str, Any]
    word: str
    reported: Count
    seconds: float


class Footer(Model):
    """Without it a file is no evidence."""

    complete: bool
    seconds: float


class Evidence(Model):
    """What one run of the harness measured, or several runs that were merged."""

    schema_: Annotated[Literal["evidence/1"], Field(alias="schema")]
    harness: str
    catalogue: CatalogueSize
    command: list[str]
    started: str
    seed: int
    selection: Selection
    environment: dict[str, Any]
    fingerprint: str
    subjects: list[Subject]
    reference: Reference | None = None
    documents: Documents
    proof: ProofSummary
    specimens: dict[str, Specimen]
    claims: list[Claim]
    deviations: list[Deviation] = []
    results: Results
    figures: list[Figure]
    benchmarks: list[Benchmark]
    merged: list[Part]
    since: Since | None = None
    reconciliation: Reconciliation
    verdict: RunVerdict
    footer: Footer


def json_schema() -> str:
    """The schema as it is published."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Evidence.model_json_schema(by_alias=True)}
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def publish() -> None:
    """Renew the published schema."""
    PATH.write_text(json_schema(), encoding="utf-8")
