"""Before the first request to a subject on the network: how many there will be, by a run on a sound subject in memory."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from .errors import UsageError
from .evidence import Evidence
from .handles import HANDLES
from .subjects import Remote, Subject
from .subjects.limits import LIMITS

if TYPE_CHECKING:
    from .collection import Run


def rehearse(subject: Subject, remote: Remote, items: list[pytest.Item], run: Run) -> tuple[int, int]:
    """The requests, and the texts in them, that these tests of the subject come to, the first request included.

    Exact for a sound service that need not be asked twice. Raises `UsageError` when they are more than the run may send.
    """
    stand_in, tally = remote.stand_in()
    for item in items:
        arguments = _arguments(item, stand_in, run)
        if arguments is not None:
            with contextlib.suppress(Exception):  # the stand-in need not do what the subject declares
                item.obj(**arguments)  # type: ignore[attr-defined]
    requests, texts = tally.requests + 1, tally.texts + 1
    if LIMITS.requests is not None and requests > LIMITS.requests:
        raise UsageError(f"{subject.name}: the claims that are selected need {requests} requests with {texts} texts, and "
                         f"--max-requests allows {LIMITS.requests}: allow more, or select fewer with -k or --facet")
    return requests, texts


def _arguments(item: Any, subject: Subject, run: Run) -> dict[str, Any] | None:
    """What a test is called with; None for one that asks for what only pytest can give."""
    arguments: dict[str, Any] = {}
    for name in item._fixtureinfo.argnames:
        if name in HANDLES:
            arguments[name] = HANDLES[name](subject)
        elif name in ("evidence", "seed"):
            arguments[name] = Evidence() if name == "evidence" else run.seed
        elif name == "reference":
            arguments[name] = run.reference_of(subject)
        elif name in item.callspec.params:
            arguments[name] = item.callspec.params[name]
        else:
            return None
    return arguments
