"""What can go wrong before a verdict, and the exit codes that say so."""

from __future__ import annotations

import difflib
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
