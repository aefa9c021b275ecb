"""The suites below a test of the user's own: ``test_layer = conformance(Layer)`` in any test module.

Node ids are ``FILE::test_layer::CHAPTER::TEST[CLAIM-...]``. The fixtures that the suites take get names of their own here,
since a user's fixtures may have theirs (`layer`, `index`, `seed`); a user's fixtures with `autouse` act on these tests too.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
import shlex
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from . import claims as catalogue_of
from . import pytest_fixtures, verdict
from .asked import Asked
from .claims import Catalogue
from .collection import PREFIX, Run, SubjectChanged, SuiteModule, Vacuous, claims_of, one_line, subject_of
from .deviations import from_mapping
from .errors import Refusal, UsageError, nearest
from .evidence import ClaimViolation, Evidence
from .gathered import Gathered
from .handles import HANDLES
from .plugin import OWN_TESTS
from .subjects import Subject
from .subjects.facets import FACETS
from .subjects.given import open_given, qualified

FIXTURES = "conformance-own-fixtures"


@cache
def catalogue() -> Catalogue:
    """All claims; every test of a process shares them."""
    return catalogue_of.load()


class OwnTest(pytest.Collector):
    """A test of the user's own, below which the suites stand."""

    def __init__(self, asked: Asked, **keys: Any):
        super().__init__(**keys)
        self.asked = asked

    @classmethod
    def below(cls, collector: pytest.Module | pytest.Class, name: str, test: FunctionType, asked: Asked) -> OwnTest:
        """The test `name` of a module or a class. A class of the user's is no parent of it, only part of its node id, since
        pytest would take the suites' functions for its methods; its marks and its name in ``-k`` hold all the same."""
        module = collector.getparent(pytest.Module)
        assert module is not None
        node: OwnTest = cls.from_parent(module, name=name, nodeid=f"{collector.nodeid}::{name}", asked=asked)
        for parent in collector.listchain():
            if isinstance(parent, pytest.Class):
                node.own_markers += parent.own_markers
                node.extra_keyword_matches.add(parent.name)
        node.own_markers += getattr(test, "pytestmark", [])
        return node

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """The chapters that concern the subject, then the deviations that are accepted."""
        try:
            with quiet():
                run = begin(self.config, self.nodeid, self.asked)
                modules = list(self._chapters(run))
                return [*modules, AtLeastOne.from_parent(self, name="at least one", modules=modules), *self._deviations(run)]
        except Refusal as refusal:
            raise self.CollectError(f"{self.name}: {refusal}") from refusal

    def _chapters(self, run: Run, claim_id: str = "") -> Iterator[ChapterModule]:
        """The modules whose tests concern the subject; with `claim_id` those that judge it."""
        facets = run.subjects[run.test].facets
        sources: dict[Path, bool] = {}
        for place in catalogue_of.test_places():
            needed = {need.partition(".")[0] for claim in place.claims for need in run.catalogue[claim].needs}
            concerns = bool(needed & facets or not needed) if not claim_id else claim_id in place.claims
            sources[place.path] = sources.get(place.path, False) or concerns
        for source in [source for source, concerns in sources.items() if concerns]:
            chapter = source.parent.name
            module: ChapterModule = ChapterModule.from_parent(self, path=self.path, name=chapter,
                                                              nodeid=f"{self.nodeid}::{chapter}")
            module.suite, module.run, module.place = source, run, (self.nodeid.partition("::")[0], self.asked.line - 1)
            yield module

    def _deviations(self, run: Run) -> Iterator[DeviationCheck]:
        for claim_id in dict.fromkeys(one.claim for one in run.deviations):
            yield DeviationCheck.from_parent(self, name=f"deviations[{claim_id}]", run=run, claim_id=claim_id)

    def checks_of(self, run: Run, claim_id: str) -> list[pytest.Function]:
        """All checks of a claim that apply to the subject, whether or not pytest selected them."""
        with quiet():
            items = [item for module in self._chapters(run, claim_id) for item in module.collect()]
        return [item for item in items if isinstance(item, pytest.Function) and claim_id in claims_of(item)]


class ChapterModule(SuiteModule):
    """One module of a chapter, below a test of the user's own and as if it stood in the user's file."""

    suite: Path
    #: file and line, counted from 0, that pytest names as the place of its tests
    place: tuple[str, int]
    #: how many of its tests apply to the subject
    applying: int = 0

    @property
    def source(self) -> Path:
        return self.suite

    def _getobj(self) -> Any:
        return _renamed_module(f"embedding_conformance.suites.{self.suite.parent.name}.{self.suite.stem}")

    # The user's `python_functions` and `python_classes` say how the user's tests are called, not ours.
    def funcnamefilter(self, name: str) -> bool:
        return name.startswith("test_")

    def classnamefilter(self, name: str) -> bool:
        return False

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """The tests that apply to the subject; why the others do not is kept."""
        with quiet():
            found = [item for item in super().collect() if isinstance(item, pytest.Function) and subject_of(item)]
        items = []
        for item in found:
            if (mark := item.get_closest_marker("conformance_not_applicable")) is None:
                item.__dict__["location"] = (*self.place, item.name)
                items.append(item)
                continue
            for claim_id in claims_of(item):
                self.run.not_applicable.setdefault((claim_id, self.run.test), mark.args[0])
        self.applying = len(items)
        return items


