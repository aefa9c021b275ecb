"""A BERT in NumPy float64, computed from the weights alone: the judge of every encoder of that architecture.

Devlin et al. 2019 with the post-layer normalisation of Vaswani et al. 2017; GELU by the error function (Hendrycks and
Gimpel 2016). It shares no code with the encoder that it judges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        return self.hidden_states_of([ids])[0]

    def hidden_states_of(self, texts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """[L] ids of each text -> [L, d] each: the states of the last layer."""
        return self.run_layers([self.input_vectors(ids) for ids in texts])

    def run_layers(self, texts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """[L, d] of each text, what goes into the first layer -> [L, d] each, what comes out of the last.

        The rows of several texts stand below each other, so that a weight is read once for all of them; only attention is
        of one text. There is no padding.
        """
        answers: list[np.ndarray] = []
        for some in groups(texts):
            ends = np.cumsum([len(rows) for rows in some])[:-1]
            answers += np.split(self._run(np.concatenate(some).astype(self.dtype), ends), ends)
        return answers

    def _run(self, states: np.ndarray, ends: np.ndarray) -> np.ndarray:
        for layer in range(self.layers):
            name = f"encoder.layer.{layer}."
            states = self.normalize(states + self.attention(states, ends, name), f"{name}attention.output.LayerNorm")
            inner = self.activate(self.linear(states, f"{name}intermediate.dense"))
            states = self.normalize(states + self.linear(inner, f"{name}output.dense"), f"{name}output.LayerNorm")
        return states

    def attention(self, states: np.ndarray, ends: np.ndarray, name: str) -> np.ndarray:
        """Scaled dot-product attention of all heads within each text, and the output projection."""
        width = states.shape[1]
        parts = (np.split(self.linear(states, f"{name}attention.self.{part}"), ends) for part in ("query", "key", "value"))
        mixed = [self.mixed(*(rows.reshape(len(rows), self.heads, -1).swapaxes(0, 1) for rows in text))
                 .swapaxes(0, 1).reshape(-1, width) for text in zip(*parts, strict=True)]
        return self.linear(np.concatenate(mixed), f"{name}attention.output.dense")

    def mixed(self, query: np.ndarray, key: np.ndarray, value: np.ndarray) -> np.ndarray:
        """[heads, L, d / heads] each: the values of a text, mixed for each of its tokens."""
        product: np.ndarray = self.shares(query @ key.swapaxes(1, 2) / sqrt(query.shape[2])) @ value
        return product

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


#: how many rows are run at once: more take more memory and no less time
ROWS = 2048


def groups(texts: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """The texts in their order, in groups of at most `ROWS` rows, or one text."""
    parts: list[list[np.ndarray]] = []
    count = 0
    for rows in texts:
        if not parts or count + len(rows) > ROWS:
            parts.append([])
            count = 0
        parts[-1].append(rows)
        count += len(rows)
    return parts


_ran: dict[tuple[object, ...], tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]] = {}


def run_layers(weights: Mapping[str, np.ndarray], config: Mapping[str, Any],
               texts: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """[L, d] of each text, what goes into the first layer -> the last states [L, d] by the oracle, and by the float32
    reference.

    Remembered for these very arrays, since a proof asks for the same states of hundreds of faulty encoders.
    """
    arrays = tuple(array for name, array in weights.items() if name.startswith("encoder."))
    settings = (config[key] for key in ("num_hidden_layers", "num_attention_heads", "layer_norm_eps"))
    model = (*map(id, arrays), *settings)
    keys = [(*model, str(rows.dtype), rows.shape, rows.tobytes()) for rows in texts]
    new = {key: rows for key, rows in zip(keys, texts, strict=True) if key not in _ran}
    exact, reference = (Bert(weights, config, dtype).run_layers(list(new.values())) for dtype in ("float64", "float32"))
    # Holding the arrays keeps their ids from being given to others.
    _ran.update({key: (arrays, *pair) for key, *pair in zip(new, exact, reference, strict=True)})
    return [_ran[key][1] for key in keys], [_ran[key][2] for key in keys]


def gaps(found: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of two arrays [..., d], row by row: 1 - cosine, and the relative difference of the lengths.

    1 - cosine is half the squared distance of the unit vectors, which loses no digits where the two are close.
    """
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    lengths, wanted = np.linalg.norm(found, axis=-1), np.linalg.norm(expected, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):  # a row of zeros has no direction, and compares as NaN
        unit = found / lengths[..., None] - expected / wanted[..., None]
        return (unit**2).sum(axis=-1) / 2, np.abs(lengths - wanted) / wanted
