"""The documents' audit step by hand, in NumPy."""

from __future__ import annotations

import numpy as np


class FormulaStep:
    """The facet ``training_step``: a row's gradient is a sum of 2 (W[i] - target) / N. Results have the table's format."""

    def mse_step(self, table: np.ndarray, ids: np.ndarray, target: float | np.ndarray, learning_rate: float,
                 padding_id: int | None = None, steps: int = 1) -> tuple[np.ndarray, ...]:
        """loss [], output and its gradient [*ids.shape, d], gradient and table after [V, d], loss after []."""
        table, wanted = table.copy(), np.asarray(target, table.dtype)
        for _ in range(steps):
            output = table[ids]
            loss = np.mean((output - wanted) ** 2)
            output_gradient = 2 * (output - wanted) / output.size
            table_gradient = np.zeros_like(table)
            np.add.at(table_gradient, ids, output_gradient)
            if padding_id is not None:
                table_gradient[padding_id] = 0
            table -= learning_rate * table_gradient
        return loss, output, output_gradient, table_gradient, table, np.mean((table[ids] - wanted) ** 2)