class AtLeastOne(pytest.Collector):
    """Collected after the chapters, to refuse a subject to which nothing in them applies: a test that judges nothing would
    pass without a word."""

    def __init__(self, modules: list[ChapterModule], **keys: Any):
        super().__init__(**keys)
        self.modules = modules

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        if not any(module.applying for module in self.modules):
            assert isinstance(self.parent, OwnTest)
            usual = [reason for module in self.modules[:1] for reason, _ in
                     Counter(module.run.not_applicable.values()).most_common(1)]
            raise self.CollectError(": ".join([f"{self.parent.name}: no claim applies to it", *usual]))
        return []


class DeviationCheck(pytest.Item):
    """Whether the failures of one claim that are accepted are still there; it fails for an entry that is outdated."""

    def __init__(self, run: Run, claim_id: str, **keys: Any):
        super().__init__(**keys)
        self.run, self.claim_id = run, claim_id

    def runtest(self) -> None:
        """Judge by the results of this process; where some of the claim's checks were not selected, or went to another
        process, by judging these here."""
        assert isinstance(self.parent, OwnTest)
        with quiet():
            results = [self.run.results.get(item.nodeid) or judge_apart(self.run, item)
                       for item in self.parent.checks_of(self.run, self.claim_id)
                       ] if self.claim_id in self.run.catalogue else []
        facts = verdict.Facts(deviations=tuple(one for one in self.run.deviations if one.claim == self.claim_id),
                              today=self.run.started[:10])
        standings = verdict.judge(self.run.catalogue, results, facts).deviations
        if old := [f"{one.deviation.shown()}\n  {one.why}" for one in standings if one.state == "outdated"]:
            pytest.fail("\n".join(old), pytrace=False)
        if all(one.state == "not judged" for one in standings):
            pytest.skip(f"no check of {self.claim_id} judges this subject, so that its deviation says nothing here")

    def reportinfo(self) -> tuple[Any, int, str]:
        assert isinstance(self.parent, OwnTest)
        return self.path, self.parent.asked.line - 1, f"deviation of {self.claim_id}"


def begin(config: pytest.Config, test: str, asked: Asked) -> Run:
    """The run of one test of the user's own, and everything that it needs of this pytest."""
    gathered = config.pluginmanager.get_plugin(OWN_TESTS)
    if gathered is None:
        gathered = Gathered(config)
        config.pluginmanager.register(gathered, OWN_TESTS)
    if not config.pluginmanager.has_plugin(FIXTURES):
        config.pluginmanager.register(_prefixed_fixtures(), FIXTURES)
    if test in gathered.runs:
        run: Run = gathered.runs[test]
        return run
    gathered.runs[test] = run = opened(asked, test, config.getoption("conformance_seed"))
    return run


def opened(asked: Asked, test: str, seed: int) -> Run:
    """What a test asks for, opened. Raises `UsageError` for wrong arguments, `NoVerdict` for a subject that is not loaded."""
    subject = open_given(asked.thing, asked.declares)
    check_facets(asked.facets, subject)
    accepted = from_mapping(asked.deviations, test, catalogue())
    subject.name = test
    run = Run(catalogue(), {test: subject}, asked.facets, None, seed, None, test=test,
              thing=asked.thing if isinstance(asked.thing, str) else qualified(asked.thing),
              deviations=tuple(one.model_copy(update={"subject": test}) for one in accepted))
    run.refer(asked.reference)
    return run


def check_facets(facets: Iterable[str], subject: Subject) -> None:
    """Raise `UsageError` for a facet that there is not, or that the subject lacks."""
    for facet in sorted(facets):
        if facet not in FACETS:
            hint = nearest(facet, FACETS) or f"; there are {', '.join(FACETS)}"
            raise UsageError(f'facets: there is no facet "{facet}"{hint}')
        if facet not in subject.facets:
            raise UsageError(f"facets: {subject.name} does not offer {facet}; it offers {', '.join(sorted(subject.facets))}")


