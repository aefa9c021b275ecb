"""Tables, ids and output gradients for this chapter.

Output gradients are never constant. In `powers` the place of an occurrence is a bit, so that a sum says which occurrences
are in it; all numbers are short, so that sums and steps are exact in every format from bfloat16 on.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from ... import home
from ...claims import read_yaml
from ...data import TABLE_SIZES, generator

#: lengths of batches on either side of 768 and 3072, where kernels change
LONG = (767, 769, 3073)


@cache
def audit() -> dict[str, Any]:
    """The recorded audit step: numbers as float32 arrays, ids as int64, the rest as it stands in the file."""
    recorded = read_yaml(home() / "fixtures" / "audit_step.yaml")
    arrays = ("table", "loss", "output", "output_gradient", "table_gradient", "table_after", "loss_after")
    return recorded | {name: np.array(recorded[name], np.float32) for name in arrays} | {"ids": np.array(recorded["ids"])}


def short_table(rows: int, width: int, seed: int) -> np.ndarray:
    """[rows, width]: whole quarters from -8 to 8, none of them zero, so that no row is zero, the padding row included."""
    quarters = generator(seed, f"table {rows} {width}").integers(1, 33, size=(rows, width))
    signs = np.where(np.arange(rows * width).reshape(rows, width) % 3, 1, -1)
    return (signs * quarters / 4).astype(np.float32)


def few_ids(rows: int) -> np.ndarray:
    """[5] ids: the last row three times and never twice in a row, one in the middle, the first."""
    return np.array([rows - 1, rows // 2, rows - 1, 0, rows - 1], dtype=np.int64)


def powers(ids: np.ndarray, width: int) -> np.ndarray:
    """[*ids.shape, width]: occurrence k (modulo 8) has 2^k, with a sign that changes from column to column."""
    bits = 2.0 ** (np.arange(ids.size) % 8)
    signs = np.where(np.arange(width) % 2, -1.0, 1.0)
    return (bits[:, None] * signs).reshape(*ids.shape, width).astype(np.float32)


def generated_gradient(ids: np.ndarray, width: int, seed: int) -> np.ndarray:
    """[*ids.shape, width] of many sizes and eight significant bits each, so that bfloat16 holds them too."""
    drawn = generator(seed, f"gradient {ids.size}").standard_normal((*ids.shape, width))
    mantissa, exponent = np.frexp(drawn)
    return np.ldexp(np.round(mantissa * 256) / 256, np.maximum(exponent, -6)).astype(np.float32)


def padded_layers(layer: Any, seed: int, sizes: tuple[tuple[int, int], ...] = TABLE_SIZES) -> Iterator[tuple[Any, int]]:
    """Layers with the padding id at the first, a middle and the last row, which is not zero, and that id; a layer that
    cannot be given a table, as it is.
    """
    if layer.source.make is None:
        yield layer, layer.padding_id
        return
    for rows, width in sizes:
        for padding_id in sorted({0, rows // 2, rows - 1}):
            yield layer.with_table(short_table(rows, width, seed), padding_id), padding_id


def padded_batches(rows: int, padding_id: int) -> dict[str, np.ndarray]:
    """Eight ids with padding at various places; `a` and `b` are no padding, if there are such rows."""
    others = [i for i in (rows - 1, rows // 2, 0, 1) if i != padding_id and i < rows] or [padding_id]
    a, b, p = others[0], others[-1], padding_id
    return {"in front": np.array([p, p, p, a, b, a, b, a]), "in the middle": np.array([a, b, p, p, a, p, b, a]),
            "at the end": np.array([[a, b, b, p], [b, a, p, p]]), "padding alone": np.full(8, p)}


def step_cases(seed: int) -> list[tuple[np.ndarray, np.ndarray, float, float, int | None]]:
    """(table, ids, target, learning rate, padding id): the audit, padding inside the table, none, a table of one number.

    Targets and rates are numbers that every format holds, so that they are not rounded.
    """
    recorded, drawn = audit(), generator(seed, "steps")
    seven, nine = (drawn.standard_normal(shape).astype(np.float32) for shape in ((7, 5), (9, 4)))
    return [(recorded["table"], recorded["ids"], 0.5, 0.25, 0),
            (seven, np.array([[3, 6, 0], [6, 3, 5], [6, 1, 3]]), -1.25, 0.5, 3),
            (nine, np.array([8, 2, 8, 0, 2, 8]), 0.75, 0.125, None),
            (np.array([[3.0]], np.float32), np.array([0, 0]), 0.125, 0.375, None)]
