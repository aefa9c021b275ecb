"""The CPU gradient of F.embedding in half formats adds up repeated ids in that format, and so loses terms.

Reported of other backends: tenstorrent/tt-metal#53386, apache/mxnet#17703, flagos-ai/FlagGems#309.
"""

import numpy as np
import torch


class BFloat16:
    """A layer in bfloat16, whose numbers it gives as float32."""

    precision = "bfloat16"

    def __init__(self, table: np.ndarray):
        self.declares = {"precision": self.precision}
        self.dtype = getattr(torch, self.precision)
        self.weight = torch.from_numpy(table).to(self.dtype).requires_grad_()

    def table(self):
        return self.numbers(self.weight)

    def lookup(self, ids):
        return self.numbers(torch.nn.functional.embedding(torch.from_numpy(np.asarray(ids)), self.weight))

    def gradient(self, ids, output_gradient):
        rows = torch.nn.functional.embedding(torch.from_numpy(ids), self.weight)
        return self.numbers(torch.autograd.grad(rows, self.weight, torch.from_numpy(output_gradient).to(self.dtype))[0])

    def numbers(self, tensor):
        return tensor.detach().float().numpy()


class Float16(BFloat16):
    """The same in float16."""

    precision = "float16"

    def numbers(self, tensor):
        return tensor.detach().numpy()