@contextmanager
def quiet() -> Iterator[None]:
    """Within, no warning becomes an error: the user's configuration of warnings is about the user's tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@cache
def _renamed_module(name: str) -> types.ModuleType:
    """A module of a chapter whose tests take our fixtures by names that are nobody else's."""
    module = importlib.import_module(name)
    renamed = types.ModuleType(module.__name__, module.__doc__)
    for key, value in vars(module).items():
        if key.startswith("test_") and inspect.isfunction(value):
            setattr(renamed, key, _renamed(value))
    return renamed


def _renamed(function: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(function)
    parametrized = {name.strip() for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"
                    for name in (mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0])}
    own = {PREFIX + name: name for name in signature.parameters if name not in parametrized}

    @functools.wraps(function)
    def test(**given: Any) -> Any:
        return function(**{own.get(name, name): value for name, value in given.items()})

    test.__signature__ = signature.replace(parameters=[  # type: ignore[attr-defined]
        parameter.replace(name=PREFIX + name) if name not in parametrized else parameter
        for name, parameter in signature.parameters.items()])
    return test


def _prefixed_fixtures() -> types.ModuleType:
    """The fixtures of the suites by names that are nobody else's."""
    renamed = types.ModuleType("embedding_conformance_own_fixtures")
    for name, value in vars(pytest_fixtures).items():
        if not name.startswith("_") and not inspect.ismodule(value):
            setattr(renamed, name if name.startswith(PREFIX) else PREFIX + name, value)
    return renamed


def judge_apart(run: Run, item: pytest.Function) -> dict[str, Any]:
    """What becomes of a check that is called without pytest, which would not call another test inside of one."""
    subject = run.subjects[run.test]
    evidence = Evidence()
    arguments: dict[str, Any] = {}
    for name in item._fixtureinfo.argnames:
        plain = name.removeprefix(PREFIX)
        if name.startswith(PREFIX):
            arguments[name] = HANDLES[plain](subject) if plain in HANDLES else evidence if plain == "evidence" \
                else run.argument(plain)
        else:
            arguments[name] = item.callspec.params[name]
    result: dict[str, Any] = {"nodeid": item.nodeid, "claims": list(claims_of(item)), "subject": run.test, "outcome": "passed",
                              "message": ""}
    try:
        item.obj(**arguments)
    except ClaimViolation as violation:
        result |= {"outcome": "violated", "message": violation.measured}
    except Exception as error:
        result |= {"outcome": "error", "message": one_line(error)}
    return result


def describe(run: Run, item: pytest.Item, error: BaseException | None, report: pytest.TestReport, data: dict[str, Any]) -> None:
    """What a user sees of a check that failed: what was measured, not the suite's source. An accepted failure is an expected
    one, as pytest marks it."""
    # An attribute travels between the processes of pytest-xdist, as a property would, but not into the user's own JUnit file.
    report.conformance = json.dumps(data)  # type: ignore[attr-defined]
    report.user_properties += [("claim", claim_id) for claim_id in data["claims"]]
    run.results[item.nodeid] = {"nodeid": item.nodeid, **data}
    if error is None:
        return
    claim = run.catalogue[data["claims"][0]]
    if report.location:
        report.location = (*report.location[:2], f"{'+'.join(data['claims'])}  {claim.says.en}")
    again = f"  repeat     {repeat(run, item)}"
    if isinstance(error, ClaimViolation):
        accepted = [verdict.accepting(run.deviations, claim_id, run.results[item.nodeid], run.started[:10])
                    for claim_id in data["claims"]]
        if all(accepted):
            report.outcome = "skipped"
            report.wasxfail = "; ".join(dict.fromkeys(one.shown() for one in accepted if one))
        lines = [f"  measured   {data['message']}", f"  bound      {data['bound']}"]
        lines += [f"  {'worst' if not number else '':<9}  {line}" for number, line in enumerate(data["worst"])]
        report.longrepr = "\n".join([*lines, again])
    elif isinstance(error, (Vacuous, SubjectChanged)):
        report.longrepr = f"  error      {error}\n{again}"
    elif report.when == "call":
        lines = [f"  error      {data['message']}", "             the check itself broke: nothing is known about the subject"]
        lines += [f"  {'at' if not number else '':<9}  {frame}" for number, frame in enumerate(data["detail"])]
        report.longrepr = "\n".join([*lines, again])


def repeat(run: Run, item: pytest.Item) -> str:
    """The command that runs one check again."""
    file, _, name = item.nodeid.partition("::")
    here = os.path.relpath(item.config.rootpath / file, item.config.invocation_params.dir)
    node_id = f"{Path(here).as_posix()}::{name}"
    quoted = f'"{node_id}"' if not set(node_id) & set('"$`\\!') else shlex.quote(node_id)
    return f"pytest {quoted}" + (f" --conformance-seed {run.seed}" if run.seed else "")
