"""From token states to one vector a text, in NumPy: part of the subject ``formulas``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: how the token states of a text [L, d] become one vector [d], by the names of sentence-transformers
POOLINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "mean": lambda states: states.mean(axis=0),
    "cls": lambda states: states[0],
    "max": lambda states: states.max(axis=0),
    "lasttoken": lambda states: states[-1],
}


def unit(vectors: np.ndarray) -> np.ndarray:
    """[..., d]: every row scaled to length one; a row of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: np.ndarray = vectors / np.where(lengths == 0, 1, lengths)
    return scaled


class Pooling:
    """Sums are taken in float64 and rounded once, to the format of the states."""

    def pool(self, states: np.ndarray, mask: np.ndarray, mode: str) -> np.ndarray:
        """states [B, L, d] and mask [B, L] -> [B, d]: over the positions with mask 1.

        The mean of no position is zero; the first or largest of none is not defined, and the first position is taken.
        """
        real = mask.astype(bool)
        if mode == "mean":
            total = np.where(real[:, :, None], states, 0).sum(axis=1, dtype=np.float64)
            mean: np.ndarray = (total / np.maximum(real.sum(axis=1), 1)[:, None]).astype(states.dtype)
            return mean
        first: np.ndarray = states[np.arange(len(states)), real.argmax(axis=1)]
        if mode == "cls":
            return first
        if mode == "max":
            largest: np.ndarray = np.where(real[:, :, None], states, first[:, None]).max(axis=1)
            return largest
        raise ValueError(f'mode is "{mode}", and must be mean, cls or max')

    def normalize(self, vectors: np.ndarray) -> np.ndarray:
        """[N, d] -> [N, d]: every row divided by its own length; a row of zeros stays as it is."""
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        return (vectors / np.where(lengths == 0, 1, lengths)).astype(vectors.dtype)
