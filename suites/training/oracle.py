"""The audit step in exact arithmetic, sums of row gradients by hand, and how far rounding may lead away from them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ... import bounds
from ...bounds import Bound

#: what is zero by definition is zero; the sign of a zero is free, as when a gradient is multiplied by a mask
ZERO = Bound(0.0, "exactly zero")


def mse_step(table: np.ndarray, ids: np.ndarray, target: float, learning_rate: float, padding_id: int | None,
             steps: int = 1) -> dict[str, np.ndarray]:
    """Steps of gradient descent on the mean squared error, in fractions: no rounding but the last, to float64.

    loss = sum of (Y - t)^2 over all N numbers of the output, divided by N; dL/dY = 2 (Y - t) / N; dL/dW[i] = the sum of
    dL/dY over the places of id i, none for padding; W' = W - rate dL/dW. Parts as `handles.TrainingStep` names them.
    """
    exact = [[Fraction(float(number)) for number in row] for row in table]
    wanted, rate, places = Fraction(target), Fraction(learning_rate), [int(i) for i in ids.ravel()]
    count = len(places) * table.shape[1]
    for _ in range(steps):
        output = [list(exact[i]) for i in places]
        output_gradient = [[2 * (number - wanted) / count for number in row] for row in output]
        gradient = [[Fraction(0)] * table.shape[1] for _ in exact]
        for i, row in zip(places, output_gradient, strict=True):
            if i != padding_id:
                gradient[i] = [a + b for a, b in zip(gradient[i], row, strict=True)]
        exact = [[number - rate * slope for number, slope in zip(*rows, strict=True)]
                 for rows in zip(exact, gradient, strict=True)]
    def loss(rows: list[list[Fraction]]) -> np.ndarray:
        return np.array(float(sum((number - wanted) ** 2 for row in rows for number in row) / count))

    shape = (*ids.shape, table.shape[1])
    return {"loss": loss(output), "output": floats(output).reshape(shape),
            "output_gradient": floats(output_gradient).reshape(shape), "table_gradient": floats(gradient),
            "table_after": floats(exact), "loss_after": loss([exact[i] for i in places])}


def floats(rows: list[list[Fraction]]) -> np.ndarray:
    return np.array([[float(number) for number in row] for row in rows])


def step_bounds(table: np.ndarray, ids: np.ndarray, exact: dict[str, np.ndarray], learning_rate: float,
                padding_id: int | None, *arrays: np.ndarray) -> dict[str, Bound]:
    """How far each part of one step may be from the exact one, when computed in the coarsest format among `arrays`."""
    numbers = exact["output"].size
    _, _, sizes, counts = row_sums(ids, exact["output_gradient"], padding_id)
    size = np.zeros(table.shape)
    size[np.unique(ids[ids != padding_id])] = sizes
    most = int(counts.max(initial=1))
    slope = bounds.chain(4, *arrays, scale=np.abs(exact["output_gradient"]), of="a difference, a quotient, two products")
    gradient = bounds.chain(most + 3, *arrays, scale=size, of=f"a sum of {most} terms with four roundings each")
    move = move_bound(most, np.abs(table) + learning_rate * size, *arrays)
    after = Bound(move.value + learning_rate * gradient.value, f"{move.why}; {gradient.why}")
    loss = loss_bound(exact["loss"], numbers, *arrays)
    # By how much the loss differs on a table that is off: slope times error, and twice that for what is of second order.
    moved = 2 * float(np.abs(exact["output_gradient"]).sum() * np.max(after.value))
    return {"loss": loss, "output": ZERO, "output_gradient": slope, "table_gradient": gradient, "table_after": after,
            "loss_after": Bound(loss.value + moved, f"{loss.why}, on a table that is itself rounded")}


def move_bound(most: int, size: float | np.ndarray, *arrays: np.ndarray) -> Bound:
    """Of a row less rate times gradient, `size` being the sizes of both added up.

    Sparse gradients are not added up before: each of `most` places is taken from the row on its own.
    """
    return bounds.chain(most + 1, *arrays, scale=size, of=f"{most} differences and a product")


def loss_bound(loss: float | np.ndarray, numbers: int, *arrays: np.ndarray) -> Bound:
    """Of a mean of `numbers` squares: a difference counts twice, its square once, the sum and the quotient."""
    return bounds.chain(numbers + 3, *arrays, scale=float(loss), of=f"a mean of {numbers} squared differences")


def row_sums(ids: np.ndarray, output_gradient: np.ndarray,
             padding_id: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The gradient of the rows that occur, padding left out: their ids [U], sums and sums of sizes [U, d], counts [U, 1].

    One id after the other, in float64: exact for the short numbers that the tests use.
    """
    places, rows = ids.ravel(), output_gradient.reshape(ids.size, -1).astype(np.float64)
    used = np.array([i for i in sorted(set(places.tolist())) if i != padding_id], dtype=np.int64)
    own = [rows[places == i] for i in used]
    width = rows.shape[1]
    return (used, np.array([part.sum(axis=0) for part in own]).reshape(-1, width),
            np.array([np.abs(part).sum(axis=0) for part in own]).reshape(-1, width),
            np.array([len(part) for part in own], dtype=np.int64).reshape(-1, 1))


def contraction(table: np.ndarray, ids: np.ndarray, target: float, learning_rate: float, padding_id: int | None,
                steps: int) -> tuple[np.ndarray, np.ndarray]:
    """[V, d] and [V, 1]: the table after `steps` steps in closed form, and the factor of each row.

    Every step multiplies the distance of row i to the target by 1 - 2 rate n_i / N, n_i being how often i occurs.
    """
    counts = np.bincount(ids.ravel(), minlength=len(table)).astype(np.float64)
    if padding_id is not None:
        counts[padding_id] = 0
    factor = (1 - 2 * learning_rate * counts / (ids.size * table.shape[1]))[:, None]
    return target + factor**steps * (table.astype(np.float64) - target), factor


def contraction_bound(table: np.ndarray, target: float, factor: np.ndarray, most: int, *arrays: np.ndarray) -> Bound:
    """Of any number of steps in closed form: what one step can be off, added up over all steps, each shrunk by the next.

    The geometric series gives 1 / (1 - factor). Rows stay between their beginning and the target; the sum of the output
    gradients, times the rate, is (1 - factor) times the distance. Rows that do not move have no error.
    """
    away = (1 - factor) * np.abs(table - target)
    most_far = np.maximum(np.abs(table), abs(target))
    move = move_bound(most, most_far + away, *arrays)
    gradient = bounds.chain(most + 3, *arrays, scale=away, of=f"a sum of {most} terms with four roundings each")
    moving = factor < 1
    value = np.where(moving, (move.value + gradient.value) / np.where(moving, 1 - factor, 1), 0.0)
    return Bound(value, f"{move.why}; {gradient.why}; added up over all steps")
