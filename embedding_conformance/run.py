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
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from . import events
from .claims import NOT_CHAPTERS, suites
from .errors import Exit, UsageError, printable, said
from .events import PARENT
from .interrupts import Interrupts
from .subjects.hub import MAY_FETCH

#: the plugins that a run needs; others that are installed are not loaded
PLUGINS = ("embedding_conformance.plugin", "pytest_datadir.plugin", "pytest_regressions.plugin")
#: parts of pytest that a run has no use for, and that cost more than a small test
UNUSED = ("cacheprovider", "doctest", "junitxml", "legacypath", "logging", "nose", "pastebin", "pytester", "setuponly",
          "setupplan", "stepwise", "threadexception", "unittest", "unraisableexception")
#: how many times a child that died is followed by another; a subject that kills every process is not worth more
RESTARTS = 3
POLL_SECONDS = 0.05
#: how long a child may take at least to start and to collect the suites: a busy machine is no fault of a subject's
START_SECONDS = 60.0
#: how long a child may take to leave when all its tests are done
PARTING_SECONDS = 3.0


@dataclass
class Plan:
    """What a child is asked to do."""

    subjects: list[str] = field(default_factory=list)
    declare: list[str] = field(default_factory=list)
    facets: list[str] = field(default_factory=list)
    documents: Path | None = None
    reference: str = ""
    texts: Path | None = None
    keyword: str = ""
    seed: int = 0
    workers: int = 0
    first_failure: bool = False
    prove: bool = False
    #: how long no test may finish before the child is killed
    timeout: float = 300.0
    #: how many requests may be sent to a service
    max_requests: int | None = None

    def __post_init__(self) -> None:
        if not self.timeout > 0:  # NaN is none either
            raise UsageError(f"--timeout {self.timeout:g}: write a number of seconds above zero")
        if self.workers < 0:
            raise UsageError(f"-n {self.workers}: write a number of processes")


@dataclass
class Outcome:
    """What became of the children: everything that the events say, and what they cannot say."""

    opened: dict[str, Any] = field(default_factory=dict)
    #: node id -> (claims, subject)
    collected: dict[str, tuple[list[str], str]] = field(default_factory=dict)
    not_applicable: dict[tuple[str, str], str] = field(default_factory=dict)
    #: (claim, subject) of which not all checks were selected
    partial: set[tuple[str, str]] = field(default_factory=set)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: in a proof: what every test made of every specimen
    proved: list[dict[str, Any]] = field(default_factory=list)
    #: node id -> why there is no result
    lost: dict[str, str] = field(default_factory=dict)
    #: collected and left out on purpose, because the run was stopped at the first failure
    not_run: list[str] = field(default_factory=list)
    refused: tuple[Exit, str] | None = None
    #: the word for that in the last line, and a command that shows the same
    refused_as: str = ""
    hint: str = ""
    interrupted: bool = False
    #: why the harness itself failed, in the child's own last words
    broke: str = ""
    seconds: float = 0.0

    def incomplete(self) -> frozenset[tuple[str, str]]:
        """(claim, subject) of which not every check has a result."""
        waiting = {(claim, subject) for node_id in self.missing() for claims, subject in [self.collected[node_id]]
                   for claim in claims}
        return frozenset(self.partial | waiting)

    def missing(self) -> list[str]:
        return [node_id for node_id in self.collected if node_id not in self.results and node_id not in self.lost]


def replay(path: Path) -> Outcome:
    """What the events file of a run says that left no evidence, because it was killed or the disk was full.

    Raises `UsageError` for a file that is none.
    """
    outcome = Outcome()
    try:
        with path.open("rb") as written:
            watch = _Watch(written, outcome, lambda outcome, event: None)
            watch.read()
        outcome.seconds = sum(result["seconds"] for result in outcome.results.values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path}: no events of a run: {said(error)}") from error
    outcome.interrupted = not watch.refused and (watch.finished is None or bool(outcome.missing()))
    return outcome


def execute(plan: Plan, path: Path, progress: Callable[[Outcome, dict[str, Any]], None],
            interrupts: Interrupts | None = None) -> Outcome:
    """Run the suites in child processes that append their events to `path`. `progress` is called with every event.

    When one of the `interrupts` was received the child is stopped, and the outcome is what was finished.
    """
    outcome = Outcome()
    interrupts = interrupts or Interrupts()
    start = time.monotonic()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    with tempfile.TemporaryDirectory(prefix="embedding-conformance-", ignore_cleanup_errors=True) as scratch:
        for attempt in range(RESTARTS + 1):
            resume = Path(scratch) / "resume"
            resume.write_text("\n".join([*outcome.results, *outcome.lost]), encoding="utf-8")
            log = Path(scratch) / f"child-{attempt}.log"
            if not _one_child(plan, path, resume, log, outcome, progress, interrupts):
                break
            if not outcome.missing():
                break
        else:
            for node_id in outcome.missing():
                outcome.lost[node_id] = f"not reached: the process had died {RESTARTS + 1} times"
    outcome.seconds = time.monotonic() - start
    return outcome


