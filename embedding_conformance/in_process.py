"""``embedding_conformance.check(obj)``: judge an object in the process that holds it, as in a notebook.

What `check` on the command line does in a child process happens here, so a subject that hangs or crashes takes the caller with
it; the report says so. What a run changes of the process (environment, output, random state, warnings) is put back.
"""

from __future__ import annotations

import contextlib
import html
import io
import os
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from . import deviations as accepted
from . import documents as passages
from . import proof
from .claims import NOT_CHAPTERS, suites
from .collection import GIVEN
from .errors import Exit, NoVerdict, UsageError
from .own_tests import catalogue, check_facets
from .report import write
from .report.evidence_file import Context, assemble
from .run import PLUGINS, UNUSED, Outcome, follow
from .subjects import Subject, documents_text
from .subjects.given import open_given

#: parts of pytest that would act on the caller's process, besides those that no run has a use for
ALSO_UNUSED = ("faulthandler", "warnings")
#: where Python keeps the last exception, and with it every frame that it passed
LAST = ("last_type", "last_value", "last_traceback", "last_exc")
NOTE = "judged in the caller's own process, which a subject that hangs or crashes takes along (the command's own lives on)"


class Report:
    """What a check found. ``print`` shows what the command prints; it is true where the command would exit with 0."""

    def __init__(self, evidence: dict[str, Any], text: str):
        #: all that was measured, as in evidence.json
        self.evidence = evidence
        self._text = text

    @property
    def verdict(self) -> str:
        """"verified", "refuted", "nothing-checked", "inconclusive", ..."""
        return str(self.evidence["verdict"]["word"])

    @property
    def exit(self) -> int:
        """The exit code of the command."""
        return int(self.evidence["verdict"]["exit"])

    @property
    def refuted(self) -> list[str]:
        """The ids of the claims that are refuted, those included that rest on another refuted claim."""
        return [claim["id"] for claim in self.evidence["claims"] if claim["verdict"] in ("refuted", "blocked")]

    def __bool__(self) -> bool:
        return self.exit == Exit.VERIFIED

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>"


def check(subject: Any, *, reference: Any = None, declares: Mapping[str, Any] | None = None,
          facets: Iterable[str] | str | None = None, keyword: str = "", deviations: Mapping[str, Any] | None = None,
          documents: str | Path | None = None, report: str | Path | None = None, seed: int = 0) -> Report:
    """Judge `subject` on every claim that applies to it, in this process.

    `subject` is an object, a class, a factory, or a string such as ``st:DIR``; `reference` is what it is compared with;
    `declares` what it promises; `facets` and `keyword` (as pytest's ``-k``) choose among the claims; `deviations` are failures
    that are accepted; `documents` is where the three documents lie; the report is written to `report` if that is given; `seed`
    is that of the generated inputs. Raises `UsageError` for wrong arguments.
    """
    folder = Path(documents) if documents is not None else None
    chosen = frozenset([facets] if isinstance(facets, str) else facets or ())
    known = catalogue()
    context = Context(
        known, passages.read(known, folder), proof.read_records(known), command=["embedding_conformance.check(...)"],
        selection=[*(["-k", keyword] if keyword else []), *(word for facet in sorted(chosen) for word in ("--facet", facet))],
        deviations=accepted.from_mapping(deviations or {}, "deviations", known))
    with _restored():
        try:
            opened = open_given(subject, declares, chosen)
        except NoVerdict as refusal:
            outcome = Outcome(refused=(refusal.exit, str(refusal)))
        else:
            check_facets(chosen, opened)
            outcome = _judge(_Given(opened, reference), folder, chosen, keyword, seed)
    for one in outcome.opened.get("subjects", []):
        one["repeat"] = f'embedding_conformance.check(..., keyword="{{claim}}", seed={seed})'
    if outcome.refused and outcome.refused[0] == Exit.USAGE:
        raise UsageError(outcome.refused[1])
    evidence = assemble(context, outcome)
    target = Path(report) if report is not None else None
    draft = write(evidence, target) if target else None
    if outcome.interrupted:
        raise KeyboardInterrupt
    return Report(evidence, _shown(context, outcome, evidence, target, draft))


