"""The texts on which a subject is compared with a reference: the harness's own, and those that a user names.

A user's own texts may be confidential: they are cited by file and line, and never quoted in an event, a report or a message.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from . import home
from .claims import read_yaml
from .data import probe, probe_texts
from .errors import UsageError


@dataclass(frozen=True)
class Text:
    """One text, and how a report names it."""

    text: str
    #: file and line
    cite: str
    #: a user's own, which is never quoted
    own: bool = False

    def shown(self) -> str:
        """The text as a message names it: quoted only where it is the harness's own."""
        if self.own:
            return self.cite
        text = self.text if len(self.text) <= 60 else f"{self.text[:57]}..."
        return f"{json.dumps(text, ensure_ascii=False)} ({self.cite})"


@cache
def agreement_texts() -> tuple[Text, ...]:
    """The harness's own texts for comparisons with a reference (``fixtures/agreement.yaml``).

    Short ones and, last, some that are longer than the limits of usual models; their order by characters is not that by
    tokens.
    """
    read = read_yaml(home() / "fixtures" / "agreement.yaml")
    texts = [*read["short"], *(" ".join([read["words"]] * times) for times in read["long"])]
    return tuple(Text(text, f"agreement:{number}") for number, text in enumerate(texts, 1))


@cache
def all_texts() -> tuple[Text, ...]:
    """The texts for a reference that a user names, and for recordings: those for agreement, then the probe (``probe.yaml``)
    without its blank texts, which a sound subject may refuse.
    """
    blank = set(probe()["blank"])
    probed = [Text(text, f"probe:{number}") for number, text in enumerate(probe_texts(), 1) if text not in blank]
    known = {one.text for one in agreement_texts()}
    return (*agreement_texts(), *(one for one in probed if one.text not in known))


def few_texts() -> tuple[Text, ...]:
    """Ten of them for a proof, which asks hundreds of broken models: every other short one, and one of more than 32 tokens."""
    short = sorted(agreement_texts(), key=lambda one: len(one.text))[:-1]
    chosen = [*short[:18:2], short[-1]]
    return tuple(one for one in agreement_texts() if one in chosen)


def read_texts(path: Path) -> list[Text]:
    """A user's own texts: one a line in UTF-8, or the "text" of each line of a .jsonl file. Empty lines are left out.

    Raises `UsageError` that names file and line, and quotes nothing.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise UsageError(f"--texts {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--texts {path}: not UTF-8: byte {error.start}") from error
    read = list(_lines(path, lines))
    if not read:
        raise UsageError(f"--texts {path}: there is no text in it")
    return read


def _lines(path: Path, lines: Iterable[str]) -> Iterator[Text]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            text = text_of(line, f"{path}:{number}") if path.suffix == ".jsonl" else line.removesuffix("\r")
            yield Text(text, f"{path.name}:{number}", own=True)


def text_of(line: str, place: str) -> str:
    """The "text" of one line of JSON; raises `UsageError` with the place."""
    try:
        text = json.loads(line)["text"]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f'{place}: no JSON object with a "text"') from error
    if not isinstance(text, str):
        raise UsageError(f'{place}: its "text" is no text')
    return text
