"""The three documents: which passages the claims cite, and whether they still read as they did.

A passage is a line range, known by a hash of its text (UTF-8, line feeds, no final newline). One that stands elsewhere in
its file has moved and still holds; one that stands nowhere makes the claims that cite it stale.

``python -m embedding_conformance.documents DIR`` renews ``fixtures/documents.yaml`` after claims cite new passages.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from . import home
from .claims import DOCUMENT_SOURCE, Catalogue, load, read_yaml
from .errors import UsageError


def fixture() -> Path:
    return home() / "fixtures" / "documents.yaml"


def passage_hash(lines: list[str]) -> str:
    """sha256 of the lines joined by line feeds, without a final one; the first 32 of 64 digits."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def split_source(source: str) -> tuple[str, int, int] | None:
    """``002:86-90`` as ("002", 86, 90); None for a source that is no passage."""
    found = DOCUMENT_SOURCE.fullmatch(source)
    return found and (found["document"], int(found["first"]), int(found["last"] or found["first"]))


def read_lines(path: Path) -> list[str]:
    """The lines of a document, without line ends; an empty last line is none."""
    try:
        return path.read_text(encoding="utf-8").replace("\r\n", "\n").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"--documents: {path}: {reason}") from error


@dataclass
class Documents:
    """What is known of the documents, and, when their folder was given, what they say now."""

    names: dict[str, str]
    hashes: dict[str, str]
    #: document -> its lines; empty when no folder was given
    lines: dict[str, list[str]] = field(default_factory=dict)

    @property
    def given(self) -> bool:
        return bool(self.lines)

    @cached_property
    def state(self) -> dict[str, str]:
        """Every cited passage -> "unchanged", "moved to N" or "changed"; empty without the documents."""
        return {source: self._state(source) for source in self.hashes} if self.given else {}

    def stale(self) -> set[str]:
        """The cited passages that stand nowhere in their document any more."""
        return {source for source, state in self.state.items() if state == "changed"}

    def quote(self, source: str) -> list[str]:
        """The lines of a passage; empty without the documents and for what is no passage."""
        place = split_source(source)
        if not place or place[0] not in self.lines:
            return []
        start = int(moved.removeprefix("moved to ")) if (moved := self.state.get(source, "")).startswith("moved") \
            else place[1]
        return self.lines[place[0]][start - 1:start + place[2] - place[1]]

    def _state(self, source: str) -> str:
        place = split_source(source)
        assert place is not None  # only passages have hashes
        document, first, last = place
        lines, count = self.lines[document], last - first + 1
        if passage_hash(lines[first - 1:last]) == self.hashes[source]:
            return "unchanged"
        for start in range(len(lines) - count + 1):
            if passage_hash(lines[start:start + count]) == self.hashes[source]:
                return f"moved to {start + 1}"
        return "changed"


def known(catalogue: Catalogue) -> Documents:
    """What ``fixtures/documents.yaml`` says; raises `UsageError` when a claim cites a passage without a hash."""
    stored = read_yaml(fixture())
    documents = Documents({key: one["name"] for key, one in stored["documents"].items()}, stored["passages"])
    for claim in catalogue:
        for source in claim.source:
            if split_source(source) and source not in documents.hashes:
                raise UsageError(f"claim {claim.id} cites {source}, and {fixture().name} has no hash of it; "
                                 "python -m embedding_conformance.documents DIR renews it")
    return documents


def read(catalogue: Catalogue, folder: Path | None) -> Documents:
    """The documents, with their text when a folder is given."""
    documents = known(catalogue)
    if folder is not None:
        if not folder.is_dir():
            raise UsageError(f"--documents {folder}: there is no such folder")
        for key, name in documents.names.items():
            if not (folder / name).is_file():
                raise UsageError(f"--documents {folder}: {name} is not in it")
            documents.lines[key] = read_lines(folder / name)
    return documents


def renew(folder: Path) -> int:
    """Write the hash of every passage that a claim cites; returns how many. The documents are taken as they stand now."""
    catalogue = load()
    stored: dict[str, Any] = read_yaml(fixture()) if fixture().is_file() else {}
    names = {key: one["name"] for key, one in stored.get("documents", {}).items()} \
        or {path.name[:3]: path.name for path in sorted(folder.glob("*.txt"))}
    lines = {key: read_lines(folder / name) for key, name in names.items()}
    documents = {key: {"name": name, "lines": len(lines[key]),
                       "sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest()} for key, name in names.items()}
    passages = {}
    for source in sorted({source for claim in catalogue for source in claim.source}):
        if place := split_source(source):
            document, first, last = place
            if document not in lines or not 1 <= first <= last <= len(lines[document]):
                raise UsageError(f"{source} lies outside its document")
            passages[source] = passage_hash(lines[document][first - 1:last])
    text = yaml.safe_dump({"documents": documents, "passages": passages}, sort_keys=False, allow_unicode=True)
    fixture().write_text(text, encoding="utf-8")
    return len(passages)


if __name__ == "__main__":
    import sys

    if len(sys.argv) != 2:
        sys.exit("usage: python -m embedding_conformance.documents DIR")
    print(f"{renew(Path(sys.argv[1]))} passages in {fixture()}")
