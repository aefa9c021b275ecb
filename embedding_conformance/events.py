"""The events file: one JSON line for each thing that happens in a run, written at once, so that a crash loses no result.

Lines are ``opening``, ``opened`` (subjects, environment), ``collected``, ``not_applicable``, ``started``, ``working``,
``result``, ``proved``, ``lost``, ``requests``, ``refused`` and ``finished``. A file without ``finished`` or ``refused`` is of a
run that did not end by itself.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import re
import signal
import sys
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pytest

from . import __version__
from .claims import ID
from .errors import Exit, Refusal
from .redaction import redacted

if TYPE_CHECKING:
    from .collection import Run
    from .subjects import Subject

#: the variable that tells a child which process asked for the run
PARENT = "EMBEDDING_CONFORMANCE_PARENT"
NODE_ID = re.compile(rf"\[(?P<claims>{ID.pattern}(?:\+{ID.pattern})*)-(?P<rest>.*)\]$", re.DOTALL)


class EventsFile:
    """Writes the events of this process; also the pytest plugin that receives them."""

    def __init__(self, path: Path):
        # What no encoding can hold, such as the bytes of an odd file name, is spelt out.
        self._file = path.open("a", encoding="utf-8", errors="backslashreplace")
        self._run: Run | None = None
        self._results: dict[str, dict[str, Any]] = {}
        self._collected: set[str] = set()

    def write(self, event: str, **data: Any) -> None:
        self._file.write(json.dumps({"event": event, **redacted(data)}, ensure_ascii=False) + "\n")
        self._file.flush()

    def opening(self, subject: str) -> None:
        self.write("opening", subject=subject)

    def working(self, done: str) -> None:
        self.write("working", done=done)

    def opened(self, run: Run) -> None:
        self._run = run
        self.write("opened", harness=__version__, started=datetime.now(UTC).isoformat(timespec="seconds"),
                   catalogue=run.catalogue.version, seed=run.seed, environment=environment(),
                   subjects=[about(one) for one in run.subjects.values()] if not run.prover else [],
                   reference=run.about_reference())

    def refused(self, refusal: Refusal) -> None:
        self.write("refused", exit=int(refusal.exit), message=str(refusal), reason=refusal.reason,
                   hint=refusal.hint)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        from .collection import item_facts

        # With pytest-xdist this process collects nothing itself; the workers say what they collected.
        if not hasattr(session.config.option, "tx") or not session.config.option.tx:
            self._collection([item_facts(item) for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        if not self._collected:
            assert self._run is not None
            self._collection([[node_id, *split_node_id(node_id, self._run.subjects)] for node_id in ids])

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        if found := getattr(node, "workeroutput", {}).get("conformance_left_out"):
            self.write("not_applicable", not_applicable=found[0], partial=found[1])

    def _collection(self, items: list[list[Any]]) -> None:
        assert self._run is not None
        self._collected = {item[0] for item in items}
        self.write("collected", items=items)
        self.write("not_applicable", not_applicable=self._run.inapplicable(), partial=sorted(map(list, self._run.partial)))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.write("started", nodeid=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when not in ("setup", "call", "teardown"):  # pytest-xdist says so when a worker died
            self.write("lost", nodeid=report.nodeid, why=str(report.longrepr).strip().splitlines()[-1])
            return
        for key, value in report.user_properties:
            if key == "conformance-proof":
                self.write("proved", nodeid=report.nodeid, claims=split_node_id(report.nodeid, ())[0],
                           results=json.loads(str(value)))
        data = next((json.loads(str(value)) for key, value in report.user_properties if key == "conformance"), None)
        result = self._results.setdefault(report.nodeid, {"seconds": 0.0})
        result["seconds"] += report.duration
        if data is not None and result.get("outcome") != "error":
            result |= data
        if report.when == "teardown":
            del self._results[report.nodeid]
            result["seconds"] = round(result["seconds"], 4)
            if result.get("outcome") == "lost":
                self.write("lost", nodeid=report.nodeid, why=result["message"])
            else:
                self.write("result", nodeid=report.nodeid, **result)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self.write("finished", exit=int(exitstatus))

    def pytest_unconfigure(self) -> None:
        self._file.close()


def about(subject: Subject) -> dict[str, Any]:
    """What the evidence says of a subject."""
    return {"name": subject.name, "title": subject.title, "facets": sorted(subject.facets),
            "capabilities": sorted(subject.capabilities), "facts": subject.facts,
            "declares": {key: [one.value, one.origin] for key, one in sorted(subject.declares.items())}}


def end_with_parent() -> None:
    """When the process that asked for this run is gone, end this one and all that it started, whatever they do then."""
    parent = int(os.environ.pop(PARENT, os.getppid()))

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(int(Exit.INTERRUPTED))

    threading.Thread(target=watch, name="end with parent", daemon=True).start()


def give_way() -> None:
    """Where memory is short, this process is to be ended by the kernel, and not the one that writes the report."""
    with suppress(OSError):  # not Linux, or not allowed
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def collect_seldom() -> None:
    """Look for garbage less often: a run makes little, and every look goes through all objects of the libraries."""
    gc.set_threshold(20_000, 10, 10)


def split_node_id(node_id: str, subjects: Any) -> tuple[list[str], str]:
    """The claims and the subject that a node id names."""
    found = NODE_ID.search(node_id)
    if not found:
        return [], ""
    longest = max((name for name in subjects if found["rest"] == name or found["rest"].startswith(f"{name}-")),
                  key=len, default="")
    return found["claims"].split("+"), longest


def read(written: BinaryIO) -> list[dict[str, Any]]:
    """The complete lines of an events file that were not read yet."""
    offset = written.tell()
    whole, newline, _ = written.read().rpartition(b"\n")
    written.seek(offset + len(whole) + len(newline))
    return [json.loads(line) for line in whole.split(b"\n") if line.strip()]


def environment() -> dict[str, Any]:
    """What the run was made on: versions, processor, threads."""
    packages = {}
    for name in ("numpy", "torch", "transformers", "tokenizers", "safetensors", "pytest"):
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return {"python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}",
            "cpus": os.cpu_count(), "instructions": _instructions(), "packages": packages,
            "omp_num_threads": os.environ.get("OMP_NUM_THREADS", ""), "byteorder": sys.byteorder}


def _instructions() -> str:
    """The widest vector instructions that NumPy found on this processor."""
    try:
        from numpy._core._multiarray_umath import __cpu_features__ as features
    except ImportError:
        return ""
    return next((name for name in ("AVX512F", "AVX2", "ASIMD", "SSE42") if features.get(name)), "")
