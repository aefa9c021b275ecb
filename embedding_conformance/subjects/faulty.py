"""The scheme ``fault:``: a registered fault, or a sound variant, as a subject."""

from __future__ import annotations

from functools import cache

from . import Subject, declared
from . import open_subject as open_named


def open_subject(rest: str) -> Subject:
    """Open the specimen CHAPTER/NAME: its base subject, with the object of one facet changed when a test first calls it.

    Where the base offers several facets by one object (an encoder that also embeds), the change shows in all of them.
    """
    from ..proof import specimen

    one = specimen(rest)
    base = base_subject(one.base)
    facets = {facet for facet in base.facets if base.makers[facet] is base.makers[one.facet]}
    kept = {facet: base.makers[facet] for facet in base.facets - facets}

    def make() -> object:
        original = base.facet(one.facet)
        return original.altered(one.change) if one.facet == "layer" else one.change(original)

    return Subject(
        name=f"fault:{rest}", title=f"{'sound variant' if one.sound else 'fault'} of {base.name}: {one.says}",
        capabilities=base.capabilities, makers=dict.fromkeys(facets, make) | kept,
        declares=base.declares | declared(one.declares, f"fault:{rest}"), facts=base.facts, shared=base.shared,
        changed=frozenset(facets))


@cache
def base_subject(name: str) -> Subject:
    """The sound subject that specimens are made from, opened once so that a model loads once."""
    if name == "numpy":
        from .numpy_layer import open_subject as open_numpy

        return open_numpy()
    return open_named(name)
