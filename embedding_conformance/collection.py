"""From claims and subjects to pytest items, and from finished items to results. The hooks of the plugin call in here."""

from __future__ import annotations

import gc
import importlib
import json
import os
import re
import shlex
import traceback
from collections.abc import Generator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from . import claims as catalogue_of
from . import pytest_fixtures
from .claims import Catalogue
from .deviations import Deviation
from .errors import NoVerdict, Refusal, UsageError, nearest, said
from .events import PARENT, EventsFile, about, collect_seldom, end_with_parent, environment, give_way
from .evidence import ClaimViolation, Evidence, HarnessFault
from .handles import Handle
from .prover import PLACEHOLDER, Prover, metrics_of
from .redaction import redacted
from .reference import Reference, default_reference, of_subject, open_reference
from .rehearsal import rehearse, rehearse_reference
from .subjects import DEFAULT, Remote, Subject, again, documents_text, limits, open_subject, parse_declaration
from .subjects.facets import FACETS
from .subjects.given import open_given
from .texts import Text, agreement_texts, all_texts, few_texts, read_texts

RUN: pytest.StashKey[Run] = pytest.StashKey()
#: a subject that was opened before pytest began, to be judged instead of those that the options name, and its reference
GIVEN: pytest.StashKey[tuple[Subject, Any]] = pytest.StashKey()
EVIDENCE: pytest.StashKey[Evidence] = pytest.StashKey()
HANDLES: pytest.StashKey[list[Handle]] = pytest.StashKey()
#: kinds of bound that leave room, so that a proof measures how much
APPROXIMATE = ("rounding", "network")
PROPERTY = "conformance"
#: opens the names of fixtures where a user's own fixtures may have the names that suites use
PREFIX = "conformance_"
WITHHELD = "(what it said is withheld, since texts of your own were given)"


class Vacuous(Exception):
    """A test passed without having compared anything, or without having called its subject."""


class SubjectChanged(Exception):
    """A test changed the one object that all tests share."""


@dataclass
class Run:
    """What one pytest process judges."""

    catalogue: Catalogue
    subjects: dict[str, Subject]
    facets: frozenset[str]
    documents: Path | None
    seed: int
    prover: Prover | None
    resume: frozenset[str] = frozenset()
    #: the node id of the test of the user's own below which the suites are collected; empty for a run of the suites alone
    test: str = ""
    #: what such a test judges, in words
    thing: str = ""
    #: the failures that it accepts
    deviations: tuple[Deviation, ...] = ()
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    #: node id -> what became of a check in this process
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: what every subject is compared with, where the user named it
    reference: Reference | None = None
    #: the file of the user's own texts, and these
    texts: str = ""
    own: list[Text] = field(default_factory=list)
    #: (claim, subject) -> why a claim does not apply, among those that were selected
    not_applicable: dict[tuple[str, str], str] = field(default_factory=dict)
    #: (claim, subject) of which not all checks were selected
    partial: set[tuple[str, str]] = field(default_factory=set)
    #: node id -> (claim, subject), of the checks that there were before pytest selected
    offered: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    #: node ids of those that pytest selected
    selected: frozenset[str] = frozenset()
    #: where a run of the command tells the process that reads it
    events: EventsFile | None = None

    def announce(self, subject: str, requests: int, texts: int, where: str) -> None:
        """Say how many requests and texts a subject on the network will get."""
        if self.events:
            self.events.write("requests", subject=subject, requests=requests, texts=texts, where=where)
        else:
            print(f"about {requests} requests with {texts} texts to {where}")

    def subject(self, name: str) -> Subject:
        """The subject of this name; in a proof an empty one, for which the prover puts in every specimen."""
        return Subject(PLACEHOLDER, "", frozenset(), {}) if name == PLACEHOLDER and self.prover else self.subjects[name]

    def refer(self, reference: Any) -> None:
        """Compare the subjects with `reference`, a subject's name or an object; nothing for None."""
        if isinstance(reference, str):
            self.reference = open_reference(reference, self.own)
        elif reference is not None:
            self.reference = of_subject(open_given(reference), [*all_texts(), *self.own])

    def argument(self, name: str) -> Any:
        """What the fixture `name` gives a check that is called without pytest, where that is not a handle."""
        return {"seed": self.seed, "reference": self.reference_of(self.subjects[self.test])}[name]

    def facts(self) -> dict[str, Any]:
        """Everything about a test of the user's own but the results, for another process."""
        subject = self.subjects[self.test]
        collected = {node_id: keys for node_id, keys in self.offered.items() if node_id in self.selected}
        applies = {key for keys in self.offered.values() for key in keys}
        return {"test": self.test, "thing": self.thing, "seed": self.seed, "started": self.started,
                "environment": environment(),
                "subject": {**about(subject), "repeat": f'pytest "{self.test}" -k {{claim}}'},
                "reference": self.about_reference(),
                "deviations": [one.model_dump(mode="json") for one in self.deviations],
                "collected": [[node_id, [claim for claim, _ in keys]] for node_id, keys in collected.items()],
                "not_applicable": [[key[0], why] for key, why in sorted(self.not_applicable.items()) if key not in applies],
                "partial": sorted(claim for claim, _ in self.partial)}

    def reference_of(self, subject: Subject) -> Reference | None:
        """What a subject is compared with: the reference that was named, else the oracle where there is one."""
        return self.reference or default_reference(
            subject, few_texts() if self.prover else [*agreement_texts(), *self.own])

    def about_reference(self) -> dict[str, Any] | None:
        """What events and reports say of the reference that was named."""
        if self.reference is None:
            return None
        return self.reference.describe() | {"texts": len(self.reference.texts), "own": self.texts}

    def private(self, item: pytest.Item) -> bool:
        """Whether a test asks its subject about texts of the user's own."""
        subject = subject_of(item)
        if subject not in self.subjects or not asks_for(item, "reference"):
            return False
        reference = self.reference_of(self.subjects[subject])
        return reference is not None and any(text.own for text in reference.texts)

    def options(self, claim_id: str, subject: str) -> list[str]:
        """The options of `check` that a claim on a subject needs to be judged as it was."""
        options = again(self.subjects[subject].declares)
        if self.documents and "document" in self.subjects[subject].facets:
            options += ["--documents", str(self.documents)]
        if any(need.startswith("reference.") for need in self.catalogue[claim_id].needs):
            options += ["--reference", self.reference.name] if self.reference else []
            options += ["--texts", self.texts] if self.texts else []
        return options

    def inapplicable(self) -> list[list[str]]:
        """[claim, subject, reason] of what does not apply, in order."""
        return [[*key, reason] for key, reason in sorted(self.not_applicable.items())]


