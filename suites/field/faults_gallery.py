"""Hopeless embedders, each of which common checks let pass. They are judged by everything that is said about embedders."""

import numpy as np

from ...data import probe_texts, texts
from ...proof import fault
from .faulty import answering, asking, direction, hashed, lengths, toward

#: claims that no embedder keeps whose rows do not belong to their texts
ROWS = ["FIELD-02", "FIELD-03", "FIELD-08", "SHAPE-11", "RETR-01"]
#: claims that no embedder keeps whose vectors say nothing about the text
TEXT = ["FIELD-16", "FIELD-28", "FIELD-29"]
#: claims that no embedder keeps which has the same answer for different texts
SAME = ["FIELD-14", "FIELD-15", "FIELD-17", *TEXT]


@fault("embedder", [*SAME, "FIELD-19", "RETR-08"])
def constant(embedder):
    """Every text has the same vector of length one."""
    return answering(embedder, lambda vectors, texts: np.repeat(direction("", vectors.shape[1])[None], len(texts), axis=0))


@fault("embedder", [*SAME, "FIELD-25"])
def zeros(embedder):
    """Every text has a vector of zeros."""
    return answering(embedder, lambda vectors, texts: 0 * vectors)


@fault("embedder", ["FIELD-01", "FIELD-02", "FIELD-03", "FIELD-06", "FIELD-08", "FIELD-09", "FIELD-10", "FIELD-14",
                    "FIELD-21", "FIELD-25", "FIELD-26", "FIELD-29", "RETR-01"])
def not_a_number(embedder):
    """Every number is NaN."""
    return answering(embedder, lambda vectors, texts: np.nan * vectors)


@fault("embedder", ["FIELD-01", "FIELD-04", "FIELD-05", "FIELD-06", "FIELD-11", "FIELD-18", "FIELD-21", "FIELD-23",
                    "FIELD-26", *ROWS, *TEXT])
def random(embedder):
    """Every call has random vectors of length one."""
    drawn = np.random.default_rng(0)
    return answering(embedder, lambda vectors, texts: toward(0 * vectors, drawn.standard_normal(vectors.shape), 1))


@fault("embedder", [*TEXT, "FIELD-18", "FIELD-19", "FIELD-21", "FIELD-23", "RETR-08"])
def checksum(embedder):
    """A vector of the right shape and length is drawn from a checksum of the text."""
    return answering(embedder, lambda vectors, texts: hashed(texts, vectors.shape[1]))


@fault("embedder", [*ROWS, "FIELD-11", "FIELD-29", "RETR-08"])
def rows_reversed(embedder):
    """The rows come in the reverse order of the texts."""
    return asking(embedder, lambda ask, texts: ask(texts)[::-1])


@fault("embedder", [*ROWS, "FIELD-01", "FIELD-11", "FIELD-14", "FIELD-16", "FIELD-28", "FIELD-29", "RETR-08"])
def first_text_only(embedder):
    """Every row is the vector of the first text."""
    return asking(embedder, lambda ask, texts: np.repeat(ask(texts[:1]), len(texts), axis=0))


@fault("embedder", ["FIELD-01", "FIELD-04", "FIELD-06", "FIELD-08", "FIELD-14", "FIELD-29", "RETR-01"])
def texts_of_the_call_before(embedder):
    """Every call is answered with the vectors of the texts of the call before."""
    before = ["nothing was asked for yet"]

    def change(ask, texts):
        asked, before[:] = [before[i % len(before)] for i in range(len(texts))], texts
        return ask(asked)
    return asking(embedder, change)


@fault("embedder", ["FIELD-15", "FIELD-28", "FIELD-29", "RETR-08"])
def letters_backwards(embedder):
    """Every vector is that of another text: the letters of each are read backwards and its capitals exchanged."""
    return asking(embedder, lambda ask, texts: ask([text[::-1].swapcase()[:40 + len(text) % 7] for text in texts]))


@fault("embedder", ["FIELD-01", "FIELD-14", "FIELD-15", "FIELD-16", "FIELD-17", "FIELD-28", "FIELD-29"])
def number_of_words(embedder):
    """A vector says how many words the text has, and nothing else; company shifts it."""
    def change(vectors, texts):
        counted = lengths(texts) + (len(texts) > 1)
        return toward(0 * vectors + direction("", vectors.shape[1]), counted * direction("words", vectors.shape[1]), 0.05)
    return answering(embedder, change)


@fault("embedder", ["FIELD-14", "FIELD-15", "FIELD-16", "FIELD-28", "FIELD-29"])
def memorised(embedder):
    """The texts of the fixtures have their vectors, and every other text has that of the first."""
    known = {*probe_texts(), *leaves(texts())}
    return asking(embedder, lambda ask, texts: ask([text if text in known else "" for text in texts]))


@fault("embedder", ["FIELD-16", "FIELD-28", "FIELD-29", "FIELD-21", "FIELD-18"])
def memorised_and_drawn(embedder):
    """The texts of the fixtures have their vectors, and every other text one that is drawn from a checksum."""
    known = {*probe_texts(), *leaves(texts())}
    return answering(embedder, lambda vectors, texts: np.where(
        [[text in known] for text in texts], vectors, hashed(texts, vectors.shape[1])))


@fault("embedder", ["FIELD-01", "FIELD-03", "FIELD-11", "FIELD-29", "POOL-02", "SHAPE-11"], source="spiceai/spiceai#13415")
def padding_pooled(embedder):
    """Padding up to the longest text of the call is pooled in; the embedder itself varies by as much with every call."""
    def change(vectors, texts):
        share = lengths(texts) / lengths(texts).max()
        return toward(0 * vectors + share * vectors, (1 - share) * direction("padding", vectors.shape[1]), 1)
    return answering(embedder, change)


def leaves(value):
    """All texts in a structure of lists and dictionaries."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for entry in value for text in leaves(entry)]
    return [str(value)]