def _one_child(plan: Plan, path: Path, resume: Path, log: Path, outcome: Outcome,
               progress: Callable[[Outcome, dict[str, Any]], None], interrupts: Interrupts) -> bool:
    """Run one child; true when it died and another should go on with what is left."""
    if interrupts.received:
        outcome.interrupted = True
        return False
    with path.open("r+b") as written, log.open("wb") as output:
        # A line that the child before this one did not finish would spoil the next.
        written.truncate(written.read().rfind(b"\n") + 1)
        written.seek(0, os.SEEK_END)
        watch = _Watch(written, outcome, progress)
        # A group of its own: Ctrl-C is for the process here, and what the subject starts can be ended with the child.
        child = subprocess.Popen(_command(plan, path, resume), env=_environment(), stdout=output, stderr=output,
                                 stdin=subprocess.DEVNULL, process_group=0)
        try:
            ended = watch.until(child, plan.timeout, interrupts)
        finally:
            _end(child)
        watch.read()
    if interrupts.received and watch.finished is None and not watch.refused:
        outcome.interrupted = True
        return False
    # pytest breaks where memory is short, and it is the subject that took it.
    starved = watch.finished == 3 and bool(watch.running) and "MemoryError" in _last_words(_printed(log))
    if (watch.refused or watch.finished is not None) and not starved:
        _conclude(watch, outcome, _printed(log), first_failure=plan.first_failure)
        return False
    how = ("ran out of memory" if starved else
           _death(child.returncode) if ended else f"did not answer for {watch.patience(plan.timeout):g} s")
    if not watch.running:
        if outcome.collected:
            outcome.broke = f"the process {how} between two tests: {_last_words(_printed(log))}"
        elif watch.opening:
            outcome.refused = (Exit.NO_VERDICT, f"{watch.opening} {how} while it was loaded")
        elif watch.opened:
            # Subjects that are made when first used have not been touched: the suites could not be collected.
            outcome.broke = f"the process {how} while the suites were collected: {_last_words(_printed(log))}"
        else:
            outcome.broke = f"the process {how} before it began: {_last_words(_printed(log))}"
        return False
    for node_id in watch.running:
        outcome.lost[node_id] = f"the process {how} in this test"
    return True


def follow(path: Path, printed: str, *, interrupted: bool) -> Outcome:
    """The outcome of a run in this process, which wrote its events to `path` and has ended."""
    outcome = Outcome(interrupted=interrupted)
    with path.open("rb") as written:
        watch = _Watch(written, outcome, lambda outcome, event: None)
        watch.read()
    _conclude(watch, outcome, printed, first_failure=False)
    return outcome


def _conclude(watch: _Watch, outcome: Outcome, printed: str, *, first_failure: bool) -> None:
    """Make of a run that came to its own end what that end says."""
    # 0 and 1 are pytest's passed and failed; 5 is that nothing was selected.
    if watch.finished == 4 and not watch.refused:
        # pytest's own usage error: the expression of -k is the one word of the user's that it parses.
        outcome.refused = (Exit.USAGE, _last_words(printed, 1).removeprefix("ERROR: "))
    elif watch.finished in (2, 3) and not outcome.interrupted:  # a suite that cannot be collected, or an error inside pytest
        outcome.broke = _last_words(printed)
    if first_failure:
        outcome.not_run = outcome.missing()
    for node_id in [] if outcome.interrupted or outcome.refused or first_failure else outcome.missing():
        outcome.lost[node_id] = "the test was collected and never reported"


