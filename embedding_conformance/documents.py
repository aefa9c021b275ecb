"""The three documents: which passages the claims cite, whether they still read as they did, and what no claim covers.

A passage is a line range, known by a hash of its text (UTF-8, line feeds, no final newline). One that stands elsewhere in
its file has moved and still holds; one that stands nowhere makes the claims that cite it stale. A line that is not blank
is cited by a claim, or listed in ``fixtures/documents.yaml`` with the reason why it states nothing. Hashes of the single
lines tell which line of a changed document is which line of the known one.

``python -m embedding_conformance.documents DIR`` renews ``fixtures/documents.yaml`` after claims cite new passages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from . import home
from .claims import DOCUMENT_SOURCE, Catalogue, load, read_yaml
from .errors import UsageError, nearest

#: why a line needs no claim: it states nothing that could be true or false
REASONS = ("title", "heading", "transition", "link", "sample output", "layout", "continuation")


def fixture() -> Path:
    return home() / "fixtures" / "documents.yaml"


def passage_hash(lines: list[str]) -> str:
    """sha256 of the lines joined by line feeds, without a final one; the first 32 of 64 digits."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def line_hash(line: str) -> str:
    """Eight digits: enough to tell the lines of one document apart."""
    return passage_hash([line])[:8]


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
    #: document -> the hash of every line
    line_hashes: dict[str, list[str]] = field(default_factory=dict)
    #: passages that no claim needs to cite -> one of `REASONS`
    uncovered: dict[str, str] = field(default_factory=dict)
    #: document -> its lines; empty when no folder was given
    lines: dict[str, list[str]] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def given(self) -> bool:
        return self.folder is not None

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
        start = self._start(source)
        return self.lines[place[0]][start - 1:start + place[2] - place[1]]

    def unaccounted(self, catalogue: Catalogue) -> list[str]:
        """The lines as they stand now, such as "002:31", that are not blank, not cited by a claim and not listed.

        A line whose text changed counts as cited if the known line was: its claims are stale, which says more.
        """
        cited = {source for claim in catalogue for source in claim.source if split_source(source)}
        known_lines, listed = set(places(cited)), set(places(self.uncovered))
        standing = {place for source in cited if source in self.state for place in self._standing(source)}
        found = []
        for document, lines in self.lines.items():
            for number, line in enumerate(lines, 1):
                was, same = self._origin[document].get(number, (0, False))
                if line.strip() and (document, number) not in standing and (document, was) not in known_lines \
                        and not (same and (document, was) in listed):
                    found.append(f"{document}:{number}")
        return found

    def listed(self) -> dict[str, str]:
        """The lines as they stand now, such as "002:31", that no claim needs to cite -> why not."""
        reasons = {place: reason for source, reason in self.uncovered.items() for place in places([source])}
        return {f"{document}:{number}": reasons[document, was] for document, own in self._origin.items()
                for number, (was, same) in own.items() if same and (document, was) in reasons}

    @cached_property
    def _origin(self) -> dict[str, dict[int, tuple[int, bool]]]:
        """document -> line number now -> the number of the known line in its place, and whether the text is the same."""
        origin: dict[str, dict[int, tuple[int, bool]]] = {}
        for document, lines in self.lines.items():
            own = origin[document] = {}
            hashes = [line_hash(line) for line in lines]
            changes = SequenceMatcher(None, self.line_hashes[document], hashes, autojunk=False).get_opcodes()
            for kind, was, was_end, now, now_end in changes:
                for offset in range(min(was_end - was, now_end - now)):
                    own[now + offset + 1] = (was + offset + 1, kind == "equal")
        return origin

    def _start(self, source: str) -> int:
        """The first line of a passage as it stands now."""
        place = split_source(source)
        assert place is not None  # asked for passages only
        moved = self.state.get(source, "")
        return int(moved.removeprefix("moved to ")) if moved.startswith("moved") else place[1]

    def _standing(self, source: str) -> Iterator[tuple[str, int]]:
        """The lines that a passage takes now; none when it stands nowhere any more."""
        place = split_source(source)
        if place and self.state[source] != "changed":
            start = self._start(source)
            yield from ((place[0], start + offset) for offset in range(place[2] - place[1] + 1))

    def _state(self, source: str) -> str:
        place = split_source(source)
        assert place is not None  # only passages have hashes
        document, first, last = place
        lines, count = self.lines[document], last - first + 1
        if passage_hash(lines[first - 1:last]) == self.hashes[source]:
            return "unchanged"
        starts = [start for start in range(1, len(lines) - count + 2)
                  if passage_hash(lines[start - 1:start - 1 + count]) == self.hashes[source]]
        if not starts:
            return "changed"
        # A line such as an import stands several times: it is the one in whose place the known line stood.
        here = next((now for now, (was, same) in self._origin[document].items() if same and was == first), first)
        return f"moved to {min(starts, key=lambda start: abs(start - here))}"


