"""The subject ``documents``: the text of the three documents, for facts about the documents themselves."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ..errors import UsageError
from . import Subject

_folder: Path | None = None


def read_from(folder: Path | None) -> None:
    """Say where this process finds the documents. Faults of a document are made from them, too, so it is said once."""
    global _folder  # noqa: PLW0603
    _folder = folder


class DocumentsText:
    """The facet document."""

    def __init__(self, lines: dict[str, list[str]]):
        self._lines = lines

    def lines(self, name: str) -> list[str]:
        """The lines of the document "000", "001" or "002"."""
        return list(self._lines[name])


def open_subject(rest: str = "") -> Subject:
    """A default subject where the folder of the documents is given; raises `UsageError` where it is not."""
    from ..documents import read_folder

    if _folder is None:
        raise UsageError("documents: the documents are no part of this package; say where they lie: --documents DIR")
    lines = read_folder(_folder)
    text = DocumentsText(lines)
    return Subject(
        name="documents", title="the text of the three documents", capabilities=frozenset({"document.lines"}),
        makers={"document": lambda: text},
        facts={f"sha256 of {name}": hashlib.sha256("\n".join(own).encode()).hexdigest() for name, own in lines.items()})
