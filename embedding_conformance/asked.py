"""``conformance(...)``: a test of the user's own that asks for the suites. Imports nothing but the standard library."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

#: the attribute of a test function that holds what it asks for
REQUEST = "embedding_conformance_asked"
NOT_LOADED = """\
nothing was judged: this test stands for the suites of embedding-conformance, and pytest runs without its plugin.
Load it with `-p embedding_conformance.plugin` (it loads itself unless PYTEST_DISABLE_PLUGIN_AUTOLOAD is set, or
`-p no:embedding_conformance.plugin` is given)."""


@dataclass(frozen=True)
class Asked:
    """What a test asks to be judged; it is looked at when the test is collected."""

    thing: Any
    reference: Any = None
    declares: Mapping[str, Any] = field(default_factory=dict)
    facets: frozenset[str] = frozenset()
    deviations: Any = field(default_factory=dict)
    #: the line of the call, counted from 1
    line: int = 1


def conformance(subject: Any, reference: Any = None, declares: Mapping[str, Any] | None = None,
                facets: Iterable[str] | None = None, deviations: Mapping[str, Any] | None = None) -> Callable[..., None]:
    """A test that judges `subject` on every claim that applies to it::

        test_layer = conformance(Layer, deviations={"LOOKUP-08": "negative ids wrap, by design"})

    pytest collects one test a check below that name. `subject` is an object, a class, a factory, or a string such as
    ``st:DIR``; what it offers decides what it is judged on. `reference` is what it is compared with, `declares` what it
    promises, `facets` restricts what is judged, and `deviations` are the failures that are accepted: claim id -> reason, or ->
    a mapping of ``because``, ``issue``, ``until``, ``match``, ``case``. An accepted failure is an expected one (``x``); one
    that no longer fails is a failure.
    """
    caller = sys._getframe(1)

    def test(*_: object) -> None:
        import pytest

        pytest.fail(NOT_LOADED, pytrace=False)

    chosen = [facets] if isinstance(facets, str) else facets or ()
    asked = Asked(subject, reference, declares or {}, frozenset(chosen), deviations or {}, caller.f_lineno)
    setattr(test, REQUEST, asked)
    test.__module__ = caller.f_globals.get("__name__", __name__)
    return test
