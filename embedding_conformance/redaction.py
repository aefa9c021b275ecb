"""The key of a service must show in no output, whoever wrote it there: a service may quote it in its answer."""

from __future__ import annotations

import json
import os
from typing import Any

VARIABLE = "OPENAI_API_KEY"
#: shorter ones are placeholders such as "EMPTY", which local services want, and words that occur by themselves
SHORTEST = 8


def key() -> str:
    """The key that the environment holds, or an empty string."""
    return os.environ.get(VARIABLE, "").strip()


def redacted(value: Any) -> Any:
    """The same text, or structure of texts, with the name of the variable in the place of the key."""
    secret = key()
    if len(secret) < SHORTEST:
        return value
    return _without(value, sorted({secret, json.dumps(secret)[1:-1], secret.replace("/", "\\/")}, key=len, reverse=True))


def _without(value: Any, forms: list[str]) -> Any:
    if isinstance(value, str):
        for form in forms:
            value = value.replace(form, f"[{VARIABLE}]")
        return value
    if isinstance(value, dict):
        return {_without(name, forms): _without(one, forms) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without(one, forms) for one in value]
    return value
