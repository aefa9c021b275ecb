"""Subjects with noise on every answer: a proof turns the noise down until a test no longer notices it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..proof import BASES
from . import Dial, LayerSource, Subject
from .facets import FACETS
from .faulty import base_subject
from .wire import Answer, with_vectors

#: what a subject stores rather than computes; noise there would be another subject, not a wrong answer
STORED = frozenset({"table", "weights", "module", "tokens", "token_ids", "special_ids", "lines"})
#: what a maker's product answers; its table is what the maker is judged by
PRODUCT = ("table", "lookup")


class Noisy:
    """An object whose floating-point answers carry relative noise of the size that the dial shows, other noise each call."""

    def __init__(self, original: Any, dial: Dial, methods: frozenset[str]):
        self._original = original
        self._dial = dial
        self._methods = methods
        self._known: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._original, name)
        if name not in self._methods or not callable(attribute):
            return attribute

        def noisy(*args: Any, **kwargs: Any) -> Any:
            self._dial.calls += 1
            return self._shaken(self._exact(name, attribute, args, kwargs), np.random.default_rng([7, self._dial.calls]))

        return noisy

    def _exact(self, name: str, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The answer without noise. About texts it is asked once: models are slow, and the noise goes down in many steps."""
        if kwargs or len(args) != 1 or not isinstance(args[0], list) or not all(isinstance(one, str) for one in args[0]):
            return method(*args, **kwargs)
        key = (name, tuple(args[0]))
        if key not in self._known:
            self._known[key] = method(*args)
        return self._known[key]

    def _shaken(self, answer: Any, generator: np.random.Generator) -> Any:
        if type(answer) is type(self._original):  # a relative, such as a tied model after an operation
            return Noisy(answer, self._dial, self._methods)
        if "make_layer" in self._methods and not isinstance(answer, np.ndarray):
            return Noisy(answer, self._dial, frozenset(PRODUCT))
        if isinstance(answer, tuple) and isinstance(answer[-1], bytes) and self._dial.size:  # of a service
            shaken = with_vectors(Answer(*answer), lambda rows: self._shaken(rows, generator))
            return shaken.status, shaken.headers, shaken.body
        if isinstance(answer, Iterator):
            return (self._shaken(part, generator) for part in answer)
        if isinstance(answer, (tuple, list)):
            return type(answer)(self._shaken(part, generator) for part in answer)
        if not isinstance(answer, (np.ndarray, np.floating)) or answer.dtype.kind not in "fV" or not self._dial.size:
            return answer
        exact = np.asarray(answer, np.float64)
        return (exact * (1 + self._dial.size * generator.standard_normal(exact.shape))).astype(answer.dtype)


def noisy_subject(facet: str) -> Subject:
    """The sound base of a facet's faults with a dial for the noise on the answers of that facet."""
    base, dial = base_subject(BASES[facet]), Dial()
    methods = frozenset(FACETS[facet].methods()) - STORED

    def make() -> Any:
        original = base.new(facet)
        if isinstance(original, LayerSource):
            return original.altered(lambda layer: Noisy(layer, dial, methods))
        return Noisy(original, dial, methods)

    return Subject(name=f"noise:{facet}", title=f"{base.name} with noise", capabilities=base.capabilities,
                   makers=dict(base.makers) | {facet: make}, declares=base.declares, shared=base.shared,
                   changed=frozenset({facet}), costly=True, dial=dial)
