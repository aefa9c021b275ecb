"""How faulty embedders of this chapter are made from sound ones."""

import numpy as np

from ...proof import altered
from ...subjects.small_embedder import SmallEmbedder, hashed_row
from ..pooling.faults import unit

#: the small embedder of the subject `formulas`: quick, with prompts, and sound on every claim about embedders
SMALL = "formulas"


def asking(embedder, change):
    """The embedder whose two roles ask through `change(ask, texts)`, where `ask` is the sound role."""
    return altered(embedder, embed=lambda texts: change(embedder.embed, texts),
                   embed_query=lambda texts: change(embedder.embed_query, texts))


def answering(embedder, change):
    """The embedder whose answers are changed by `change(vectors, texts)`."""
    return asking(embedder, lambda ask, texts: change(ask(texts), texts).astype(np.float32))


def reading(embedder, change):
    """The embedder that reads `change(text)` for each text."""
    return asking(embedder, lambda ask, texts: ask([change(text) for text in texts]))


def lengths(texts):
    """[N, 1]: the number of words, and one more."""
    return np.array([[1 + len(text.split())] for text in texts], float)


def direction(word, width):
    """[width]: a direction of length one that has nothing to do with any text."""
    row = np.concatenate([hashed_row(f"{word} {i}") for i in range(-(-width // 64))])[:width]
    return row / np.linalg.norm(row)


def toward(vectors, other, share):
    """Rows moved by this share of their length in another direction, and then of length one."""
    return unit(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30) + share * other)


def hashed(texts, width):
    """[N, width]: directions that depend on every character of a text and on nothing that it says."""
    return np.stack([direction(text, width) for text in texts])


def bags(texts, width):
    """[N, width]: the small embedder's vectors, repeated to the width, so that texts of one word in common are near."""
    small = SmallEmbedder()
    rows = np.stack([small.embed([" ".join(text.split()[:200])])[0] for text in texts])
    return unit(np.tile(rows, (1, -(-width // rows.shape[1])))[:, :width])
