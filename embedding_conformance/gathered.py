"""What the tests of a user's own judged, gathered from pytest's reports, whichever process ran them.

With pytest-xdist this plugin stands in every controller, so it imports the rest only once there is something to show.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .collection import Run

#: reasons why claims do not apply that one line names
MOST_REASONS = 3


class Gathered:
    """The pytest plugin that shows and keeps what ``conformance(...)`` judged."""

    def __init__(self, config: pytest.Config):
        self.config = config
        #: node id of a test of the user's own -> what is judged below it, when this process collects it
        self.runs: dict[str, Run] = {}
        #: the same as `facts` gives it, from here or from a worker of pytest-xdist
        self.tests: dict[str, dict[str, Any]] = {}
        self.results: dict[str, dict[str, Any]] = {}
        #: node id -> why there is no result
        self.lost: dict[str, str] = {}
        self.evidence: dict[str, Any] | None = None
        self.written = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when not in ("setup", "call", "teardown"):  # pytest-xdist says so when a worker died
            self.lost[report.nodeid] = str(report.longrepr).strip().splitlines()[-1]
        text = getattr(report, "conformance", None)
        if text is not None and self.results.get(report.nodeid, {}).get("outcome") != "error":
            self.results[report.nodeid] = {"nodeid": report.nodeid, "seconds": round(report.duration, 4), **json.loads(text)}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        for one in getattr(node, "workeroutput", {}).get("conformance_tests", []):
            self.tests.setdefault(one["test"], one)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        from_here = {test: run.facts() for test, run in self.runs.items()}
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["conformance_tests"] = list(from_here.values())
            return
        self.tests = {test: one for test, one in (self.tests | from_here).items() if one["collected"]}
        if not self.tests or self.config.option.collectonly:
            return
        from .own_report import assemble

        stopped = bool(session.shouldstop or session.shouldfail) or session.exitstatus == pytest.ExitCode.INTERRUPTED
        self.evidence = assemble(self.config, self.tests, self.results, self.lost, stopped=stopped)
        if folder := self.config.getoption("conformance_report"):
            from .report import write

            write(self.evidence, Path(folder))
            self.written = (Path(folder).resolve() / "index.html").as_uri()

    def summarize(self, terminal: Any) -> None:
        """The section of the terminal's summary: a line for each test of the user's own."""
        if self.evidence is None and not self.results:
            return
        terminal.write_sep("-", "embedding conformance")
        if self.evidence is None:
            terminal.write_line("no process lived to say what was judged, so nothing is known of the whole")
            return
        for test, facts in self.tests.items():
            terminal.write_line(self._line(test, facts))
        if self.written:
            terminal.write_line(f"report: {self.written}")

    def _line(self, test: str, facts: dict[str, Any]) -> str:
        assert self.evidence is not None
        own = [claim["subjects"][test] for claim in self.evidence["claims"] if test in claim["subjects"]]
        counts = Counter("accepted" if one["verdict"] == "deviation" else one["verdict"] for one in own)
        if old := sum(one["state"] == "outdated" for one in self.evidence["deviations"] if one["subject"] == test):
            counts["outdated deviation" + "s" * (old > 1)] = old
        missing = counts.pop("not applicable", 0)
        words = ["verified", *sorted(counts.keys() - {"verified"})]
        said = ", ".join(f"{counts[word]} {word}" for word in words)
        reasons = Counter(one["reason"] for one in own if one["verdict"] == "not applicable").most_common()
        shown = [f"{reason} ({count})" for reason, count in reasons[:MOST_REASONS]]
        shown += [f"and {len(reasons) - MOST_REASONS} more reasons"] if len(reasons) > MOST_REASONS else []
        name = test.partition("::")[2] or test
        name = test if sum(other.endswith(f"::{name}") for other in self.tests) > 1 else name
        rest = f"; {missing} claim{'s do' if missing > 1 else ' does'} not apply: {', '.join(shown)}" if missing else ""
        return f"{name} ({facts['thing']}): {said}{rest}"
