"""What a subject can do. A facet is recognised by the methods that an object offers; no base class is asked for.

A capability is written ``facet.method``. The shapes of arguments and results stand in the README and on the handles in
`embedding_conformance.handles`.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError, nearest


@dataclass(frozen=True)
class Facet:
    """A group of methods. An object offers the facet when it has all methods of one of the `anchors`."""

    name: str
    anchors: tuple[tuple[str, ...], ...]
    optional: tuple[str, ...] = ()
    #: attributes that count as capabilities where they are not None
    attributes: tuple[str, ...] = ()
    #: the number of arguments, where the one name of an anchor means something else in other libraries
    takes: int = 0

    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*(name for anchor in self.anchors for name in anchor), *self.optional]))


FACETS = {
    facet.name: facet
    for facet in (
        Facet("layer", anchors=(("table", "lookup"),), optional=("gradient", "step"), attributes=("padding_id",)),
        Facet("layer_maker", anchors=(("make_layer",),)),
        Facet("training_step", anchors=(("mse_step",),)),
        Facet("trainer", anchors=(("train",),), takes=6),  # a module's `train` switches dropout on
        Facet("module", anchors=(("module",),), optional=("library",), attributes=("token_types",)),
        Facet("tied_model", anchors=(("table", "assign", "logits"),),
              optional=("hidden", "gradient", "step", "parameter_count", "after"), attributes=("padding_id",)),
        Facet("tokenizer", anchors=(("encode", "tokens", "decode"),), optional=("offsets",),
              attributes=("special_ids", "vocabulary_size")),
        Facet("tokenizer_maker", anchors=(("train_tokenizer",),), optional=("with_vocabulary",)),
        Facet("encoder", anchors=(("hidden_states",),),
              optional=("tokens", "token_ids", "input_embeddings", "input_vectors", "weights", "config")),
        Facet("embedder", anchors=(("embed",),), optional=("embed_query",)),
        Facet("pooler", anchors=(("pool",), ("normalize",))),
        Facet("encodings", anchors=(("positions",), ("one_hot",))),
        Facet("similarity", anchors=(("matrix",), ("cosine",), ("distance",)), optional=("dot",)),
        Facet("projector", anchors=(("project",), ("interpolate",), ("analogy",))),
        Facet("index", anchors=(("build", "search"),), optional=("scores", "delete")),
        Facet("service", anchors=(("post",),), attributes=("model",)),
        Facet("store", anchors=(("batches",),), optional=("rows", "texts"), attributes=("count",)),
        Facet("document", anchors=(("lines",),)),
    )
}
#: the methods of other libraries that make an object an embedder stand among them
METHODS = sorted({"embed_documents", "encode", *(method for facet in FACETS.values() for method in facet.methods())})


def offered(thing: object, facet: Facet) -> frozenset[str]:
    """The capabilities of one facet that an object offers; empty when it lacks the facet."""
    has = {name for name in facet.methods() if _is_meant(getattr(thing, name, None), facet.takes)}
    if not any(has.issuperset(anchor) for anchor in facet.anchors):
        return frozenset()
    has |= {name for name in facet.attributes if getattr(thing, name, None) is not None}
    return frozenset(f"{facet.name}.{name}" for name in has)


def _is_meant(method: Any, takes: int) -> bool:
    """Whether an attribute can be a method of a facet: no module inside of a module, and able to take the arguments."""
    torch = sys.modules.get("torch")
    if not callable(method) or (torch is not None and isinstance(method, torch.nn.Module)):
        return False
    try:
        inspect.signature(method).bind(*range(takes)) if takes else None
    except (TypeError, ValueError):  # the latter where a compiled method does not say what it takes
        return False
    return True


def recognise(thing: object, name: str) -> dict[str, frozenset[str]]:
    """The capabilities of `thing` by facet.

    Raises `UsageError` when it offers no facet; the message names the method that comes nearest to one.
    """
    found = {facet.name: capabilities for facet in FACETS.values() if (capabilities := offered(thing, facet))}
    if found:
        return found
    torch = sys.modules.get("torch")
    common = set(dir(torch.nn.Module)) if torch is not None and isinstance(thing, torch.nn.Module) else set()
    public = [attribute for attribute in dir(thing) if not attribute.startswith("_") and attribute not in common]
    for facet in FACETS.values():
        for anchor in facet.anchors:
            missing = [method for method in anchor if method not in public]
            if 0 < len(missing) < len(anchor):
                present = next(method for method in anchor if method in public)
                raise UsageError(f"no facet: {name} offers {present} but not {' and '.join(missing)}, "
                                 f"so it cannot be judged as {a(facet.name)}")
    hint = ""
    for attribute in public:
        if near := nearest(attribute.replace("_", ""), METHODS):
            wanted = near.split('"')[1]
            hint = f'; nearest: "{attribute}" for "{wanted}"?'
            break
    raise UsageError(f"no facet: {name} offers none of lookup, embed, encode, hidden_states, pool, matrix, search, ...{hint}")


def a(noun: str) -> str:
    """The noun with its indefinite article."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
