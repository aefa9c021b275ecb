"""What is expected, computed by counting and by plain loops."""

from __future__ import annotations

from math import exp, lgamma, log, log1p

import numpy as np

from ... import bounds
from ...data import generator

LAYOUTS = {
    "columns": np.asfortranarray,
    "transposed": lambda ids: ids.T.copy().T,
    "gaps": lambda ids: np.repeat(ids, 2, axis=1)[:, ::2],
    "part": lambda ids: np.pad(ids, 1)[1:-1, 1:-1],
    "read-only": lambda ids: locked(ids.copy()),
}


def locked(array: np.ndarray) -> np.ndarray:
    """The array, which nobody can write into any more."""
    array.setflags(write=False)
    return array


def many_ids(rows: int, count: int) -> np.ndarray:
    """[count] ids in no order: neighbours differ, and what stands 2^15 or 2^16 places later is another id."""
    places = np.arange(count)
    return (places * 7 + places // 4096 * 3) % rows


def places_of(count: int) -> np.ndarray:
    """Places from 0 to `count` - 1: every eleventh, those on either side of powers of two, the last hundred."""
    powers = 2 ** np.arange(count.bit_length())
    chosen = np.concatenate([np.arange(0, count, 11), powers - 1, powers, powers + 1, np.arange(count - 100, count)])
    return np.unique(chosen[(chosen >= 0) & (chosen < count)])


def signs(count: int, width: int) -> np.ndarray:
    """[count, width] float32 of plus and minus one, in no period of a power of two."""
    places = np.arange(count * width).reshape(count, width)
    return np.where(places * 2654435761 // 1013 % 3 == 0, -1, 1).astype(np.float32)


def sums(ids: np.ndarray, gradient: np.ndarray, rows: int) -> np.ndarray:
    """[rows, d] float64: the gradients of each id, counted by column."""
    return np.stack([np.bincount(ids, weights=column, minlength=rows).astype(np.float64) for column in gradient.T], axis=1)


def below(word: str, outside: int, rows: int) -> int | str:
    """The row that stands for an id below zero, or "refused", "zero", "nan"."""
    if word == "raise" or (word == "wrap" and outside < -rows):
        return "refused"
    return {"clamp": 0, "wrap": outside + rows}.get(word, word)


def above(word: str, outside: int, rows: int) -> int | str:
    """The row that stands for an id from `rows` on, or "refused", "zero", "nan"."""
    if word == "raise":
        return "refused"
    return {"clamp": rows - 1, "wrap": outside % rows}.get(word, word)


def fewest_hits(count: int, share: float) -> int:
    """How many of `count` independent draws hit, at least, in all but one of a billion runs, where each hits with `share`.

    The lower tail of the binomial distribution, added up exactly; so a share is refuted when the upper end of the exact
    interval (Clopper and Pearson 1934) around what was found lies below it.
    """
    if share >= 1:
        return count
    tail = 0.0
    for hits in range(count + 1):
        tail += exp(lgamma(count + 1) - lgamma(hits + 1) - lgamma(count - hits + 1)
                    + (hits * log(share) if hits else 0) + (count - hits) * log1p(-share))
        if tail >= bounds.FALSE_ALARM:
            return hits
    return count


def clusters(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors [1500, 24] and queries [150, 24], float32: forty directions with scatter, and queries beside stored vectors."""
    random = generator(seed, "clusters")
    centres = 3 * random.standard_normal((40, 24))
    vectors = centres[random.integers(0, 40, 1500)] + random.standard_normal((1500, 24))
    queries = vectors[random.permutation(1500)[:150]] + 0.3 * random.standard_normal((150, 24))
    return vectors.astype(np.float32), queries.astype(np.float32)


def brute_force(queries: np.ndarray, vectors: np.ndarray, metric: str) -> np.ndarray:
    """[M, N] float64: every score, without a matrix product, which the judged code may use."""
    q, x = queries.astype(np.float64), vectors.astype(np.float64)
    if metric == "euclidean":
        return -np.stack([np.sqrt(((x - one) ** 2).sum(axis=1)) for one in q])
    products = np.stack([(x * one).sum(axis=1) for one in q])
    if metric == "dot":
        return products
    lengths = [np.sqrt((array**2).sum(axis=1)) for array in (q, x)]
    return products / np.outer(*lengths)


def rows_of_many_sizes(seed: int) -> np.ndarray:
    """[12, 9] float32."""
    table = generator(seed, "rows of many sizes").standard_normal((12, 9)) * 10.0 ** np.linspace(-1, 1, 12)[:, None]
    table[3], table[6], table[8] = np.abs(table[3]) + 5, -np.abs(table[6]) - 1, 0
    table[9, 1:] = 0
    return table.astype(np.float32)
