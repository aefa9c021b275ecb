"""Inputs that every subject gets: designed tables and ids, and the texts and hidden states of the documents' experiments.

Inputs are designed so that a wrong answer cannot look right: rows say which row they are, ids are neither sorted nor
unique. One part is generated from the run's seed, so that no subject can pass by knowing the inputs.
"""

from __future__ import annotations

import unicodedata
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


#: words of the texts of the probe's group `lengths`: around powers of two, and beyond the usual limits of 256 and 512
WORDS = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 253, 255, 256, 257, 511, 512, 513, 600)


@cache
def probe() -> dict[str, list[Any]]:
    """Texts that probe an embedder, by group (``fixtures/probe.yaml``); an entry of some groups is a list of related texts.

    Added are the decomposed form (NFD) to each entry of `accents`, after the composed one, and the group `lengths`.
    """
    groups: dict[str, list[Any]] = read_yaml(home() / "fixtures" / "probe.yaml")
    groups["accents"] = [[plain, unicodedata.normalize("NFC", marked), unicodedata.normalize("NFD", marked)]
                         for plain, marked in groups["accents"]]
    words = " ".join(groups["vocabulary"]).split()
    groups["lengths"] = [" ".join(words[7 * count:8 * count]) for count in WORDS]
    return groups


@cache
def probe_texts() -> tuple[str, ...]:
    """All texts of the probe, each once."""
    entries = [entry for group in probe().values() for entry in group]
    return tuple(dict.fromkeys(text for entry in entries for text in (entry if isinstance(entry, list) else [entry])))


def generated_texts(seed: int, purpose: str, lengths: tuple[int, ...]) -> list[str]:
    """Texts of so many words each, drawn from the run's seed: nobody can have seen them before."""
    words = " ".join(probe()["vocabulary"]).split()
    drawn = generator(seed, f"texts {purpose}")
    return [" ".join(words[place] for place in drawn.integers(0, len(words), length)) + "." for length in lengths]


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