def _judge(given: _Given, documents: Path | None, facets: frozenset[str], keyword: str, seed: int) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="embedding-conformance-") as scratch:
        events = Path(scratch) / "events.jsonl"
        plugins = [*PLUGINS, *(f"no:{name}" for name in (*UNUSED, *ALSO_UNUSED))]
        words = ["-c", str(Path(__file__).with_name("pytest.ini")), "--rootdir", str(suites()), "--noconftest",
                 "--assert=plain", "--capture=no", "--tb=short", "-q",
                 *(word for name in plugins for word in ("-p", name)),
                 "--conformance-events", str(events), "--conformance-seed", str(seed),
                 *(f"--ignore={suites() / name}" for name in sorted(NOT_CHAPTERS)),
                 *(f"--conformance-facet={facet}" for facet in sorted(facets)), *(["-k", keyword] if keyword else []),
                 *([f"--conformance-documents={documents.resolve()}"] if documents else []), str(suites())]
        said, start = io.StringIO(), time.monotonic()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                pytest.main(words, plugins=[given])
        finally:
            documents_text.read_from(None)
        outcome = follow(events, said.getvalue(), interrupted=given.interrupted)
        outcome.seconds = time.monotonic() - start
        return outcome


class _Given:
    """The plugin that hands the subject over, and sees whether the user interrupts."""

    def __init__(self, subject: Subject, reference: Any):
        self.subject, self.reference = subject, reference
        self.interrupted = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[GIVEN] = (self.subject, self.reference)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self.interrupted = self.interrupted or excinfo.errisinstance(KeyboardInterrupt)


def _shown(context: Context, outcome: Outcome, evidence: dict[str, Any], folder: Path | None, draft: Path | None) -> str:
    """What the command prints, and where this was judged."""
    from .report.terminal import Terminal, no_verdict

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        if outcome.refused:
            no_verdict(outcome.refused[1], evidence)
        else:
            terminal = Terminal(context, quiet=False, verbose=False, named=True)
            terminal(outcome, {"event": "opened", **outcome.opened})
            terminal(outcome, {"event": "collected", "items": [[node_id, *one] for node_id, one in outcome.collected.items()]})
            terminal.finish(evidence, outcome, folder / "index.html" if folder else None, draft)
    return f"{NOTE}\n{said.getvalue().rstrip()}"


@contextlib.contextmanager
def _restored() -> Iterator[None]:
    """Within, pytest sees nothing of the caller's settings; afterwards the caller finds everything as it was."""
    environment, state, path = dict(os.environ), random.getstate(), list(sys.path)
    last = {name: getattr(sys, name) for name in LAST if hasattr(sys, name)}
    with warnings.catch_warnings(), _numbers():
        warnings.simplefilter("ignore")
        for name in [name for name in os.environ if name.startswith("PYTEST_")]:
            del os.environ[name]
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(environment)
            random.setstate(state)
            sys.path[:] = path
            for name in LAST:
                # A failed check would keep the subject alive.
                if name in last:
                    setattr(sys, name, last[name])
                elif hasattr(sys, name):
                    delattr(sys, name)


@contextlib.contextmanager
def _numbers() -> Iterator[None]:
    """The random state of NumPy and PyTorch, and how many threads PyTorch takes, are the caller's."""
    import numpy as np

    numpy_state = np.random.get_state()
    torch = sys.modules.get("torch")
    torch_state = (torch.get_rng_state(), torch.get_num_threads()) if torch else None
    try:
        yield
    finally:
        np.random.set_state(numpy_state)
        if torch and torch_state:
            torch.set_rng_state(torch_state[0])
            torch.set_num_threads(torch_state[1])