class SuiteModule(pytest.Module):
    """A test module of a chapter, imported below this package's name wherever the suites lie."""

    #: what its tests judge
    run: Run

    @property
    def source(self) -> Path:
        """The file of the suite."""
        return self.path

    def _getobj(self) -> Any:
        return importlib.import_module(f"embedding_conformance.suites.{self.source.parent.name}.{self.source.stem}")


def begin(config: pytest.Config) -> Run:
    """Load the catalogue and open the subjects. What stops a run ends this process with one message and its exit code."""
    option = config.getoption
    # Workers of pytest-xdist get the same options; the events are written by the process that collects their reports.
    writes = option("conformance_events") and not hasattr(config, "workerinput")
    events = EventsFile(Path(option("conformance_events"))) if writes else None
    if PARENT in os.environ or (option("conformance_events") and hasattr(config, "workerinput")):
        Handle.in_own_process = True
        collect_seldom()
        config.add_cleanup(gc.freeze)  # else leaving takes a look at every object of the libraries, again and again
    if events:
        if PARENT in os.environ:  # else this is the process of a user who asked for a check of an object in it
            end_with_parent()
            give_way()
        config.pluginmanager.register(events, "conformance-events")
    try:
        run = _open(config, events)
    except Refusal as refusal:
        if events:
            events.refused(refusal)
        raise pytest.exit.Exception(str(refusal), returncode=refusal.exit) from refusal
    config.stash[RUN] = run
    config.pluginmanager.register(pytest_fixtures, "conformance-fixtures")
    return run


