"""The float64 oracle of the bundled model, fed with token ids from its own tokenizer file."""

import json
from functools import cache

import numpy as np

from ...subjects.bundled import checked_weights, folder, read_max_seq_length
from .oracle import Bert


@cache
def bert() -> Bert:
    from safetensors.numpy import load_file

    return Bert(load_file(checked_weights()), json.loads((folder() / "config.json").read_text(encoding="utf-8")))


def token_ids(texts: list[str]) -> list[np.ndarray]:
    """The ids [L] of each text, cut at the model's limit."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(read_max_seq_length())
    return [np.array(tokenizer.encode(text).ids) for text in texts]


def hidden_states(texts: list[str]) -> list[np.ndarray]:
    """Float64 states [L, d] of each text."""
    return bert().hidden_states_of(token_ids(texts))


def embeddings(texts: list[str]) -> np.ndarray:
    """[N, d] float64: means over the tokens, scaled to length one."""
    means = np.stack([states.mean(axis=0) for states in hidden_states(texts)])
    unit: np.ndarray = means / np.linalg.norm(means, axis=1, keepdims=True)
    return unit
