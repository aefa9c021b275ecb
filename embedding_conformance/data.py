"""Inputs that every subject gets: designed tables and ids, and the texts and hidden states of the documents' experiments.

Inputs are designed so that a wrong answer cannot look right: rows say which row they are, ids are neither sorted nor
unique. One part is generated from the run's seed, so that no subject can pass by knowing the inputs.
"""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any

import numpy as np

from . import home
from .claims import read_yaml

#: (rows, width): one row, one column, odd sizes, and sizes on either side of 768 and 3072, where kernels change
TABLE_SIZES = ((30, 8), (1, 1), (1, 5), (7, 1), (6, 3), (769, 16), (3073, 5))


def numbered_table(rows: int, width: int, dtype: str = "float32") -> np.ndarray:
    """[rows, width]: every number differs, and row i is the numbers from i * width + 1 on, so that a row names itself."""
    return np.arange(1, rows * width + 1).reshape(rows, width).astype(dtype)


def generator(seed: int, purpose: str) -> np.random.Generator:
    """A random generator for one purpose of one run: the same seed and purpose give the same numbers everywhere."""
    return np.random.default_rng([seed, zlib.crc32(purpose.encode())])


def designed_ids(rows: int) -> np.ndarray:
    """Ids of a table with this many rows: unsorted, first and last included, repeated apart and in unequal counts."""
    last, middle = rows - 1, rows // 2
    return np.array([middle, last, 0, min(1, last), last, middle, max(last - 1, 0), last], dtype=np.int64)


def generated_ids(rows: int, seed: int) -> np.ndarray:
    """[5, 41] ids drawn from the run's seed."""
    return generator(seed, f"ids {rows}").integers(0, rows, size=(5, 41))


@cache
def texts() -> dict[str, Any]:
    """The sentences, words and numbers of the documents' experiments (``fixtures/texts.yaml``)."""
    read: dict[str, Any] = read_yaml(home() / "fixtures" / "texts.yaml")
    return read


@cache
def training_text() -> list[str]:
    """Sentences to train small tokenizers on, English and then some Chinese (``fixtures/training_text.txt``)."""
    return (home() / "fixtures" / "training_text.txt").read_text(encoding="utf-8").splitlines()


@cache
def states() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Hidden states that all-MiniLM-L6-v2 gives for the documents' sentences, a baseline of the chapter ``context``.

    Name of a list of texts -> states [N, L, d] float32 and mask [N, L] int64; rows are padded with zeros at the end.
    """
    with np.load(home() / "fixtures" / "baselines" / "context" / "states.npz", allow_pickle=False) as stored:
        names = sorted({name.rpartition(".")[0] for name in stored.files})
        return {name: (stored[f"{name}.states"], stored[f"{name}.mask"]) for name in names}


def pooled(name: str) -> np.ndarray:
    """[N, d] float32: the means over the tokens of the stored states, computed in float64 and rounded once."""
    hidden, mask = states()[name]
    weights = mask[:, :, None].astype(np.float64)
    means: np.ndarray = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    return means.astype(np.float32)
