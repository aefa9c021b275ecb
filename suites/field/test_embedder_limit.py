"""The declared limit is where a text is cut, or refused."""

import numpy as np
import pytest

from .inputs import LARGE, OTHER, alone, declared, inside, of_words
from .oracle import apart, same


@pytest.mark.claim("FIELD-17")
def test_words_within_the_limit_count(embedder, evidence):
    """The last twelve words of a text that is a little shorter than the limit are others."""
    first, second = (of_words(inside(embedder), last) for last in (LARGE[:12], OTHER))
    apart(evidence, embedder, alone(embedder, [first]), alone(embedder, [second]), "twelve words within the limit differ")


@pytest.mark.claim("FIELD-18")
def test_words_beyond_the_limit_do_not_count(embedder, evidence):
    """As many words as the limit has tokens, and twelve more, or twelve others: a word has at least one token."""
    full = of_words(declared(embedder, "max_seq_length"), LARGE)
    texts = [f"{full} {' '.join(last)}" for last in (LARGE[:12], OTHER)]
    same(evidence, embedder, alone(embedder, texts[:1]), alone(embedder, texts[1:]), texts)


def last_that_fits(encoder, prompt, limit):
    """How many common words after the prompt have exactly as many tokens as the limit allows, none of them cut."""
    for count in range(limit, 0, -1):
        fewer, more = encoder.token_ids([prompt + of_words(count - 1, LARGE), prompt + of_words(count, LARGE)])
        if len(fewer) < len(more) == limit:
            return count
    return 1


def as_long(encoder, word):
    """Another word that has as many tokens as this one."""
    wanted, *lengths = [len(ids) for ids in encoder.token_ids([f"the {one}" for one in (word, *OTHER)])]
    return OTHER[lengths.index(wanted) if wanted in lengths else 0]


@pytest.mark.claim("FIELD-19")
def test_the_cut_is_exactly_at_the_limit(encoder, embedder, evidence):
    """A text that fills the limit is the longer text's beginning; its last word counts, and the next one does not."""
    limit = declared(embedder, "max_seq_length")
    prompt = declared(embedder, "prompts", {}).get("document", "")
    count = last_that_fits(encoder, prompt, limit)
    full, beyond = of_words(count, LARGE), f"{of_words(count, LARGE)} {' '.join(OTHER)}"
    other = of_words(count, [*LARGE[:-1], as_long(encoder, LARGE[-1])])
    evidence.equal([len(ids) for ids in encoder.token_ids([f"{prompt}{text}" for text in (full, beyond, other)])], [limit] * 3)
    found = alone(embedder, [full, beyond, other])
    same(evidence, embedder, found[1:2], found[:1], [beyond])
    step = 4 * np.finfo(found.dtype if found.dtype.kind == "f" else np.float32).eps * float(np.abs(found[0]).max())
    evidence.differs(found[2], found[0], step or 1,
                     "four steps of the format; where the last word is cut, both are the same text")


@pytest.mark.claim("FIELD-20")
def test_what_is_longer_is_refused(embedder, evidence):
    """One word more than the limit has tokens, by itself and in company; a text within the limit is answered."""
    beyond = of_words(declared(embedder, "max_seq_length") + 1, LARGE)
    within = of_words(inside(embedder), LARGE)
    evidence.refuses(lambda: embedder.embed([beyond], fresh=True))
    evidence.refuses(lambda: embedder.embed([within, beyond, within], fresh=True))
    evidence.equal(list(embedder.embed([within, within], fresh=True).shape), [2, embedder.embed([within]).shape[1]])
