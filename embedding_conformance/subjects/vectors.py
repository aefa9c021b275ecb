"""The scheme ``vectors:``: stored vectors in .npy, .npz, .safetensors or .parquet, a folder of one of these, or a recording.

Opening reads headers only. The numbers are read in blocks, in one pass, and none of them is kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NoVerdict, UsageError
from . import STORED, Subject, declared
from .facets import recognise
from .stored_files import READERS, Part

ABOUT, VECTORS, TEXTS = "recording.json", "vectors.npy", "texts.jsonl"
#: what a recording passes on of its subject's declarations: what can be seen in vectors alone
PASSED_ON = ("normalized", "precision")


class FileStore:
    """The facet store over one or several files."""

    def __init__(self, parts: list[Part], texts: Callable[[], Iterator[str]] | None):
        self.parts = parts
        #: number of the first row of each part, and of the row after the last
        self.starts = [0, *accumulate(part.count for part in parts)]
        self.texts = texts

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self.starts[-1]

    def batches(self) -> Iterator[tuple[int, np.ndarray]]:
        """(number of the first row, array [n, d]); rows of another size, or none, come in batches of their own."""
        first = 0
        for part in self.parts:
            for block in part.blocks():
                yield first, block
                first += len(block)

    def rows(self, numbers: np.ndarray) -> np.ndarray:
        """[K] -> [K, d]. Raises IndexError for a number that is no row, ValueError where rows differ in size."""
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < self.count:
            raise IndexError(f"rows are numbered 0 to {self.count - 1}")
        places = np.searchsorted(self.starts, numbers, side="right") - 1
        found: list[Any] = [None] * len(numbers)
        for place in np.unique(places):
            own = np.flatnonzero(places == place)
            for position, row in zip(own, self.parts[place].take(numbers[own] - self.starts[place]), strict=True):
                found[position] = row
        return np.stack(found)


def open_subject(rest: str) -> Subject:
    """Open PATH[@COLUMN]. Raises `UsageError` for what is no store of vectors, `NoVerdict` for one that cannot be read."""
    path, column = _place(rest)
    about: dict[str, Any] = {}
    texts = None
    try:
        if (path / ABOUT).is_file():
            about = _about(path)
            files, texts = [path / VECTORS], lambda: _texts(path / TEXTS)
        else:
            files = _files(path) if path.is_dir() else [path]
        parts = [READERS[file.suffix](file, column) for file in files]
    except OSError as error:
        raise NoVerdict(f"vectors:{rest}: {error.filename or path}: {error.strerror or error}") from error
    if len(parts) == 1 and texts is None:
        texts = parts[0].texts
    store = FileStore(parts, texts)
    if not store.count:
        raise NoVerdict(f"vectors:{rest} holds no vectors, so there is nothing to judge")
    forms = ", ".join(dict.fromkeys(f"{part.width or '?'} {part.form}" for part in parts))
    kind = f"{len(parts)} files" if len(parts) > 1 else path.name
    if about:
        kind = f"a recording of {about.get('subject', '?')}"
    facts = {"rows": str(store.count), "form": forms, "files": str(len(parts)),
             "bytes": str(sum(part.path.stat().st_size for part in parts))}
    subject = Subject(name=rest, title=f"{kind}, {store.count:,} x {forms}", makers={"store": lambda: store}, facts=facts,
                      capabilities=frozenset().union(*recognise(store, rest).values()))
    if about:
        subject.declares |= declared(_passed_on(about), ABOUT)
    return subject


def _place(rest: str) -> tuple[Path, str]:
    """The path and the column; an @ in the name of a file that is there belongs to the name."""
    path, column = Path(rest), ""
    if not path.exists() and "@" in rest:
        name, _, column = rest.rpartition("@")
        path = Path(name)
        if not column:
            raise UsageError(f"vectors:{rest}: write the column after the @")
    if not path.exists():
        hint = f": name the folder, {path.parent}" if set("*?[") & set(str(path)) else ""
        raise UsageError(f"vectors:{rest}: there is no {path}{hint}")
    if not path.is_dir() and path.suffix not in STORED:
        raise UsageError(f"vectors:{rest}: the ending is none of {', '.join(STORED)}")
    return path, column


def _files(folder: Path) -> list[Path]:
    """The files of vectors of a folder by name. All are of one kind, or which of them belong together is not known."""
    files = sorted(path for path in folder.iterdir() if path.suffix in STORED and not path.name.startswith("."))
    if not files:
        raise UsageError(f"vectors:{folder}: it holds no file that ends with {', '.join(STORED)}")
    kinds = sorted({path.suffix for path in files})
    if len(kinds) > 1:
        raise UsageError(f"vectors:{folder}: it holds {' and '.join(kinds)} files; name one file, or a folder of one kind")
    return files


def _about(folder: Path) -> dict[str, Any]:
    """What a recording says of itself, once its files are those that were recorded."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except ValueError as error:
        raise NoVerdict(f"vectors:{folder}: {ABOUT} is no JSON: {error}") from error
    if not isinstance(about, dict):
        raise NoVerdict(f"vectors:{folder}: {ABOUT} holds no provenance")
    for name, wanted in about.get("sha256", {}).items():
        with (folder / name).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != wanted:
                raise NoVerdict(f"vectors:{folder}: {name} is not the file that was recorded (its sha256 differs)")
    return about


def _passed_on(about: dict[str, Any]) -> dict[str, Any]:
    known = about.get("declares", {})
    values = {key: known[key] for key in PASSED_ON if key in known}
    return {key: value[0] if isinstance(value, list) else value for key, value in values.items()}


def _texts(path: Path) -> Iterator[str]:
    """A text or an id a line."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            entry = json.loads(line)
            if not isinstance(entry, dict) or not {"text", "id"} & entry.keys():
                raise ValueError(f"{path.name}:{number}: neither a text nor an id")
            yield str(entry.get("text", entry.get("id")))
