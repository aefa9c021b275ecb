"""One-hot codes, products with them, and what a call costs, all computed apart from the subject."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def one_hot(ids: np.ndarray, rows: int) -> np.ndarray:
    """[*ids.shape, rows] float64, by comparing every id with every row number."""
    return (ids[..., None] == np.arange(rows)).astype(np.float64)


def product(ids: np.ndarray, table: np.ndarray) -> np.ndarray:
    """[*ids.shape, d] float64: codes times table. Exact on a finite table, since every term is 0 x or 1 x."""
    return one_hot(ids, len(table)) @ table.astype(np.float64)


def gram(codes: np.ndarray) -> np.ndarray:
    """[N, V] -> [N, N] float64: all inner products; exact for small whole numbers."""
    codes = codes.astype(np.float64)
    return codes @ codes.T


def cost(call: Callable[[], Any]) -> tuple[int, int]:
    """What a call of PyTorch costs: floating-point operations in matrix products, and bytes that its operators allocate.

    Both are counted, not timed. What shares memory with an operator's input, such as a view, allocates nothing.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves
    from torch.utils.flop_counter import FlopCounterMode

    def storages(values: Any) -> dict[int, int]:
        tensors = [value for value in tree_leaves(values) if isinstance(value, torch.Tensor)]
        return {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors}

    class Bytes(TorchDispatchMode):
        total = 0

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            known = storages((args, kwargs))
            answer = function(*args, **(kwargs or {}))
            self.total += sum(size for place, size in storages(answer).items() if place not in known)
            return answer

    with torch.no_grad(), FlopCounterMode(display=False) as products, Bytes() as memory:
        call()
    return products.get_total_flops(), memory.total
