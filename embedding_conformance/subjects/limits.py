"""What this process may ask of services. Said once, before subjects are opened."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Limits:
    """`seconds` is how long one request may take as a whole, and how long one may be put off; `requests` how many a run may
    send to one service, None for any number."""

    seconds: float = 60.0
    requests: int | None = None


LIMITS = Limits()


def allow(test_seconds: float, requests: int | None) -> None:
    """Set the limits; a test that must be done in `test_seconds` can ask a few times before that."""
    LIMITS.seconds, LIMITS.requests = test_seconds / 5, requests
