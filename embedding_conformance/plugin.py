"""The pytest plugin: hooks and options, wiring only.

Every pytest run in an environment where the package is installed loads this module, so it imports nothing but pytest and
the standard library, and acts only on the suites of this package.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from . import home

if TYPE_CHECKING:
    from .collection import Run

SUITES = home() / "suites"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "embedding conformance")
    group.addoption("--conformance-subject", action="append", default=[], metavar="SUBJECT",
                    help="judge this subject (repeatable; without it the reference stack)")
    group.addoption("--conformance-declare", action="append", default=[], metavar="KEY=VALUE",
                    help="what the subjects promise (repeatable)")
    group.addoption("--conformance-facet", action="append", default=[], metavar="NAME",
                    help="judge only this facet (repeatable)")
    group.addoption("--conformance-documents", metavar="DIR", help="where the documents lie: judge facts about them, too")
    group.addoption("--conformance-seed", type=int, default=0, metavar="N", help="seed of the generated inputs")
    group.addoption("--conformance-events", metavar="FILE", help="append one JSON line for every finished test")
    group.addoption("--conformance-resume", metavar="FILE", help="leave out the tests that this file lists by node id")
    group.addoption("--conformance-prove", action="store_true", help="judge every fault and sound variant")
    group.addoption("--conformance-write-baselines", action="store_true",
                    help="write the regression values instead of comparing with them")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "claim(id, ...): the claims, three at most, that a test of the suites judges")
    config.addinivalue_line("markers", "metric(name, ...): the metrics that a test of an index or a store is about")
    config.addinivalue_line("markers", "conformance_not_applicable(reason): set by the plugin")
    config.addinivalue_line("markers", "xdist_group(name): the tests of one faulty subject go to one worker")
    if config.getoption("conformance_events"):
        _run(config)


def _run(config: pytest.Config) -> Run:
    """The state of this run, made when the first suite is collected; the subjects are opened then."""
    from .collection import RUN, begin

    return config.stash[RUN] if RUN in config.stash else begin(config)


def _judging() -> bool:
    """Whether suites of this package take part; other runs are to pay neither for NumPy nor for a look at every test."""
    return f"{__package__}.collection" in sys.modules


def _chapter(path: Path) -> bool:
    from .claims import NOT_CHAPTERS

    return SUITES in path.parents and path.relative_to(SUITES).parts[0] not in NOT_CHAPTERS


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    # As packages the suites would be imported by the name "suites", which may be a module of the user's.
    if path == SUITES or _chapter(path):
        return pytest.Dir.from_parent(parent, path=path)
    return None


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    if not _chapter(module_path):
        return None
    from .collection import SuiteModule

    _run(parent.config)
    return SuiteModule.from_parent(parent, path=module_path)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("claim")
    if mark and _chapter(metafunc.definition.path):
        from .collection import parametrize

        parametrize(_run(metafunc.config), metafunc, mark.args)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, Any, Any]:
    if not _judging():
        return (yield)
    from .collection import RUN, arrange, settle

    if RUN not in config.stash:
        return (yield)
    arrange(config.stash[RUN], items)
    result = yield
    settle(config.stash[RUN], items)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    if not _judging():
        return (yield)
    from .collection import RUN, SuiteModule, judged

    if isinstance(pyfuncitem.parent, SuiteModule) and not pyfuncitem.config.stash[RUN].prover:
        return (yield from judged(pyfuncitem))
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    if not _judging():
        return report
    from .collection import RUN, SuiteModule, describe

    if isinstance(item.parent, SuiteModule):
        describe(item.config.stash[RUN], item, call, report)
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not _judging():
        return
    from .collection import RUN

    # A worker of pytest-xdist tells the process that writes the events what does not apply.
    if RUN in session.config.stash and hasattr(session.config, "workeroutput"):
        session.config.workeroutput["conformance_not_applicable"] = session.config.stash[RUN].inapplicable()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if not _judging():
        return
    from .collection import RUN, summarize

    if RUN in config.stash and not config.getoption("conformance_events"):
        summarize(config.stash[RUN], terminalreporter)
