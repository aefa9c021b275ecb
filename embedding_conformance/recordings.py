"""Recordings: the vectors of a subject with their texts and where they come from, to be a reference later.

A recording is a folder: ``vectors.npy`` (float32, [N, d]), ``texts.jsonl`` (one {"text": ...} a line, row by row) and
``recording.json`` (which subject, what it declared, on what it was made, and the sha256 of the other two).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .errors import UsageError
from .texts import Text, text_of

SCHEMA = "recording/1"
VECTORS, TEXTS, ABOUT = "vectors.npy", "texts.jsonl", "recording.json"


@dataclass(frozen=True)
class Recording:
    """What a folder holds. The vectors stay on disk until they are read."""

    folder: Path
    vectors: np.ndarray
    texts: list[Text]
    #: subject, title, declares, facts, environment, harness, started, count, width, sha256
    about: dict[str, Any]


def is_recording(path: Path) -> bool:
    """Whether a path is a folder that holds a recording."""
    return (path / ABOUT).is_file()


def write(folder: Path, vectors: np.ndarray, texts: Sequence[str], about: dict[str, Any]) -> None:
    """Write a recording as a whole or not at all. Raises `UsageError` when the folder is there and not empty.

    A recording is a witness of its day, so none is ever overwritten.
    """
    refuse_to_overwrite(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        np.save(made / VECTORS, np.ascontiguousarray(vectors, dtype=np.float32), allow_pickle=False)
        with (made / TEXTS).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts)
        about = {"schema": SCHEMA, **about, "count": len(texts), "width": int(vectors.shape[1]),
                 "sha256": {name: sha256(made / name) for name in (VECTORS, TEXTS)}}
        (made / ABOUT).write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        made.chmod(0o777 & ~_umask())  # mkdtemp makes folders that nobody else may read
        if folder.is_dir():
            folder.rmdir()  # empty, as was seen above; if it is not any more, this fails and nothing is lost
        made.rename(folder)
    except OSError as error:
        raise UsageError(f"{folder}: the recording cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def refuse_to_overwrite(folder: Path) -> None:
    """Raise `UsageError` where something is already there."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        what = "holds a recording" if is_recording(folder) else "is not empty"
        raise UsageError(f"{folder} {what}, and nothing is overwritten: name another folder, or remove this one first")


def read(folder: Path) -> Recording:
    """Read a recording; the files must be those that were written. Raises `UsageError`."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        lines = (folder / TEXTS).read_text(encoding="utf-8").split("\n")
        digests = {name: sha256(folder / name) for name in (VECTORS, TEXTS)}
        vectors = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise UsageError(f"{folder}: no whole recording: {error.filename}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{folder}: no recording: {error}") from error
    if not isinstance(about, dict) or about.get("schema") != SCHEMA:
        raise UsageError(f"{folder}: {ABOUT} is none of a recording that this version reads ({SCHEMA})")
    for name, digest in digests.items():
        if about.get("sha256", {}).get(name) != digest:
            raise UsageError(f"{folder}: {name} is not the file that was recorded (its sha256 differs)")
    texts = [Text(text_of(line, f"{TEXTS}:{number}"), f"{folder.name}/{TEXTS}:{number}", own=True)
             for number, line in enumerate(lines, 1) if line]
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise UsageError(f"{folder}: {len(texts)} texts, and vectors of shape {list(vectors.shape)}")
    return Recording(folder, vectors, texts, about)


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
