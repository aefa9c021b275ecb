"""The texts and the small models of this chapter."""

import copy

from ...data import generator, texts


def sentences(seed: int) -> list[str]:
    """Five texts for one batch: short and long, not in the order of their lengths, one put together from the seed."""
    shuffled = generator(seed, "words of a text").permutation(texts()["words"])[:9]
    return [texts()["lookup"], "Of", texts()["retrieval"]["documents"][0]["text"], " ".join(shuffled), "Hmm, 1 2 3?"]


def small(model, width, heads=4):
    """A new model of the same class with one layer of this width and a small vocabulary, with its first weights."""
    import torch

    config = copy.deepcopy(model.config)
    config.vocab_size, config.hidden_size, config.intermediate_size = 40, width, 4 * width
    config.num_hidden_layers, config.num_attention_heads = 1, heads
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return type(model)(config).eval()
