"""Objects written for other libraries, recognised by the names of their methods or by their class, as facets.

No library is imported for that: an object of its classes can only be there if the user's code has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import UsageError


class TextEmbedder:
    """The facet embedder of functions of texts. What they return may be a list, a generator or tensors."""

    def __init__(self, embed: Callable[[list[str]], Any], embed_query: Callable[[list[str]], Any] | None = None):
        self._embed = embed
        if embed_query is not None:
            self.embed_query = lambda texts: collected(embed_query(texts))

    def embed(self, texts: list[str]) -> Any:
        """One row a text."""
        return collected(self._embed(texts))


def collected(answer: Any) -> Any:
    """A generator as the list of what it yields, and a list of tensors as one of arrays."""
    rows = list(answer) if isinstance(answer, Iterator) else answer
    if isinstance(rows, (list, tuple)) and any(callable(getattr(row, "detach", None)) for row in rows):
        from .torch_stack import to_numpy

        return [to_numpy(row) if callable(getattr(row, "detach", None)) else row for row in rows]
    return rows


def one_by_one(embed_query: Callable[[str], Any]) -> Callable[[list[str]], Any]:
    """A method of one string, as one of a list of them."""
    return lambda texts: [embed_query(text) for text in texts]


def method(thing: object, *names: str) -> Any:
    """The first of these methods that an object has, or None."""
    return next((found for name in names if callable(found := getattr(thing, name, None))), None)


def own_embedder(thing: object) -> TextEmbedder:
    """An object with `embed(texts)`; `embed_query` takes texts too, but one string where LangChain's methods are offered."""
    query = method(thing, "embed_query")
    if query is not None and method(thing, "embed_documents"):
        query = one_by_one(query)
    return TextEmbedder(thing.embed, query)  # type: ignore[attr-defined]


def named_embedder(thing: object) -> TextEmbedder | None:
    """LangChain's `embed_documents` and `embed_query`, or the `encode` of sentence-transformers and others."""
    if documents := method(thing, "embed_documents"):
        query = method(thing, "embed_query")
        return TextEmbedder(documents, None if query is None else one_by_one(query))
    if encode := method(thing, "encode_document", "encode"):
        return TextEmbedder(encode, method(thing, "encode_query"))
    return None


def refuse_a_guess(thing: object, name: str, facets: frozenset[str]) -> None:
    """What encodes and decodes may be a tokenizer: raises `UsageError` unless the user has said that it is an embedder."""
    if method(thing, "embed_documents", "encode_document") or not (method(thing, "encode") and method(thing, "decode")):
        return
    if "tokenizer" in facets:
        raise UsageError(f"{name} offers encode and decode but not tokens, so it cannot be judged as a tokenizer")
    if "embedder" not in facets:
        raise UsageError(f"{name} offers encode and decode, so it may be an embedder or a tokenizer: say --facet embedder, or "
                         "give it tokens(texts) to be judged as a tokenizer")


def instance_of(thing: object, module: str, *names: str) -> bool:
    """Whether an object is of one of these classes of a library, which is not imported for that."""
    library = sys.modules.get(module)
    classes = tuple(found for name in names if isinstance(found := getattr(library, name, None), type))
    return bool(classes) and isinstance(thing, classes)
