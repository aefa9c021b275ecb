"""Training with PyTorch: the documents' audit step, and trainings of small tables on pairs of ids."""

from __future__ import annotations

from typing import Any

import numpy as np

from .torch_stack import TorchLayer, to_numpy, torch


class TorchStep:
    """The facet ``training_step``: autograd, torch.optim.SGD and the mean squared error."""

    def mse_step(self, table: np.ndarray, ids: np.ndarray, target: float | np.ndarray, learning_rate: float,
                 padding_id: int | None = None, steps: int = 1) -> tuple[np.ndarray, ...]:
        """loss [], output and its gradient [*ids.shape, d], gradient and table after [V, d], loss after []."""
        embedding = self.embedding(table, padding_id)
        optimizer = self.optimizer(embedding.weight, learning_rate)
        taken = torch().from_numpy(ids)
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            output = embedding(taken)
            output.retain_grad()
            wanted = torch().as_tensor(target, dtype=output.dtype).expand_as(output)
            loss = self.loss(output, wanted)
            loss.backward()
            optimizer.step()
        gradient, loss_after = embedding.weight.grad, self.loss(embedding(taken), wanted)
        gradient = gradient.to_dense() if gradient.is_sparse else gradient
        parts = (loss, output, output.grad, gradient, embedding.weight, loss_after)
        return tuple(to_numpy(part) for part in parts)

    def embedding(self, table: np.ndarray, padding_id: int | None) -> Any:
        """A new nn.Embedding that holds a copy of the table."""
        return TorchLayer.holding(table, padding_id).embedding

    def optimizer(self, weight: Any, learning_rate: float) -> Any:
        """Plain gradient descent on the table alone."""
        return torch().optim.SGD([weight], lr=learning_rate)

    def loss(self, output: Any, wanted: Any) -> Any:
        """The mean over all numbers, padding included."""
        return torch().nn.functional.mse_loss(output, wanted, reduction="mean")


class TorchTrainer:
    """The facet ``trainer``: a table and a linear head that predicts the label of an id, trained by Adam on all pairs.

    All seeds are trained in one table of len(seeds) * rows rows. Adam works number by number and the losses are added up,
    so that no seed knows of another.
    """

    learning_rate = 0.05
    deviation = 0.1

    def train(self, pairs: np.ndarray, rows: int, width: int, seeds: list[int], train_table: bool,
              steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs [P, 2] of (id, label) -> tables before and after [S, rows, width], losses before each step [S, steps]."""
        count = len(seeds)
        tables, heads = zip(*(self.initial(rows, width, int(pairs[:, 1].max()) + 1, seed) for seed in seeds), strict=True)
        embedding = torch().nn.Embedding.from_pretrained(torch().cat(tables), freeze=not train_table)
        head = torch().stack(heads).requires_grad_()
        before = to_numpy(embedding.weight).reshape(count, rows, width).copy()
        taken = torch().arange(count)[:, None] * rows + torch().from_numpy(pairs[:, 0])
        labels = torch().from_numpy(pairs[:, 1]).expand(count, -1)
        optimizer = self.optimizer([head, embedding.weight] if train_table else [head])
        losses = []
        for _ in range(steps):
            optimizer.zero_grad()
            loss = self.loss(embedding(taken), head, labels)
            loss.sum().backward()
            optimizer.step()
            losses.append(to_numpy(loss))
        return before, to_numpy(embedding.weight).reshape(before.shape), np.stack(losses, axis=1)

    def initial(self, rows: int, width: int, labels: int, seed: int) -> tuple[Any, Any]:
        """A table [rows, width] and a head [width, labels], normally distributed."""
        generator = torch().Generator().manual_seed(seed)
        return (self.deviation * torch().randn(rows, width, generator=generator),
                self.deviation * torch().randn(width, labels, generator=generator))

    def optimizer(self, parameters: list[Any]) -> Any:
        """Adam without weight decay."""
        return torch().optim.Adam(parameters, lr=self.learning_rate)

    def loss(self, vectors: Any, head: Any, labels: Any) -> Any:
        """[S]: the mean cross-entropy of the labels [S, P], for vectors [S, P, d] and heads [S, d, labels]."""
        logits = (vectors @ head).transpose(1, 2)
        return torch().nn.functional.cross_entropy(logits, labels, reduction="none").mean(dim=1)
