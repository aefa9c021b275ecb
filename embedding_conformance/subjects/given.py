"""Subjects that are given as objects in Python, and not named by a string."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from . import Subject, declared, open_subject
from .python_object import from_object


def open_given(thing: Any, declares: Mapping[str, Any] | None = None, facets: frozenset[str] = frozenset()) -> Subject:
    """The subject that an object, a class, a factory or a function is, or that a string names; where it can be two things,
    `facets` settles which is meant.

    Raises `UsageError` when it is none, `NoVerdict` when it cannot be made.
    """
    if isinstance(thing, str):
        return open_subject(thing, declares, facets)
    subject = from_object(thing, qualified(thing), facets)
    subject.declares |= declared(declares or {}, "declares")
    if subject.completed:
        subject.completed(subject)
    return subject


def qualified(thing: Any) -> str:
    """How a person calls an object: by the module and name of itself or of its type, never by its address."""
    named: Any = thing if inspect.isclass(thing) or inspect.isroutine(thing) else type(thing)
    module = getattr(named, "__module__", None)
    name = getattr(named, "__qualname__", None) or getattr(named, "__name__", None) or type(named).__name__
    return str(name) if module in (None, "builtins", "__main__") else f"{module}.{name}"
