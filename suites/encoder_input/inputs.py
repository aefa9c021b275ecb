"""The texts of this chapter."""

from ...data import generator, texts


def sentences(seed: int) -> list[str]:
    """Five texts for one batch: short and long, not in the order of their lengths, one put together from the seed."""
    shuffled = generator(seed, "words of a text").permutation(texts()["words"])[:9]
    return [texts()["lookup"], "Of", texts()["retrieval"]["documents"][0]["text"], " ".join(shuffled), "Hmm, 1 2 3?"]
