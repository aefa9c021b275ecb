"""From the outcome of a run to evidence, and from evidence to everything that is read.

`evidence.json` is the only truth: the page, JUnit, the summary, the terminal's last lines and the exit code are functions of
it, so that they cannot contradict each other.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import UsageError
from . import drafts, html, junit, rows, store, summary

#: file name -> function from evidence to text
FILES = {"index.html": html.render, "junit.xml": junit.render, "summary.md": summary.render}


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Make the folder, and keep it from every other run until this one is done. Raises `UsageError` where it cannot.

    A lock ends with the process that holds it, so none is ever left behind.
    """
    import fcntl

    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise UsageError(f"{folder}: cannot write there: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise UsageError(f"{folder}: another run is writing there; name another folder") from error
    except OSError:  # a file system without locks
        pass
    try:
        yield
    finally:
        os.close(handle)


def clear(folder: Path) -> None:
    """Remove what an earlier run left, lest it be taken for the report of one that is killed.

    Raises `UsageError` where that, and so writing, is not possible: before a long run, not after it.
    """
    try:
        for name in ("evidence.json", rows.NAME, *FILES):
            (folder / name).unlink(missing_ok=True)
        (folder / "events.jsonl").write_bytes(b"")
    except OSError as error:
        raise UsageError(f"{error.filename or folder}: cannot write there: {error.strerror}") from error


def write(evidence: dict[str, Any], folder: Path) -> Path | None:
    """Write the evidence and every report made from it; each file appears whole or not at all. Returns where deviations for
    the failures are drafted, if any are."""
    """Write the evidence and every report made from it; each file appears whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists() and not (folder / "README.md").exists():
        ignore.write_text("*\n", encoding="utf-8")
    atomically(folder / "evidence.json", store.dump(evidence))
    for name, render in FILES.items():
        atomically(folder / name, render(evidence))
    listed = folder / rows.NAME
    if text := rows.render(evidence):
        atomically(listed, text)
    else:
        listed.unlink(missing_ok=True)  # an earlier run's
    if target := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(target).open("a", encoding="utf-8") as file:
            file.write(summary.render(evidence))
    return _draft(evidence, folder)


def _draft(evidence: dict[str, Any], folder: Path) -> Path | None:
    """Write the draft of deviations where nobody's edited file is lost, and remove an older one."""
    for name in drafts.NAMES:
        if drafts.untouched(folder / name):
            (folder / name).unlink(missing_ok=True)
    text, path = drafts.render(evidence), drafts.place(folder)
    if not text or path is None:
        return None
    atomically(path, text)
    return path


def write_as(evidence: dict[str, Any], path: Path) -> None:
    """Write the one file that the ending of `path` asks for, or all of them to a folder.

    Raises `UsageError` for another ending.
    """
    if not path.suffix or path.is_dir():
        with claimed(path):
            write(evidence, path)
        return
    renders = {Path(name).suffix: render for name, render in FILES.items()} | {".json": store.dump}
    if path.suffix not in renders:
        raise UsageError(f"-o {path}: the ending is none of {', '.join(sorted(renders))}")
    atomically(path, renders[path.suffix](evidence))


def atomically(path: Path, text: str) -> None:
    """Write beside the target first, then move, so that an interrupted run leaves no half file."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