def places(sources: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Every (document, line) of some passages."""
    for source in sources:
        if place := split_source(source):
            yield from ((place[0], line) for line in range(place[1], place[2] + 1))


def known(catalogue: Catalogue, path: Path | None = None) -> Documents:
    """What ``fixtures/documents.yaml`` says; raises `UsageError` when a claim cites a passage without a hash."""
    path = path or fixture()
    stored = read_yaml(path)
    documents = Documents({key: one["name"] for key, one in stored["documents"].items()}, stored["passages"],
                          {key: one["line_hashes"].split() for key, one in stored["documents"].items()},
                          stored["uncovered"])
    for claim in catalogue:
        for source in claim.source:
            if split_source(source) and source not in documents.hashes:
                raise UsageError(f"claim {claim.id} cites {source}, and {path.name} has no hash of it; "
                                 "python -m embedding_conformance.documents DIR renews it")
    for source, reason in documents.uncovered.items():
        _inside(source, documents.line_hashes)
        if reason not in REASONS:
            raise UsageError(f'{path.name}: {source} is listed as "{reason}"{nearest(reason, REASONS)}; '
                             f"the reasons are {', '.join(REASONS)}")
    return documents


def _inside(source: str, lines: Mapping[str, Sequence[str]]) -> tuple[str, int, int]:
    """The place of a passage that lies in its document; raises `UsageError` otherwise."""
    place = split_source(source)
    if not place or place[0] not in lines or not 1 <= place[1] <= place[2] <= len(lines[place[0]]):
        raise UsageError(f"{source} lies outside its document")
    return place


def read(catalogue: Catalogue, folder: Path | None, path: Path | None = None) -> Documents:
    """The documents, with their text when a folder is given."""
    documents = known(catalogue, path)
    if folder is not None:
        documents.lines, documents.folder = read_folder(folder, documents.names), folder
    return documents


def read_folder(folder: Path, names: Mapping[str, str] | None = None) -> dict[str, list[str]]:
    """document -> its lines; raises `UsageError` when the folder or a document is missing."""
    if names is None:
        names = {key: one["name"] for key, one in read_yaml(fixture())["documents"].items()}
    if not folder.is_dir():
        raise UsageError(f"--documents {folder}: there is no such folder")
    for name in names.values():
        if not (folder / name).is_file():
            raise UsageError(f"--documents {folder}: {name} is not in it")
    return {key: read_lines(folder / name) for key, name in names.items()}


def renew(folder: Path, catalogue: Catalogue | None = None, path: Path | None = None) -> Documents:
    """Write the hash of every passage that a claim cites, taking the documents as they stand now.

    The list of what no claim needs to cite is kept, without what a claim cites by now.
    """
    catalogue, path = catalogue or load(), path or fixture()
    stored: dict[str, Any] = read_yaml(path) if path.is_file() else {}
    names = {key: one["name"] for key, one in stored.get("documents", {}).items()} \
        or {one.name[:3]: one.name for one in sorted(folder.glob("*.txt"))}
    lines = read_folder(folder, names)
    documents = {key: {"name": name, "lines": len(lines[key]),
                       "sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest(),
                       "line_hashes": " ".join(map(line_hash, lines[key]))} for key, name in names.items()}
    passages = {}
    for source in sorted({source for claim in catalogue for source in claim.source if split_source(source)}):
        document, first, last = _inside(source, lines)
        passages[source] = passage_hash(lines[document][first - 1:last])
    cited = set(places(passages))
    uncovered = {source: reason for source, reason in stored.get("uncovered", {}).items()
                 if not cited.issuperset(places([source]))}
    text = yaml.safe_dump({"documents": documents, "passages": passages, "uncovered": uncovered}, sort_keys=False,
                          allow_unicode=True, width=118)
    path.write_text(text, encoding="utf-8")
    return read(catalogue, folder, path)


if __name__ == "__main__":
    import sys

    if len(sys.argv) != 2:
        sys.exit("usage: python -m embedding_conformance.documents DIR")
    claims = load()
    renewed = renew(Path(sys.argv[1]), claims)
    print(f"{len(renewed.hashes)} passages in {fixture()}")
    if missing := renewed.unaccounted(claims):
        print(f"{len(missing)} lines are cited by no claim and not listed as uncovered: {', '.join(missing)}")
