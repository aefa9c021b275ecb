"""The vectors that maps, lines and analogies are judged on, each with what the oracle makes of it."""

from __future__ import annotations

from functools import cache

import numpy as np

from ...data import generator, pooled, texts
from . import oracle


@cache
def sentences() -> np.ndarray:
    """[8, 384] float32: the documents' map sentences, scaled to length one."""
    return unit(pooled("map"))


@cache
def words() -> np.ndarray:
    """[14, 384] float32: the documents' words as one-word texts, scaled to length one; the two contexts are left out."""
    return unit(pooled("words")[:len(texts()["words"])])


def unit(vectors: np.ndarray) -> np.ndarray:
    scaled: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


@cache
def points(name: str, seed: int) -> np.ndarray:
    """[N, d] float32: points to map.

    "sentences" are the documents'. "separate" are nine points around a mean far from zero, whose variances are powers
    of four; "square" are as many points as numbers, so that a table that lies on its side has the right shape; "tied"
    have two equal largest variances, so that only the plane of the first two axes is determined.
    """
    if name == "sentences":
        return sentences()
    count, scales = {"separate": (9, (8, 4, 2, 1, 0.5)), "square": (6, (8, 5, 3, 1, 0.5, 0.25)),
                     "tied": (8, (5, 5, 2, 1))}[name]
    random = generator(seed, f"points {name}")
    turned = np.linalg.qr(random.standard_normal((len(scales), len(scales))))[0]
    spread = random.standard_normal((count, len(scales)))
    left = np.linalg.qr(spread - spread.mean(axis=0))[0]
    return (left * scales @ turned + np.arange(1, len(scales) + 1)).astype(np.float32)


@cache
def components(name: str, seed: int) -> oracle.Components:
    return oracle.components(points(name, seed))
