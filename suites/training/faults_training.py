"""Faulty and sound trainers."""

import numpy as np

from ...proof import altered, fault, sound
from .faults_step import with_parts


def with_pairs(trainer, change):
    """The trainer with other pairs than it was given."""
    return altered(trainer, train=lambda pairs, *others: trainer.train(change(pairs), *others))


@fault("trainer", ["TRAIN-03", "TRAIN-04", "TRAIN-05", "TRAIN-06", "TRAIN-07", "TRAIN-08"])
def table_never_trained(trainer):
    """The optimiser was not given the table."""
    return with_parts(trainer, optimizer=lambda parameters: trainer.optimizer(parameters[:1]))


@fault("trainer", ["TRAIN-06", "TRAIN-04", "TRAIN-08"], source="zhouhaoyi/Informer2020#668, CarperAI/trlx#543")
def table_always_trained(trainer):
    """The table is trained though it should be frozen."""
    def train(pairs, rows, width, seeds, train_table, steps):
        return trainer.train(pairs, rows, width, seeds, True, steps)
    return altered(trainer, train=train)


def with_adam(trainer, **settings):
    """The trainer with Adam, or another optimiser, and other settings."""
    import torch

    kind = settings.pop("kind", "Adam")
    return with_parts(trainer, optimizer=lambda parameters: getattr(torch.optim, kind)(
        parameters, **({"lr": trainer.learning_rate} | settings)))


@fault("trainer", ["TRAIN-03"], source="huggingface/diffusers#1009")
def decay_of_all_rows(trainer):
    """The optimiser is AdamW with a weight decay of 0.1, which moves rows that have no gradient."""
    return with_adam(trainer, kind="AdamW", weight_decay=0.1)


@fault("trainer", ["TRAIN-03"])
def penalty_on_all_rows(trainer):
    """Every row gets the gradient of a penalty, as all rows do in a table that is tied to the output."""
    return with_adam(trainer, weight_decay=0.01)


@fault("trainer", ["TRAIN-04", "TRAIN-05"])
def words_permuted(trainer):
    """The words are mixed up among the topics."""
    order = np.append(0, np.append(np.arange(1, 13).reshape(4, 3).T.reshape(-1), 13))
    return with_pairs(trainer, lambda pairs: np.stack([order[pairs[:, 0]], pairs[:, 1]], axis=1))


@fault("trainer", ["TRAIN-04", "TRAIN-05"])
def one_topic_for_all(trainer):
    """Every word is trained on the labels of the first topic."""
    return with_pairs(trainer, lambda pairs: np.stack(
        [pairs[:, 0], np.where(pairs[:, 1] < 9, pairs[:, 1] % 3, pairs[:, 1])], axis=1))


@fault("trainer", ["TRAIN-07", "TRAIN-04"])
def data_ignored(trainer):
    """Labels follow from the ids, whatever the data say."""
    return with_pairs(trainer, lambda pairs: np.stack([pairs[:, 0], np.arange(len(pairs)) % 12], axis=1))


@fault("trainer", ["TRAIN-04", "TRAIN-05"])
def parallel_rows(trainer):
    """All rows of a trained table point into one direction."""
    def train(*arguments):
        before, after, losses = trainer.train(*arguments)
        return before, np.linalg.norm(after, axis=2, keepdims=True) * np.ones_like(after), losses
    return altered(trainer, train=train)


@fault("trainer", ["TRAIN-08", "TRAIN-06"])
def uphill_training(trainer):
    """The loss is raised."""
    return with_adam(trainer, maximize=True)


@fault("trainer", ["TRAIN-07"])
def unseeded(trainer):
    """Tables begin with other numbers each time."""
    import torch

    def initial(rows, width, labels, seed):
        return 0.1 * torch.randn(rows, width), 0.1 * torch.randn(width, labels)
    return with_parts(trainer, initial=initial)


@fault("trainer", ["TRAIN-07"])
def one_seed_for_all(trainer):
    """All tables begin with the same numbers."""
    return with_parts(trainer, initial=lambda rows, width, labels, seed: trainer.initial(rows, width, labels, 0))


# --- sound variants ---------------------------------------------------------------------------------------------------


@sound("trainer")
def seeds_one_by_one(trainer):
    """Every seed is trained on its own."""
    def train(pairs, rows, width, seeds, *others):
        runs = [trainer.train(pairs, rows, width, [seed], *others) for seed in seeds]
        return tuple(np.concatenate(part) for part in zip(*runs, strict=True))
    return altered(trainer, train=train)


@sound("trainer")
def plain_descent_with_momentum(trainer):
    """The optimiser is SGD with momentum."""
    return with_adam(trainer, kind="SGD", lr=2.0, momentum=0.9)
