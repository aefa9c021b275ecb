"""Loss, logits and the output half of the gradient, in NumPy float64, from states and table as arrays."""

import numpy as np

from ... import bounds


def logits(hidden: np.ndarray, table: np.ndarray) -> np.ndarray:
    """States [..., d] and table [V, d] -> [..., V]: inner products with every row."""
    return hidden.astype(np.float64) @ table.astype(np.float64).T


def logits_bound(hidden: np.ndarray, table: np.ndarray) -> bounds.Bound:
    """Each logit is one inner product of d terms."""
    return bounds.dot(table.shape[1], hidden, table, scale=logits(np.abs(hidden), np.abs(table)))


def shares(hidden: np.ndarray, table: np.ndarray) -> np.ndarray:
    """[N, V]: the softmax of the logits of states [N, d]."""
    scores = logits(hidden, table)
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def cross_entropy(hidden: np.ndarray, table: np.ndarray, targets: np.ndarray) -> float:
    """The mean, over all places, of minus the logarithm of the target's share."""
    flat = hidden.reshape(-1, hidden.shape[-1])
    return float(-np.log(shares(flat, table)[np.arange(len(flat)), targets.reshape(-1)]).mean())


def output_half(hidden: np.ndarray, table: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, bounds.Bound]:
    """[V, d]: the mean over all places of (share of the row - 1 where it is the target) times the state, and its bound.

    A logit is off by at most e, so a share by 2 e relative to itself, and by a rounding for each of the V terms of its
    divisor, the exponential, the division and the subtraction; then N products are added.
    """
    flat, wanted = hidden.reshape(-1, hidden.shape[-1]).astype(np.float64), targets.reshape(-1)
    count = len(flat)
    share = shares(flat, table)
    surplus = share.copy()
    surplus[np.arange(count), wanted] -= 1
    unit, name = bounds.unit_roundoff(hidden, table)
    off = 2 * logits_bound(hidden, table).value.reshape(count, -1).max(axis=1, keepdims=True)
    size = share * (off + bounds.gamma(len(table) + 4, unit)) + np.abs(surplus) * bounds.gamma(count + 2, unit)
    bound = bounds.Bound(size.T @ np.abs(flat) / count, f"rounding of softmax and a mean of {count} products in {name}")
    return surplus.T @ flat / count, bound
