"""A run: start pytest as a child process, watch what it writes, and make everything else from that.

The process here imports no PyTorch and no code of the user's, so it lives on when the child hangs, crashes or is killed. A
test that the child died on is lost; the others go on in a new child.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import events
from .claims import NOT_CHAPTERS, suites
from .errors import Exit, UsageError
from .subjects.hub import MAY_FETCH

#: parts of pytest that a run has no use for, and that cost more than a small test
UNUSED = ("cacheprovider", "doctest", "junitxml", "legacypath", "logging", "nose", "pastebin", "pytester", "setuponly",
          "setupplan", "stepwise", "threadexception", "unittest", "unraisableexception")
#: how many times a child that died is followed by another; a subject that kills every process is not worth more
RESTARTS = 3
POLL_SECONDS = 0.05


@dataclass
class Plan:
    """What a child is asked to do."""

    subjects: list[str] = field(default_factory=list)
    declare: list[str] = field(default_factory=list)
    facets: list[str] = field(default_factory=list)
    documents: Path | None = None
    keyword: str = ""
    seed: int = 0
    workers: int = 0
    first_failure: bool = False
    prove: bool = False
    #: how long no test may finish before the child is killed
    timeout: float = 300.0


@dataclass
class Outcome:
    """What became of the children: everything that the events say, and what they cannot say."""

    opened: dict[str, Any] = field(default_factory=dict)
    #: node id -> (claims, subject)
    collected: dict[str, tuple[list[str], str]] = field(default_factory=dict)
    not_applicable: dict[tuple[str, str], str] = field(default_factory=dict)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: in a proof: what every test made of every specimen
    proved: list[dict[str, Any]] = field(default_factory=list)
    #: node id -> why there is no result
    lost: dict[str, str] = field(default_factory=dict)
    #: collected and left out on purpose, because the run was stopped at the first failure
    not_run: list[str] = field(default_factory=list)
    refused: tuple[Exit, str] | None = None
    interrupted: bool = False
    #: why the harness itself failed, in the child's own last words
    broke: str = ""
    seconds: float = 0.0

    def missing(self) -> list[str]:
        return [node_id for node_id in self.collected if node_id not in self.results and node_id not in self.lost]


def replay(path: Path) -> Outcome:
    """What the events file of a run says that left no evidence, because it was killed or the disk was full.

    Raises `UsageError` for a file that is none.
    """
    outcome = Outcome()
    try:
        watch = _Watch(path, 0, outcome, lambda outcome, event: None)
        watch.read()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path}: no events of a run: {error}") from error
    outcome.interrupted = not watch.refused and (watch.finished is None or bool(outcome.missing()))
    outcome.seconds = sum(result["seconds"] for result in outcome.results.values())
    return outcome


class Interrupted(Exception):
    """SIGTERM, which ends a run like Ctrl-C."""


def execute(plan: Plan, path: Path, progress: Callable[[Outcome, dict[str, Any]], None]) -> Outcome:
    """Run the suites in child processes that append their events to `path`. `progress` is called with every event."""
    outcome = Outcome()
    start = time.monotonic()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    with tempfile.TemporaryDirectory(prefix="embedding-conformance-") as scratch, _sigterm_interrupts():
        for attempt in range(RESTARTS + 1):
            resume = Path(scratch) / "resume"
            resume.write_text("\n".join([*outcome.results, *outcome.lost]), encoding="utf-8")
            log = Path(scratch) / f"child-{attempt}.log"
            if not _one_child(plan, path, resume, log, outcome, progress):
                break
            if not outcome.missing():
                break
        else:
            for node_id in outcome.missing():
                outcome.lost[node_id] = f"not reached: the process had died {RESTARTS + 1} times"
    outcome.seconds = time.monotonic() - start
    return outcome


def _one_child(plan: Plan, path: Path, resume: Path, log: Path, outcome: Outcome,
               progress: Callable[[Outcome, dict[str, Any]], None]) -> bool:
    """Run one child; true when it died and another should go on with what is left."""
    before = path.stat().st_size
    with log.open("wb") as output:
        child = subprocess.Popen(_command(plan, path, resume), env=_environment(), stdout=output, stderr=output,
                                 stdin=subprocess.DEVNULL)
    watch = _Watch(path, before, outcome, progress)
    try:
        ended = watch.until(child, plan.timeout)
    except (KeyboardInterrupt, Interrupted):
        outcome.interrupted = True
        _stop(child)
        watch.read()
        return False
    if watch.refused or watch.finished is not None:
        # 0 and 1 are pytest's passed and failed; 5 is that nothing was selected.
        if watch.finished == 4:
            # pytest's own usage error: the expression of -k is the one word of the user's that it parses.
            outcome.refused = (Exit.USAGE, _last_words(log, 1).removeprefix("ERROR: "))
        elif watch.finished in (2, 3):  # a suite that cannot be collected, or an error inside pytest
            outcome.broke = _last_words(log)
        if plan.first_failure:
            outcome.not_run = outcome.missing()
        for node_id in [] if outcome.interrupted or outcome.refused or plan.first_failure else outcome.missing():
            outcome.lost[node_id] = watch.lost.get(node_id, "the test was collected and never reported")
        return False
    how = f"did not answer for {plan.timeout:g} s" if not ended else _death(child.returncode)
    if not watch.running:
        if outcome.collected:
            outcome.broke = f"the process {how} between two tests: {_last_words(log)}"
        elif watch.opening:
            outcome.refused = (Exit.NO_VERDICT, f"{watch.opening} {how} while it was loaded")
        elif watch.opened:
            # Subjects that are made when first used have not been touched: the suites could not be collected.
            outcome.broke = f"the process {how} while the suites were collected: {_last_words(log)}"
        else:
            outcome.broke = f"the process {how} before it began: {_last_words(log)}"
        return False
    for node_id in watch.running:
        outcome.lost[node_id] = f"the process {how} in this test"
    return True


class _Watch:
    """Reads events as they come and keeps the outcome up to date."""

    def __init__(self, path: Path, offset: int, outcome: Outcome, progress: Callable[[Outcome, dict[str, Any]], None]):
        self._path = path
        self._offset = offset
        self._outcome = outcome
        self._progress = progress
        self.opening = ""
        self.opened = False
        self.running: dict[str, None] = {}
        self.lost: dict[str, str] = {}
        self.refused = False
        self.finished: int | None = None

    def until(self, child: subprocess.Popen[bytes], timeout: float) -> bool:
        """Wait until the child ends; false when it was killed because nothing happened for `timeout` seconds."""
        last = time.monotonic()
        while True:
            ended = child.poll() is not None
            if self.read():
                last = time.monotonic()
            elif ended:
                return True
            elif time.monotonic() - last > timeout:
                _stop(child, signal.SIGKILL)
                self.read()
                return False
            else:
                time.sleep(POLL_SECONDS)

    def read(self) -> bool:
        """Take in the events that are new; whether there were any."""
        new, self._offset = events.read(self._path, self._offset)
        for event in new:
            getattr(self, f"_{event['event']}")(event)
            self._progress(self._outcome, event)
        return bool(new)

    def _opening(self, event: dict[str, Any]) -> None:
        self.opening = event["subject"]

    def _opened(self, event: dict[str, Any]) -> None:
        self.opening, self.opened = "", True
        self._outcome.opened = self._outcome.opened or event

    def _collected(self, event: dict[str, Any]) -> None:
        for node_id, claims, subject in event["items"]:
            self._outcome.collected.setdefault(node_id, (claims, subject))

    def _not_applicable(self, event: dict[str, Any]) -> None:
        self._outcome.not_applicable |= {(claim, subject): why for claim, subject, why in event["not_applicable"]}

    def _started(self, event: dict[str, Any]) -> None:
        self.running[event["nodeid"]] = None

    def _result(self, event: dict[str, Any]) -> None:
        self.running.pop(event["nodeid"], None)
        self._outcome.results[event["nodeid"]] = {key: value for key, value in event.items() if key != "event"}

    def _proved(self, event: dict[str, Any]) -> None:
        self._outcome.proved += [{"nodeid": event["nodeid"], "claims": event["claims"], **result}
                                 for result in event["results"]]

    def _lost(self, event: dict[str, Any]) -> None:
        self.running.pop(event["nodeid"], None)
        self.lost[event["nodeid"]] = event["why"]

    def _refused(self, event: dict[str, Any]) -> None:
        self.refused = True
        self._outcome.refused = (Exit(event["exit"]), event["message"])

    def _finished(self, event: dict[str, Any]) -> None:
        self.finished = event["exit"]


def _command(plan: Plan, path: Path, resume: Path) -> list[str]:
    # -P: the working folder is no place to import pytest or NumPy from; the scheme python: adds it for the user's code.
    command = [sys.executable, "-P", "-m", "pytest", "-c", str(Path(__file__).with_name("pytest.ini")),
               "--rootdir", str(suites()), "--noconftest", "-p", "embedding_conformance.plugin",
               *(word for name in UNUSED for word in ("-p", f"no:{name}")), "--tb=short", "-q",
               "--assert=plain",  # suites assert through the evidence alone
               "--conformance-events", str(path.resolve()), "--conformance-resume", str(resume),
               "--conformance-seed", str(plan.seed)]
    command += [f"--ignore={suites() / name}" for name in sorted(NOT_CHAPTERS)]
    for module in ("pytest_datadir", "pytest_regressions"):
        if importlib.util.find_spec(module):
            command += ["-p", f"{module}.plugin"]
    for option, values in (("subject", plan.subjects), ("declare", plan.declare), ("facet", plan.facets)):
        for value in values:
            command += [f"--conformance-{option}={value}"]
    if plan.documents:
        command.append(f"--conformance-documents={plan.documents.resolve()}")
    if plan.keyword:
        command += ["-k", plan.keyword]
    if plan.first_failure:
        command.append("-x")
    if plan.prove:
        command.append("--conformance-prove")
    if plan.workers:
        if not importlib.util.find_spec("xdist"):
            raise UsageError("-n needs pytest-xdist: pip install 'embedding-conformance[parallel]'")
        command += ["-p", "xdist.plugin", "-n", str(plan.workers), "--dist", "loadgroup"]
    return [*command, str(suites())]


def _environment() -> dict[str, str]:
    """The caller's environment without what would change how pytest runs.

    Libraries stay off the network; only an adapter that was given the ID of a model may fetch that, if the caller may.
    """
    kept = {key: value for key, value in os.environ.items()
            if not key.startswith(("PYTEST_", "COV_CORE_")) and key not in ("PYTHONWARNINGS", "PYTHONSTARTUP")}
    if os.environ.get("HF_HUB_OFFLINE", "0") in ("", "0"):
        kept[MAY_FETCH] = "1"
    return kept | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false",
                   "PYTHONUTF8": "1", "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}


def _stop(child: subprocess.Popen[bytes], how: signal.Signals = signal.SIGTERM) -> None:
    """End a child: politely, then not. A second Ctrl-C while waiting does not leave it behind."""
    child.send_signal(how)
    try:
        child.wait(timeout=10)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        child.kill()
        child.wait()


def _death(code: int) -> str:
    if code < 0:
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"
    return f"ended with exit code {code}"


def _last_words(log: Path, count: int = 3) -> str:
    """The last lines that the child printed, as one."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    errors = [line[1:].strip() for line in lines if line.startswith("E ")]  # as pytest marks what was raised
    return " | ".join((errors or lines)[-count:])[-400:] if lines else "it printed nothing"


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Within, SIGTERM ends the run as Ctrl-C does, so that a report is written."""
    def interrupt(number: int, frame: Any) -> None:
        raise Interrupted

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not in the main thread: the caller's handlers stay
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
