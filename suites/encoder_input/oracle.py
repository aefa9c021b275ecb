"""A BERT in NumPy float64, computed from the weights alone: the judge of every encoder of that architecture.

Devlin et al. 2019 with the post-layer normalisation of Vaswani et al. 2017; GELU by the error function (Hendrycks and
Gimpel 2016). It shares no code with the encoder that it judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

import numpy as np

EMBEDDINGS = ("embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight",
              "embeddings.token_type_embeddings.weight")


class Bert:
    """Hidden states of a BERT from its arrays by name and its configuration, one text at a time, no padding.

    In float32 it is the sound reference whose distance from float64 says how well the network can be computed at all.
    """

    def __init__(self, weights: Mapping[str, np.ndarray], config: Mapping[str, Any], dtype: str = "float64"):
        self.stored = weights
        self.config = config
        self.dtype = dtype
        self.layers: int = config["num_hidden_layers"]
        self.heads: int = config["num_attention_heads"]
        self.epsilon: float = config["layer_norm_eps"]
        self._converted: dict[str, np.ndarray] = {}

    def weight(self, name: str) -> np.ndarray:
        """The array of this name in the format of the computation."""
        if name not in self._converted:
            self._converted[name] = self.stored[name].astype(self.dtype, copy=False)
        return self._converted[name]

    def input_rows(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows that are added for each token, [L, d] each: of its id, of its position, of type 0."""
        words, positions, types = (self.stored[name] for name in EMBEDDINGS)
        parts = words[ids], positions[:len(ids)], np.repeat(types[:1], len(ids), axis=0)
        word, position, kind = (rows.astype(self.dtype) for rows in parts)
        return word, position, kind

    def input_vectors(self, ids: np.ndarray) -> np.ndarray:
        """[L] ids -> [L, d]: word, position and type rows added, then normalised."""
        word, position, kind = self.input_rows(ids)
        return self.normalize(word + position + kind, "embeddings.LayerNorm")

    def hidden_states(self, ids: np.ndarray) -> np.ndarray:
        """[L] ids -> [L, d]: the states of the last layer."""
        return self.run_layers(self.input_vectors(ids))

    def run_layers(self, states: np.ndarray) -> np.ndarray:
        """[L, d] what goes into the first layer -> [L, d] what comes out of the last."""
        states = states.astype(self.dtype)
        for layer in range(self.layers):
            name = f"encoder.layer.{layer}."
            states = self.normalize(states + self.attention(states, name), f"{name}attention.output.LayerNorm")
            inner = self.activate(self.linear(states, f"{name}intermediate.dense"))
            states = self.normalize(states + self.linear(inner, f"{name}output.dense"), f"{name}output.LayerNorm")
        return states

    def attention(self, states: np.ndarray, name: str) -> np.ndarray:
        """Scaled dot-product attention of all heads, and the output projection."""
        length, width = states.shape
        query, key, value = (self.linear(states, f"{name}attention.self.{part}")
                             .reshape(length, self.heads, -1).swapaxes(0, 1) for part in ("query", "key", "value"))
        mixed = self.shares(query @ key.swapaxes(1, 2) / sqrt(width / self.heads)) @ value
        return self.linear(mixed.swapaxes(0, 1).reshape(length, width), f"{name}attention.output.dense")

    def shares(self, scores: np.ndarray) -> np.ndarray:
        """[heads, L, L] scores -> the share of every position in the mixture of each (softmax)."""
        exponential = np.exp(scores - scores.max(axis=2, keepdims=True))
        shares: np.ndarray = exponential / exponential.sum(axis=2, keepdims=True)
        return shares

    def activate(self, x: np.ndarray) -> np.ndarray:
        """GELU: x times the probability that a standard normal number is below x."""
        from scipy.special import ndtr

        product: np.ndarray = x * ndtr(x)
        return product

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        product: np.ndarray = x @ self.weight(f"{name}.weight").T + self.weight(f"{name}.bias")
        return product

    def normalize(self, x: np.ndarray, name: str) -> np.ndarray:
        """Layer normalisation (Ba et al. 2016) with the population variance."""
        centred = x - x.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + self.epsilon)
        normal: np.ndarray = scaled * self.weight(f"{name}.weight") + self.weight(f"{name}.bias")
        return normal


_ran: dict[tuple[object, ...], tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]] = {}


def run_layers(weights: Mapping[str, np.ndarray], config: Mapping[str, Any],
               vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[L, d] what goes into the first layer -> the last states [L, d] by the oracle, and by the float32 reference.

    Remembered for these very arrays, since a proof asks for the same states of hundreds of faulty encoders.
    """
    arrays = tuple(array for name, array in weights.items() if name.startswith("encoder."))
    settings = (config[key] for key in ("num_hidden_layers", "num_attention_heads", "layer_norm_eps"))
    key = (*map(id, arrays), *settings, str(vectors.dtype), vectors.shape, vectors.tobytes())
    if key not in _ran:
        exact, reference = (Bert(weights, config, dtype).run_layers(vectors) for dtype in ("float64", "float32"))
        _ran[key] = arrays, exact, reference  # holding the arrays keeps their ids from being given to others
    return _ran[key][1:]


def gaps(found: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of two arrays [..., d], row by row: 1 - cosine, and the relative difference of the lengths.

    1 - cosine is half the squared distance of the unit vectors, which loses no digits where the two are close.
    """
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    lengths, wanted = np.linalg.norm(found, axis=-1), np.linalg.norm(expected, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):  # a row of zeros has no direction, and compares as NaN
        unit = found / lengths[..., None] - expected / wanted[..., None]
        return (unit**2).sum(axis=-1) / 2, np.abs(lengths - wanted) / wanted
