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
        return Remembering(changed) if one.base == "bundled" and type(changed) is _encoder_type() else changed

    return Subject(
        name=f"fault:{rest}", title=f"{'sound variant' if one.sound else 'fault'} of {base.name}: {one.says}",
        capabilities=base.capabilities, makers=dict.fromkeys(facets, make) | kept,
        declares=base.declares | declared(one.declares, f"fault:{rest}"), facts=base.facts, shared=base.shared,
        changed=frozenset({one.facet}), costly=one.base == "bundled" and one.facet == "encoder")


def _encoder_type() -> type:
    from .bundled import BertEncoder

    return BertEncoder


@cache
def base_subject(name: str) -> Subject:
    """The sound subject that specimens are made from, opened once so that a model loads once.

    What it answers about a text is remembered, so that a fault of pooling does not run the network again.
    """
    if name == "numpy":
        from .numpy_layer import open_subject as open_numpy

        return open_numpy()
    base = open_named(name)
    base.makers = {facet: Remembering.around(make) if facet in ("encoder", "embedder") else make
                   for facet, make in base.makers.items()}
    return base


class Remembering:
    """An encoder whose costly answers about each text are kept; they are copied, so that no fault can spoil them."""

    METHODS = frozenset({"hidden_states", "embed", "embed_query"})  # what runs the network

    def __init__(self, original: Any):
        self._original = original
        self._known: dict[tuple[str, str], Any] = {}

    @classmethod
    @cache
    def around(cls, make: Callable[[], Any]) -> Callable[[], Any]:
        """The same maker for the same original, since facets made by one maker share one object."""
        return lambda: cls(make())

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