class _Watch:
    """Reads events as they come and keeps the outcome up to date."""

    def __init__(self, written: BinaryIO, outcome: Outcome, progress: Callable[[Outcome, dict[str, Any]], None]):
        self._written = written
        self._outcome = outcome
        self._progress = progress
        self.opening = ""
        self.opened = False
        self.running: dict[str, None] = {}
        self.refused = False
        self.finished: int | None = None

    def until(self, child: subprocess.Popen[bytes], timeout: float, interrupts: Interrupts) -> bool:
        """Wait until the child ends, or says that it is done and has had time to leave, or an interrupt comes; false when
        nothing happened for `timeout` seconds.
        """
        last = time.monotonic()
        while not interrupts.received:
            ended = child.poll() is not None
            if self.read():
                last = time.monotonic()
            # A thread of the subject's may keep a process that is done from ending.
            elif ended or (self.finished is not None and time.monotonic() - last > PARTING_SECONDS):
                return True
            elif time.monotonic() - last > self.patience(timeout):
                return False
            else:
                time.sleep(POLL_SECONDS)
        return True

    def patience(self, timeout: float) -> float:
        """How long nothing may happen: while the subject's code runs, as long as the user said."""
        return timeout if self.opening or self.running else max(timeout, START_SECONDS)

    def read(self) -> bool:
        """Take in the events that are new; whether there were any."""
        new = events.read(self._written)
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
        self._outcome.partial |= {(claim, subject) for claim, subject in event["partial"]}

    def _started(self, event: dict[str, Any]) -> None:
        self.running[event["nodeid"]] = None

    def _working(self, event: dict[str, Any]) -> None:
        """Something happens, so the child is not to be killed; there is nothing to keep."""

    def _result(self, event: dict[str, Any]) -> None:
        self.running.pop(event["nodeid"], None)
        self._outcome.results[event["nodeid"]] = {key: value for key, value in event.items() if key != "event"}

    def _proved(self, event: dict[str, Any]) -> None:
        self._outcome.proved += [{"nodeid": event["nodeid"], "claims": event["claims"], **result}
                                 for result in event["results"]]

    def _lost(self, event: dict[str, Any]) -> None:
        self.running.pop(event["nodeid"], None)
        self._outcome.lost[event["nodeid"]] = event["why"]

    def _requests(self, event: dict[str, Any]) -> None:
        """Only shown."""

    def _refused(self, event: dict[str, Any]) -> None:
        self.refused = True
        self._outcome.refused = (Exit(event["exit"]), event["message"])
        self._outcome.refused_as, self._outcome.hint = event.get("reason", ""), event.get("hint", "")

    def _finished(self, event: dict[str, Any]) -> None:
        self.finished = event["exit"]


def _command(plan: Plan, path: Path, resume: Path) -> list[str]:
    # -P: the working folder is no place to import pytest or NumPy from; the scheme python: adds it for the user's code.
    command = [sys.executable, "-P", "-m", "pytest", "-c", str(Path(__file__).with_name("pytest.ini")),
               "--rootdir", str(suites()), "--noconftest",
               *(word for name in (*PLUGINS, *(f"no:{name}" for name in UNUSED)) for word in ("-p", name)), "--tb=short", "-q",
               "--assert=plain",  # suites assert through the evidence alone
               "--conformance-events", str(path.resolve()), "--conformance-resume", str(resume),
               "--conformance-seed", str(plan.seed), "--conformance-timeout", str(plan.timeout)]
    command += [f"--ignore={suites() / name}" for name in sorted(NOT_CHAPTERS)]
    for option, values in (("subject", plan.subjects), ("declare", plan.declare), ("facet", plan.facets)):
        for value in values:
            command += [f"--conformance-{option}={value}"]
    if plan.documents:
        command.append(f"--conformance-documents={plan.documents.resolve()}")
    if plan.reference:
        command.append(f"--conformance-reference={plan.reference}")
    if plan.texts:
        command.append(f"--conformance-texts={plan.texts}")
    if plan.max_requests is not None:
        command += ["--conformance-max-requests", str(plan.max_requests)]
    if plan.keyword:
        command += ["-k", plan.keyword]
    if plan.first_failure:
        command.append("-x")
    if plan.prove:
        command.append("--conformance-prove")
    if plan.workers:
        if not importlib.util.find_spec("xdist"):
            raise UsageError("-n needs pytest-xdist: pip install 'embedding-conformance[parallel]'")
        command += ["-p", "xdist.plugin", "-n", str(plan.workers),
                    # The tests of a module ask for the same texts, which one process remembers. Modules keep their order: by
                    # how many tests they hold, as else, those that take long would come last.
                    "--dist", "loadscope", "--no-loadscope-reorder"]
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
                   "PYTHONUTF8": "1", PARENT: str(os.getpid()), "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a child, if it has not ended by itself, and all that it started: politely, then not."""
    with suppress(ProcessLookupError, subprocess.TimeoutExpired):
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGTERM)
            child.wait(timeout=1)
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _death(code: int) -> str:
    if code == -signal.SIGKILL:
        return "was ended by SIGKILL (as the kernel does where memory is short)"
    if code < 0:
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"
    return f"ended with exit code {code}"


def _printed(log: Path) -> str:
    """The end of what the child printed."""
    with log.open("rb") as file:
        file.seek(max(log.stat().st_size - 20_000, 0))
        return file.read().decode("utf-8", errors="replace")


def _last_words(printed: str, count: int = 3) -> str:
    """The last lines that a run printed, as one."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    errors = [line[1:].strip() for line in lines if line.startswith("E ")]  # as pytest marks what was raised
    return printable(" | ".join((errors or lines)[-count:])[-400:], 400) if lines else "it printed nothing"
