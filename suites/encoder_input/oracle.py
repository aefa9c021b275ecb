"""A BERT in NumPy float64, read from the weights alone: the judge of every encoder of that architecture.

Devlin et al. 2019 with the post-layer normalisation of Vaswani et al. 2017; GELU by the error function (Hendrycks and
Gimpel 2016). It shares no code with the encoder that it judges.
"""

from __future__ import annotations

import json
from functools import cached_property
from math import sqrt
from pathlib import Path

import numpy as np


class Bert:
    """Hidden states of a BERT model directory (``config.json``, ``model.safetensors``), one text at a time, no padding."""

    def __init__(self, folder: Path):
        self.folder = folder
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.layers: int = config["num_hidden_layers"]
        self.heads: int = config["num_attention_heads"]
        self.epsilon: float = config["layer_norm_eps"]

    @cached_property
    def weights(self) -> dict[str, np.ndarray]:
        from safetensors.numpy import load_file

        return {name: array.astype(np.float64) for name, array in load_file(self.folder / "model.safetensors").items()
                if not name.startswith("pooler") and array.dtype.kind == "f"}

    def input_vectors(self, ids: np.ndarray) -> np.ndarray:
        """[L] ids -> [L, d]: word, position and type rows added, then normalised."""
        w, name = self.weights, "embeddings."
        summed = (w[f"{name}word_embeddings.weight"][ids] + w[f"{name}position_embeddings.weight"][:len(ids)]
                  + w[f"{name}token_type_embeddings.weight"][0])
        return self.normalize(summed, f"{name}LayerNorm")

    def hidden_states(self, ids: np.ndarray) -> np.ndarray:
        """[L] ids -> [L, d]: the states of the last layer."""
        states = self.input_vectors(ids)
        for layer in range(self.layers):
            name = f"encoder.layer.{layer}."
            states = self.normalize(states + self.attention(states, name), f"{name}attention.output.LayerNorm")
            inner = gelu(self.linear(states, f"{name}intermediate.dense"))
            states = self.normalize(states + self.linear(inner, f"{name}output.dense"), f"{name}output.LayerNorm")
        return states

    def attention(self, states: np.ndarray, name: str) -> np.ndarray:
        """Scaled dot-product attention of all heads, and the output projection."""
        length, width = states.shape
        query, key, value = (self.linear(states, f"{name}attention.self.{part}")
                             .reshape(length, self.heads, -1).swapaxes(0, 1) for part in ("query", "key", "value"))
        scores = query @ key.swapaxes(1, 2) / sqrt(width / self.heads)
        scores = np.exp(scores - scores.max(axis=2, keepdims=True))
        mixed = scores / scores.sum(axis=2, keepdims=True) @ value
        return self.linear(mixed.swapaxes(0, 1).reshape(length, width), f"{name}attention.output.dense")

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        product: np.ndarray = x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]
        return product

    def normalize(self, x: np.ndarray, name: str) -> np.ndarray:
        """Layer normalisation (Ba et al. 2016) with the population variance."""
        centred = x - x.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + self.epsilon)
        normal: np.ndarray = scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]
        return normal


def gelu(x: np.ndarray) -> np.ndarray:
    """x times the probability that a standard normal number is below x."""
    from scipy.special import ndtr

    product: np.ndarray = x * ndtr(x)
    return product
