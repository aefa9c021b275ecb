"""What a fresh table is expected to hold, computed apart from PyTorch."""

from __future__ import annotations

from math import erf, sqrt
from typing import Any

import numpy as np


def is_pytorch(module: Any) -> bool:
    """Whether the subject's layers are PyTorch's own, so that it is known how their tables begin."""
    import torch

    return isinstance(module.embedding(), torch.nn.Embedding)


def normal_distribution(points: np.ndarray) -> np.ndarray:
    """The share of N(0, 1) at or below each point."""
    return np.array([(1 + erf(float(point) / sqrt(2))) / 2 for point in points])


def normal_draws(seed: int, count: int) -> np.ndarray:
    """[count] float64, at least 16: what PyTorch's CPU generator draws from N(0, 1) in float32 after this seed.

    The low 24 bits of the Mersenne Twister's words are uniform numbers. Each block of 16 becomes normal by the method of
    Box and Muller, the first eight giving the lengths and the last eight the angles. Where 16 does not divide the count,
    the last 16 places are drawn again.
    """
    words = np.random.RandomState(seed).randint(0, 2**32, size=count + 16, dtype=np.uint32)
    uniform = (words & np.uint32(2**24 - 1)) / 2.0**24
    draws = np.empty(count)
    for start in range(0, count - 15, 16):
        draws[start:start + 16] = box_muller(uniform[start:start + 16])
    if count % 16:
        draws[-16:] = box_muller(uniform[count:count + 16])
    return draws


def box_muller(uniform: np.ndarray) -> np.ndarray:
    """[16] uniform numbers -> [16] normal ones."""
    lengths, angles = np.sqrt(-2 * np.log(1 - uniform[:8])), 2 * np.pi * uniform[8:]
    return np.concatenate([lengths * np.cos(angles), lengths * np.sin(angles)])


def positions(length: int, width: int) -> np.ndarray:
    """[length, width]: sines and cosines of the positions, in pairs of columns (Vaswani et al. 2017, section 3.5)."""
    pairs = [10000.0 ** (-2 * (column // 2) / width) for column in range(width)]
    return np.array([[np.cos(place * turn) if column % 2 else np.sin(place * turn) for column, turn in enumerate(pairs)]
                     for place in range(length)])