def _open(config: pytest.Config, events: EventsFile | None) -> Run:
    option = config.getoption
    catalogue = catalogue_of.load()
    if not option("conformance_events"):  # else the process that reads them has done it
        catalogue_of.check_traced(catalogue)
    facets = frozenset(option("conformance_facet"))
    for facet in facets - FACETS.keys():
        hint = nearest(facet, FACETS) or f"; there are {', '.join(FACETS)}"
        raise UsageError(f'--facet: there is no facet "{facet}"{hint}')
    declare = dict(parse_declaration(text) for text in option("conformance_declare"))
    documents = Path(option("conformance_documents")) if option("conformance_documents") else None
    documents_text.read_from(documents)
    limits.allow(option("conformance_timeout"), option("conformance_max_requests"))
    proving = bool(option("conformance_prove"))
    if proving:
        from .proof import specimens

        names = [f"fault:{name}" for name in sorted(specimens(documents=documents is not None))]
    else:
        names = option("conformance_subject") or [*DEFAULT, *(["documents"] if documents else [])]
    given, reference = config.stash.get(GIVEN, (None, None))
    subjects = {} if given is None else {given.name: given}
    for name in names if given is None else ():
        if events:
            events.opening(name)
        subjects[name] = open_subject(name, declare, facets)
        _one_process(name, subjects[name].remote, config)
        subjects[name].progress = events.working if events else None
    own = read_texts(Path(option("conformance_texts"))) if option("conformance_texts") else []
    reference = reference if given is not None else option("conformance_reference")
    if reference and events:
        events.opening(reference if isinstance(reference, str) else "the reference")
    if proving:
        from .subjects.noisy import noisy_subject

        subjects |= {one.name: one for one in map(noisy_subject, sorted({facet for one in subjects.values()
                                                                         for facet in one.changed}))}
    for facet in facets:
        if not any(facet in subject.facets for subject in subjects.values()):
            raise UsageError(f"--facet {facet}: {', '.join(subjects)} does not offer it")
    resume = option("conformance_resume")
    done = frozenset(Path(resume).read_text(encoding="utf-8").splitlines()) if resume else frozenset()
    prover = Prover(subjects, one_line) if proving else None
    if prover:
        config.pluginmanager.register(prover, "conformance-prover")
    run = Run(catalogue, subjects, facets, documents, option("conformance_seed"), prover, done,
              texts=option("conformance_texts") or "", own=own)
    run.refer(reference)
    if run.reference:
        _one_process(f"--reference {run.reference.name}", run.reference.remote, config)
    run.events = events
    if events:
        events.opened(run)
    return run


def _one_process(name: str, remote: Remote | None, config: pytest.Config) -> None:
    if remote and getattr(config.option, "numprocesses", None):
        raise UsageError(f"{name}: leave out -n: every process would ask the service anew for what another one knows")


def parametrize(run: Run, metafunc: pytest.Metafunc, claim_ids: tuple[str, ...]) -> None:
    """One item for every subject that offers the facets of this test; those whose needs it does not meet are dropped
    later, when the selection is known, so that they can be reported as not applicable."""
    prefix = PREFIX if run.test else ""
    facets = FACETS.keys() & {name.removeprefix(prefix) for name in metafunc.fixturenames if name.startswith(prefix)}
    where = f"{metafunc.definition.path.parent.name}/{metafunc.definition.path.name} {metafunc.definition.name}"
    if not facets:
        raise UsageError(f"{where}: a test takes its subject by the name of a facet: {', '.join(FACETS)}")
    subjects = [subject for subject in run.subjects.values()
                if facets <= subject.facets and facets & (subject.changed or facets)
                and not (run.facets and not facets & run.facets)]
    reasons = {subject.name: _why_not(run, subject, claim_ids, facets) for subject in subjects}
    if run.prover:
        approximate = any(run.catalogue[claim_id].bound in APPROXIMATE for claim_id in claim_ids)
        names = [subject.name for subject in subjects if not reasons[subject.name] and (approximate or not subject.dial)]
        run.prover.applicable[str(metafunc.definition.path), metafunc.definition.originalname] = names
        reasons = {PLACEHOLDER: ""} if names else {}
    metafunc.parametrize(
        "conformance_subject", indirect=True,
        ids=["+".join(claim_ids) if run.test else f"{'+'.join(claim_ids)}-{name}" for name in reasons],
        argvalues=[pytest.param(name, marks=pytest.mark.conformance_not_applicable(reason)) if reason else name
                   for name, reason in reasons.items()])


def _why_not(run: Run, subject: Subject, claim_ids: tuple[str, ...], facets: set[str]) -> str:
    for claim_id in claim_ids:
        claim = run.catalogue[claim_id]
        if lacks := subject.lacks([need for need in claim.needs if need.partition(".")[0] in facets]):
            return f"it does not offer {lacks}" if lacks != "layer.with_table" else "it cannot be built with another table"
        if lacking := _no_reference(run, subject, claim.needs):
            return lacking
        if undeclared := subject.does_not_declare(claim.requires):
            return undeclared
    return ""


def _no_reference(run: Run, subject: Subject, needs: list[str]) -> str:
    wanted = [need for need in needs if need.startswith("reference.")]
    if not wanted:
        return ""
    reference = run.reference_of(subject)
    if reference is None:
        return "no reference (--reference SUBJECT)"
    return next((f"the reference, {reference.name}, does not offer {need.partition('.')[2]}"
                 for need in wanted if need not in reference.capabilities), "")


