"""The scheme ``fault:``: a registered fault, or a sound variant, as a subject."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cache
from typing import Any

import numpy as np

from . import Subject, declared
from . import open_subject as open_named


def open_subject(rest: str) -> Subject:
    """Open the specimen CHAPTER/NAME: its base subject, with the object of one facet changed when a test first calls it.

    It is judged by the tests of that facet. Where the base offers other facets by the same object, they are changed along,
    so that a test of two facets sees one subject.
    """
    from ..proof import specimen

    one = specimen(rest)
    base = base_subject(one.base)
    facets = {facet for facet in base.facets if base.makers[facet] is base.makers[one.facet]}
    kept = {facet: base.makers[facet] for facet in base.facets - facets}

    def make() -> object:
        original = base.new(one.facet)
        changed: object = original.altered(one.change) if one.facet == "layer" else one.change(original)
        # Another model without any state is as costly as the sound one.
        return remembering(changed) if one.base == "bundled" and type(changed) is _encoder_type() else changed

    return Subject(
        name=f"fault:{rest}", title=f"{'sound variant' if one.sound else 'fault'} of {base.name}: {one.says}",
        capabilities=base.capabilities, makers=dict.fromkeys(facets, make) | kept,
        declares=base.declares | declared(one.declares, f"fault:{rest}"), facts=base.facts, shared=base.shared,
        changed=frozenset({one.facet}), costly=one.base == "bundled" and one.facet == "encoder")


def _encoder_type() -> type:
    from .bundled import BertEncoder

    return BertEncoder


@cache
def passes(model: Any) -> dict[tuple[int, ...], np.ndarray]:
    """Of a model: the ids of a text -> its last states [L, d], for all specimens that have it."""
    return {}


@cache
def base_subject(name: str) -> Subject:
    """The sound subject that specimens are made from, opened once so that a model loads once.

    What it answers about a text is remembered, so that a fault of pooling does not run the network again.
    """
    if name == "numpy":
        from .numpy_layer import open_subject as open_numpy

        return open_numpy()
    base = open_named(name)
    base.makers = {facet: around(make) if facet in ("encoder", "embedder") else make
                   for facet, make in base.makers.items()}
    return base


def remembering(encoder: Any) -> Any:
    """An encoder or embedder that computes each text once; what it keeps is copied, so that no fault can spoil it."""
    return one_pass(encoder) if isinstance(encoder, _encoder_type()) else Remembering(encoder)


@cache
def around(make: Callable[[], Any]) -> Callable[[], Any]:
    """The same maker for the same original, since facets made by one maker share one object."""
    return lambda: remembering(make())


@cache
def one_pass(encoder: Any) -> Any:
    """A `BertEncoder` whose model runs once for each list of ids, for all specimens that have this model: what they change is
    before it or behind it. Which others it is run with is a matter of the last bits, far below every bound.
    """
    known, once = passes(encoder.model), copy(encoder)

    def forward(ids: list[list[int]]) -> list[np.ndarray]:
        new = [row for row in dict.fromkeys(map(tuple, ids)) if row not in known]
        if new:
            known.update(zip(new, encoder.forward([list(row) for row in new]), strict=True))
        return [known[tuple(row)].copy() for row in ids]

    once.forward = forward
    return once


class Remembering:
    """An embedder whose answers about each text are kept."""

    METHODS = frozenset({"hidden_states", "embed", "embed_query"})

    def __init__(self, original: Any):
        self._original = original
        self._known: dict[tuple[str, str], Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name not in self.METHODS:
            return getattr(self._original, name)

        def remembered(texts: list[str]) -> Any:
            new = [text for text in dict.fromkeys(texts) if (name, text) not in self._known]
            if new:
                answer = getattr(self._original, name)(new)
                self._known.update({(name, text): entry for text, entry in zip(new, answer, strict=True)})
            entries = [copy(self._known[name, text]) for text in texts]
            return entries if name == "hidden_states" else np.stack(entries)

        return remembered
