"""Before the first request to a service on the network: how many there will be, by a run on a sound one in memory."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from .errors import UsageError
from .evidence import Evidence
from .handles import HANDLES
from .reference import Reference, of_subject
from .subjects import Remote, Subject, reference_service
from .subjects.limits import LIMITS

if TYPE_CHECKING:
    from .collection import Run


class Opposite:
    """An embedder that agrees with the service in memory nowhere."""

    def embed(self, texts: list[str]) -> np.ndarray:
        """[N, d] float32"""
        return -reference_service.vectors(texts)


def rehearse(subject: Subject, remote: Remote, items: list[pytest.Item], run: Run) -> tuple[int, int]:
    """The requests, and the texts in them, that these tests of the subject come to, the first request included.

    Exact for a sound service that need not be asked twice. Raises `UsageError` when they are more than the run may send.
    """
    stand_in, tally = remote.stand_in()
    reference = run.reference_of(stand_in)
    if reference and reference.remote:
        reference = of_subject(reference.remote.stand_in()[0], reference.texts)
    _call(items, stand_in, reference, run.seed, explains=False)
    return _allowed(subject.name, tally.requests + 1, tally.texts + 1)


def rehearse_reference(reference: Reference, remote: Remote, items: list[pytest.Item], run: Run) -> tuple[int, int]:
    """The same for a reference, which these tests of some subjects compare with: as many as there are where nothing agrees, and
    it is asked why.
    """
    stand_in, tally = remote.stand_in()
    judged = Subject("", "", frozenset({"embedder.embed"}), {"embedder": Opposite})
    _call(items, judged, of_subject(stand_in, reference.texts), run.seed, explains=True)
    return _allowed(f"--reference {reference.name}", tally.requests + 1, tally.texts + 1)


def _allowed(name: str, requests: int, texts: int) -> tuple[int, int]:
    if LIMITS.requests is not None and requests > LIMITS.requests:
        raise UsageError(f"{name}: the claims that are selected need {requests} requests with {texts} texts, and "
                         f"--max-requests allows {LIMITS.requests}: allow more, or select fewer with -k or --facet")
    return requests, texts


def _call(items: list[pytest.Item], subject: Subject, reference: Reference | None, seed: int, *, explains: bool) -> None:
    """Call the tests, whatever becomes of them: a stand-in need not do what is declared."""
    for item in items:
        arguments = _arguments(item, subject, reference, seed, explains=explains)
        if arguments is not None:
            with contextlib.suppress(Exception):
                item.obj(**arguments)  # type: ignore[attr-defined]


def _arguments(item: Any, subject: Subject, reference: Reference | None, seed: int, *, explains: bool) -> dict[str, Any] | None:
    """What a test is called with; None for one that asks for what only pytest can give."""
    given = {"evidence": Evidence(explains=explains), "seed": seed, "reference": reference} | item.callspec.params
    arguments: dict[str, Any] = {}
    for name in item._fixtureinfo.argnames:
        if name not in HANDLES and name not in given:
            return None
        arguments[name] = HANDLES[name](subject) if name in HANDLES else given[name]
    return arguments