def arrange(run: Run, items: list[pytest.Item]) -> None:
    """Before pytest selects by -k: drop tests that concern no subject, and let -k see the words of the claims."""
    items[:] = [item for item in items if run_of(item) is not run or subject_of(item) is not None]
    proxies: dict[str, list[str]] = {}
    for claim in run.catalogue:
        for other in claim.proxy:
            proxies.setdefault(other, []).append(claim.id)
    words: dict[str, set[str]] = {}
    for item in items:
        if run_of(item) is not run:
            continue
        for claim_id in claims_of(item):
            for named in (claim_id, *proxies.get(claim_id, ())):
                if named not in words:
                    words[named] = {named, *re.findall(r"[^\W_]+", run.catalogue[named].words())}
                item.extra_keyword_matches.update(words[named])
        if item.get_closest_marker("conformance_not_applicable") is None:
            run.offered[item.nodeid] = [(claim_id, subject_of(item) or "") for claim_id in claims_of(item)]
        # -k chooses among claims; the name of a subject, which may hold any word, is none of its business.
        item.name = item.name.replace(f"-{subject_of(item)}", "")


def settle(run: Run, items: list[pytest.Item]) -> None:
    """After pytest has selected: what does not apply becomes a reason instead of a test."""
    kept = []
    run.selected = frozenset(item.nodeid for item in items)
    for item in items:
        if run_of(item) is not run:
            kept.append(item)
            continue
        item.name = item.nodeid.rpartition("::")[2]
        mark = item.get_closest_marker("conformance_not_applicable")
        subject = subject_of(item) or ""
        reason = mark.args[0] if mark else ""
        if not reason:
            reason = run.subject(subject).declares_other_metric(metrics_of(item))
        if not reason:
            if item.nodeid not in run.resume:
                kept.append(item)
            continue
        for claim_id in claims_of(item):
            run.not_applicable.setdefault((claim_id, subject), reason)
    _begin(run, [item for item in kept if run_of(item) is run])
    applies = {(claim_id, subject_of(item) or "") for item in kept if run_of(item) is run for claim_id in claims_of(item)}
    for key in applies & run.not_applicable.keys():
        del run.not_applicable[key]  # another test of the claim can be run on this subject
    run.partial = applies & {key for node_id, keys in run.offered.items() if node_id not in run.selected for key in keys}
    items[:] = kept


def run_of(item: pytest.Item) -> Run | None:
    """The run that a check belongs to; None for any other test."""
    return item.parent.run if isinstance(item.parent, SuiteModule) else None


def _begin(run: Run, items: list[pytest.Item]) -> None:
    """Say what the services on the network will be asked, subjects and reference, then ask them for the first time."""
    services: list[tuple[str, Remote, str, tuple[int, int]]] = []
    items = [item for item in items if not item.config.option.collectonly]
    reference = run.reference
    comparing = [item for item in items if asks_for(item, "reference")]
    try:
        if reference and reference.remote and comparing:
            services.append((reference.name, reference.remote, f"{reference.remote.where}, the reference, at most",
                             rehearse_reference(reference, reference.remote, comparing, run)))
        for subject in run.subjects.values():
            own = [item for item in items if subject_of(item) == subject.name]
            if subject.remote and own:
                services.append((subject.name, subject.remote, subject.remote.where,
                                 rehearse(subject, subject.remote, own, run)))
        for name, remote, where, (requests, texts) in services:
            run.announce(name, requests, texts, where)
            remote.begin()
    except Refusal as refusal:
        if run.events:
            run.events.refused(refusal)
        raise pytest.exit.Exception(str(refusal), returncode=refusal.exit) from refusal


def claims_of(item: pytest.Item) -> tuple[str, ...]:
    """The claims that a check judges."""
    mark = item.get_closest_marker("claim")
    return mark.args if mark and isinstance(item.parent, SuiteModule) else ()


def subject_of(item: pytest.Item) -> str | None:
    """The name of the subject that a check judges; None for one that there is no subject for."""
    callspec = getattr(item, "callspec", None)
    name = callspec.params.get("conformance_subject") if callspec else None
    return name if isinstance(name, str) else None


def asks_for(item: pytest.Item, fixture: str) -> bool:
    """Whether a check takes a fixture of the suites."""
    return bool({fixture, PREFIX + fixture} & set(getattr(item, "fixturenames", ())))


def item_facts(item: pytest.Item) -> list[Any]:
    """What the events file says of a collected item: node id, claims, subject."""
    return [item.nodeid, list(claims_of(item)), subject_of(item)]


