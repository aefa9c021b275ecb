"""The texts that embedders are asked for. Each test takes a few, so that a service which is paid by the text can be judged."""

import numpy as np

from ...data import generated_texts, probe
from ...evidence import ClaimViolation

#: words that common vocabularies hold as one token each
LITTLE = ("the", "of", "and", "to", "in", "is", "on", "at", "by", "it")
LARGE = ("house", "water", "money", "year", "people", "school", "music", "city", "family", "state", "road", "night")
OTHER = ("car", "book", "game", "war", "king", "sea", "tree", "army", "church", "train", "sun", "wall")


def core(seed):
    """Ten sentences and six texts made from the seed, of 1 to 60 words, neither sorted by characters nor by words."""
    return [*probe()["sentences"][:10], *generated_texts(seed, "core", (33, 3, 60, 1, 14, 5))]


def alone(embedder, texts):
    """[N, d]: each text asked for by itself; answers are remembered for the run.

    The shortest is asked for first, so that what a longer text leaves behind cannot spoil both sides of a comparison.
    """
    known = {text: embedder.embed([text]) for text in sorted(texts, key=len)}
    return np.concatenate([known[text] for text in texts])


def ordinary(embedder):
    """Forty texts of every kind that a tokenizer must take, none empty; within the limit where longer ones are refused."""
    groups = probe()
    texts = [*groups["scripts"], *groups["numbers"], *groups["code"], *groups["lengths"][:12]]
    return fitting(embedder, [*texts[::2], *(text for entry in groups["lengths_disagree"][:2] for text in entry)])


def odd():
    """Empty and blank texts, control characters, marks without a base, emoji: what a user's data holds sooner or later."""
    groups = probe()
    return [*groups["blank"], *groups["control"], *groups["emoji"]]


def declared(embedder, key, otherwise=None):
    """What the subject declares."""
    declaration = embedder.subject.declares.get(key)
    return otherwise if declaration is None else declaration.value


def offers_queries(embedder):
    return "embedder.embed_query" in embedder.subject.capabilities


def fitting(embedder, texts):
    """The texts that are within the declared limit whatever the tokenizer, since no token is shorter than a byte.

    All texts, where what is longer is cut.
    """
    if declared(embedder, "too_long", "cut") == "cut":
        return texts
    limit = declared(embedder, "max_seq_length", 512)
    return [text for text in texts if len(text.encode()) < limit - 16]


def attempt(embedder, texts, *, fresh=False):
    """[N, d], or None where the subject refuses with an exception that says something."""
    try:
        return embedder.embed(texts, fresh=fresh)
    except ClaimViolation as violation:
        if not violation.raised:
            raise
        if not str(violation.__cause__).strip():
            raise ClaimViolation(f"raised {type(violation.__cause__).__name__} without a message",
                                 "finite vectors or an error that says why") from violation
        return None


def of_words(count, last):
    """A text of `count` common words, the last of which are `last`."""
    last = last[-count:]
    return " ".join([*(LITTLE[i % len(LITTLE)] for i in range(count - len(last))), *last])


def inside(embedder):
    """How many common words are within the declared limit, with room for special tokens, a prompt and a word of two tokens."""
    limit = declared(embedder, "max_seq_length")
    prompts = max((len(prompt.split()) for prompt in declared(embedder, "prompts", {}).values()), default=0)
    return max(limit - 16 - 4 * prompts, limit // 2)
