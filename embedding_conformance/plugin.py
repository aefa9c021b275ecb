"""The pytest plugin: hooks and options, wiring only.

Every pytest run in an environment where the package is installed loads this module, so it imports nothing but pytest and
the standard library, and acts only on the suites of this package.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import pytest

from . import home
from .asked import REQUEST

if TYPE_CHECKING:
    from .collection import Run

SUITES = home() / "suites"
#: the name of the plugin that gathers what the tests of a user's own judged
OWN_TESTS = "conformance-own-tests"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "embedding conformance")
    group.addoption("--conformance-subject", action="append", default=[], metavar="SUBJECT",
                    help="judge this subject (repeatable; without it the reference stack)")
    group.addoption("--conformance-declare", action="append", default=[], metavar="KEY=VALUE",
                    help="what the subjects promise (repeatable)")
    group.addoption("--conformance-facet", action="append", default=[], metavar="NAME",
                    help="judge only this facet (repeatable)")
    group.addoption("--conformance-documents", metavar="DIR", help="where the documents lie: judge facts about them, too")
    group.addoption("--conformance-reference", metavar="SUBJECT", help="compare the subjects with this one, stage by stage")
    group.addoption("--conformance-texts", metavar="FILE", help="your own texts, to compare on beside ours")
    group.addoption("--conformance-seed", type=int, default=0, metavar="N", help="seed of the generated inputs")
    group.addoption("--conformance-report", metavar="DIR", help="write the report on what conformance(...) judged")
    group.addoption("--conformance-timeout", type=float, default=300.0, metavar="SECONDS",
                    help="how long a test may take; a request to a service may take a fifth of it")
    group.addoption("--conformance-max-requests", type=int, metavar="N", help="send at most N requests to a service")
    group.addoption("--conformance-events", metavar="FILE", help="append one JSON line for every finished test")
    group.addoption("--conformance-resume", metavar="FILE", help="leave out the tests that this file lists by node id")
    group.addoption("--conformance-prove", action="store_true", help="judge every fault and sound variant")
    group.addoption("--conformance-write-baselines", action="store_true",
                    help="write the regression values instead of comparing with them")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "claim(id, ...): the claims, three at most, that a test of the suites judges")
    config.addinivalue_line("markers", "metric(name, ...): the metrics that a test of an index or a store is about")
    config.addinivalue_line("markers", "conformance_not_applicable(reason): set by the plugin")
    if config.getoption("conformance_events"):
        _run(config)
    # With pytest-xdist this process collects nothing, and learns from the workers whether there was something to judge.
    if config.getoption("tx", None) and not hasattr(config, "workerinput"):
        from .gathered import Gathered

        config.pluginmanager.register(Gathered(config), OWN_TESTS)


def _run(config: pytest.Config) -> Run:
    """The state of this run, made when the first suite is collected; the subjects are opened then."""
    from .collection import RUN, begin

    return config.stash[RUN] if RUN in config.stash else begin(config)


def _judging() -> bool:
    """Whether suites of this package take part; other runs are to pay neither for NumPy nor for a look at every test."""
    return f"{__package__}.collection" in sys.modules


def _chapter(path: Path) -> bool:
    if SUITES not in path.parents:
        return False
    from .claims import NOT_CHAPTERS

    return path.relative_to(SUITES).parts[0] not in NOT_CHAPTERS


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    # As packages the suites would be imported by the name "suites", which may be a module of the user's.
    if path == SUITES or _chapter(path):
        return pytest.Dir.from_parent(parent, path=path)
    return None


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    if not _chapter(module_path):
        return None
    from .collection import SuiteModule

    module = SuiteModule.from_parent(parent, path=module_path)
    module.run = _run(parent.config)
    return module


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, name: str, obj: object) -> pytest.Collector | None:
    if not isinstance(obj, FunctionType) or REQUEST not in vars(obj) or not collector.funcnamefilter(name):
        return None
    from .own_tests import OwnTest

    return OwnTest.below(collector, name, obj, vars(obj)[REQUEST])


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if not _judging():
        return
    from .collection import parametrize, run_of

    run, mark = run_of(metafunc.definition), metafunc.definition.get_closest_marker("claim")
    if run and mark:
        parametrize(run, metafunc, mark.args)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, Any, Any]:
    if not _judging():
        return (yield)
    from .collection import arrange, run_of, settle

    runs = list({id(run): run for run in map(run_of, items) if run}.values())
    for run in runs:
        arrange(run, items)
    result = yield
    for run in runs:
        settle(run, items)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    if not _judging():
        return (yield)
    from .collection import run_of

    run = run_of(item)
    if run is None or not run.test:
        return (yield)
    # A warning that the user's configuration turns into an error is no answer of the subject: `check` sees none either.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    if not _judging():
        return (yield)
    from .collection import judged, run_of

    run = run_of(pyfuncitem)
    if run and not run.prover:
        return (yield from judged(pyfuncitem))
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    if _judging():
        from .collection import spare

        spare(item, call)
    report = yield
    if not _judging():
        return report
    from .collection import describe, run_of

    if run := run_of(item):
        describe(run, item, call, report)
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not _judging():
        return
    from .collection import RUN

    # A worker of pytest-xdist tells the process that writes the events what does not apply.
    if RUN in session.config.stash and hasattr(session.config, "workeroutput"):
        run = session.config.stash[RUN]
        session.config.workeroutput["conformance_left_out"] = [run.inapplicable(), sorted(map(list, run.partial))]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if tests := config.pluginmanager.get_plugin(OWN_TESTS):
        tests.summarize(terminalreporter)
    if config.getoption("conformance_report") and not (tests and tests.results):
        terminalreporter.write_line("embedding conformance: no test of conformance(...) was run, and no report written")
    if not _judging():
        return
    from .collection import RUN, summarize

    if RUN in config.stash and not config.getoption("conformance_events"):
        summarize(config.stash[RUN], terminalreporter)
