"""What can go wrong before a verdict, and the exit codes that say so."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable
from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command. Where several apply, `worst` picks the one that decides."""

    VERIFIED = 0
    REFUTED = 1
    INTERRUPTED = 2
    INTERNAL = 3
    USAGE = 4
    NOTHING_CHECKED = 5
    NO_VERDICT = 7

    @staticmethod
    def worst(codes: Iterable[Exit]) -> Exit:
        order = [Exit.INTERNAL, Exit.USAGE, Exit.INTERRUPTED, Exit.REFUTED, Exit.NO_VERDICT, Exit.NOTHING_CHECKED]
        return min(codes, key=lambda code: order.index(code) if code in order else len(order), default=Exit.VERIFIED)


class Refusal(Exception):
    """A run that cannot go on; ``str()`` of it is the one message that the user reads."""

    exit = Exit.USAGE
    #: the word for it in the last line
    reason = "usage"
    #: a command that shows the same without this program
    hint = ""


class UsageError(Refusal):
    """The command line, a configuration file or the catalogue is wrong, and the message says how to put it right."""


class NoVerdict(Refusal):
    """The subject could not be loaded or reached, so that nothing can be said about it."""

    exit = Exit.NO_VERDICT
    reason = "not-loaded"


def nearest(word: str, words: Iterable[str]) -> str:
    """A hint such as ``; did you mean "lookup"?``, or nothing when no word is near."""
    close = difflib.get_close_matches(word, list(words), n=1, cutoff=0.6)
    return f'; did you mean "{close[0]}"?' if close else ""


def showable(character: str) -> bool:
    """Whether a character is neither a command to a terminal, nor a line break, nor half a character."""
    return unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")


def printable(text: str, most: int = 300) -> str:
    """The text as one line of at most `most` characters; what is not `showable` is spelt out."""
    line = " ".join(text[:8 * most].split())
    if not line.isprintable():
        line = "".join(one if showable(one) else one.encode("unicode_escape").decode("ascii") for one in line)
    return line if len(line) <= most else f"{line[:most - 3]}..."


def said(error: BaseException, most: int = 300) -> str:
    """What an exception says, as one printable line, whatever it is."""
    try:
        return printable(str(error), most) or "(no message)"
    except BaseException as another:
        return f"(its message cannot be read: {type(another).__name__})"