def judged(item: pytest.Function) -> Generator[None, Any, Any]:
    """Around the call of a test: a pass must have compared something and called its subject."""
    result = yield
    evidence = item.stash.get(EVIDENCE, None)
    if evidence is None or not evidence.compared:
        raise Vacuous("the test passed without a comparison, so it shows nothing")
    if not any(handle.total_calls() for handle in item.stash.get(HANDLES, [])):
        raise Vacuous("the test never called its subject, so it shows nothing about it")
    return result


def spare(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Keep pytest from formatting a traceback that nobody sees, which costs more than most tests."""
    if isinstance(item.parent, SuiteModule) and call.excinfo and isinstance(call.excinfo.value, (ClaimViolation, NoVerdict)):
        said = str(call.excinfo.value)
        item.repr_failure = lambda *args, **kwargs: said  # type: ignore[method-assign]


def describe(run: Run, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Attach to the report what the evidence keeps of this phase, and replace a violation's traceback by six lines."""
    error = call.excinfo.value if call.excinfo else None
    if error is None and (call.when != "call" or run.prover):
        return
    if run.test and isinstance(error, (pytest.skip.Exception, pytest.xfail.Exception)):
        return  # a mark or a fixture of the user's own
    evidence = item.stash.get(EVIDENCE, None) or Evidence()
    data: dict[str, Any] = {"claims": list(claims_of(item)), "subject": subject_of(item), "outcome": "passed",
                            "raised": False, "message": "", **evidence.summary()}
    if isinstance(error, ClaimViolation):
        data |= {"outcome": "violated", "raised": error.raised, "message": error.measured, "bound": error.bound,
                 "worst": error.worst}
        if error.rows:
            data["rows"] = error.rows
        data |= {key: value for key, value in asdict(error.explanation).items() if value}
        if run.private(item):
            data["message"] = withheld(data["message"])
    elif isinstance(error, NoVerdict):  # the subject was lost: that says nothing about the claim
        data |= {"outcome": "lost", "message": str(error).removeprefix("no verdict: ")}
    elif error is not None:
        quotes = run.private(item) and not isinstance(error, (Vacuous, SubjectChanged, HarnessFault))
        message = f"{type(error).__name__} {WITHHELD}" if quotes else one_line(error)
        data |= {"outcome": "error", "message": message, "detail": _frames(error)}
        if quotes:
            report.longrepr = message
    data = redacted(data)
    if isinstance(error, ClaimViolation) and not run.test:
        report.longrepr = explain(run, data)
    if evidence.figures:
        data["figures"] = evidence.figures
    if run.test:
        from . import own_tests

        own_tests.describe(run, item, error, report, data)
    else:
        report.user_properties.append((PROPERTY, json.dumps(data)))


def explain(run: Run, result: dict[str, Any]) -> str:
    """A violation in six lines: the claim, what was measured, the bound, the worst element, how to repeat it."""
    claim = run.catalogue[result["claims"][0]]
    lines = [f"{'+'.join(result['claims'])}  {claim.says.en}", f"  measured  {result['message']}",
             f"  bound     {result['bound']}"]
    lines += [f"  {label:<8}  {result[key]}" for key, label in (("looks_like", "looks like"), ("stages", "stages"))
              if key in result]
    lines += [f"  {'worst   ' if i == 0 else '        '}  {line}" for i, line in enumerate(result["worst"])]
    options = run.options(result["claims"][0], result["subject"])
    return "\n".join([*lines, f"  repeat    {repeat(result, run.seed, options)}"])


def withheld(message: str) -> str:
    """A violation's message without what a subject said or returned, which may quote the texts that it was given."""
    said = re.match(r"\w+ (?:raised \w+|returned)", message)
    return f"{said[0]} {WITHHELD}" if said else message


def repeat(result: dict[str, Any], seed: int, options: list[str] | None = None) -> str:
    """The command that judges this claim on this subject again, with the same inputs."""
    return shlex.join(["embedding-conformance", "check", result["subject"], *(options or []), "--seed", str(seed),
                       "-k", result["claims"][0]])


def one_line(error: BaseException) -> str:
    """An exception in one line: its type, what it says, and where it was raised."""
    message = said(error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    if isinstance(error, (Vacuous, SubjectChanged)):
        return message
    return f"{type(error).__name__}: {message}{place}"


def _frames(error: BaseException) -> list[str]:
    return [f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}"
            for frame in traceback.extract_tb(error.__traceback__)[-6:]]


def summarize(run: Run, terminal: Any) -> None:
    """The closing lines of a plain pytest run on the suites."""
    if run.not_applicable:
        terminal.write_sep("-", "embedding conformance")
        for (claim_id, subject), reason in sorted(run.not_applicable.items()):
            terminal.write_line(f"{claim_id} does not apply to {subject}: {reason}")
