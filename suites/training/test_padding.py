"""The padding id: what its row holds, what a lookup gives there, and what PyTorch does with it."""

import numpy as np
import pytest

from ... import bounds
from ...data import TABLE_SIZES
from . import oracle
from .inputs import LONG, audit, padded_batches, padded_layers, powers, short_table


def new_embedding(module, rows, width, **arguments):
    """A new layer of the module's own class; its numbers are drawn from a seed of their own."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(17)
        return module.call("the constructor", type(module.embedding()), rows, width, **arguments)


def backward(module, embedding, ids, output_gradient):
    """[V, d]: the gradient of the table, added up to a dense one."""
    import torch

    def gradient():
        output = embedding(torch.from_numpy(ids))
        return torch.autograd.grad(output, embedding.weight, torch.from_numpy(output_gradient))[0]

    found = module.call("backward", gradient)
    return (found.to_dense() if found.is_sparse else found).numpy()


@pytest.mark.claim("PAD-01")
@pytest.mark.parametrize("padding_id", [0, 2, 5])
def test_a_new_layer_has_a_zero_padding_row(module, evidence, padding_id):
    """Six rows of three: the padding row is zero, no other number is."""
    table = new_embedding(module, 6, 3, padding_idx=padding_id).weight.detach().numpy()
    evidence.close(table[padding_id], np.zeros(3), oracle.ZERO)
    evidence.equal(np.flatnonzero((table != 0).all(axis=1)).tolist(), [i for i in range(6) if i != padding_id])


@pytest.mark.claim("PAD-02")
def test_padding_gives_the_padding_row(layer, evidence, seed):
    """Padding at various places: the row that the table has there, whatever it holds."""
    for made, padding_id in padded_layers(layer, seed):
        for ids in padded_batches(made.shape[0], padding_id).values():
            found = made.lookup(ids)[ids == padding_id]
            evidence.equal(found, np.broadcast_to(made.table()[padding_id], found.shape))


@pytest.mark.claim("PAD-02")
def test_padding_of_a_new_layer_gives_zeros(module, evidence):
    """The audit's ids on a new layer: zeros at both places of padding, none elsewhere."""
    import torch

    ids = audit()["ids"]
    embedding = new_embedding(module, 6, 3, padding_idx=0)
    output = module.call("forward", embedding, torch.from_numpy(ids)).detach().numpy()
    evidence.equal((output == 0).all(axis=2).tolist(), (ids == 0).tolist())


@pytest.mark.claim("PAD-02")
def test_padding_of_the_audit_gives_zeros(training_step, evidence):
    """The output is the table's row at all eight places, and zero at the two of padding."""
    step = audit()
    output = training_step.mse_step(step["table"], step["ids"], 0.5, learning_rate=0.25, padding_id=0)["output"]
    evidence.close(output, step["output"], oracle.ZERO)
    evidence.equal((output == 0).all(axis=2).tolist(), (step["ids"] == 0).tolist())


@pytest.mark.claim("PAD-03")
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_no_gradient_for_padding_by_either_kind(module, evidence, seed, sparse):
    """Dense and sparse gradients of a padding row that is not zero, in short and long batches."""
    import torch

    for padding_id in (0, 3, 5):
        embedding = new_embedding(module, 6, 3, padding_idx=padding_id, sparse=sparse)
        with torch.no_grad():
            embedding.weight.copy_(torch.from_numpy(short_table(6, 3, seed)))
        batches = [*padded_batches(6, padding_id).values(), *(np.arange(length) * 5 % 6 for length in LONG)]
        for ids in batches:
            output_gradient = powers(ids, 3)
            gradient = backward(module, embedding, ids, output_gradient)
            used, sums, sizes, counts = oracle.row_sums(ids, output_gradient, padding_id)
            evidence.close(gradient[padding_id], np.zeros(3), oracle.ZERO)
            if used.size:
                evidence.close(gradient[used], sums, bounds.accumulated(counts, "float32", sizes, sums))


@pytest.mark.claim("PAD-06")
def test_a_new_layer_without_padding_has_no_special_row(module, evidence):
    """Row 0 has numbers like the others, and a gradient where id 0 occurs."""
    ids = np.array([5, 0, 2, 0])
    embedding = new_embedding(module, 6, 3)
    evidence.equal(embedding.padding_idx, None)
    evidence.equal(bool((embedding.weight != 0).all()), True)
    output_gradient = powers(ids, 3)
    used, sums, _, _ = oracle.row_sums(ids, output_gradient)
    exact = bounds.Bound(0.0, "exact: sums of distinct powers of two below 2^8")
    evidence.close(backward(module, embedding, ids, output_gradient)[used], sums, exact)


@pytest.mark.claim("PAD-07")
def test_a_given_padding_row_is_kept(layer, evidence, seed):
    """A padding row that is not zero, at the first, a middle and the last id: the layer holds it and looks it up."""
    for rows, width in TABLE_SIZES:
        table = short_table(rows, width, seed)
        for padding_id in sorted({0, rows // 2, rows - 1}):
            made = layer.with_table(table, padding_id)
            kept = bounds.Bound(0.0, "exact: whole quarters, which every format holds")
            row = layer.held(table)[padding_id]
            evidence.close(made.table()[padding_id], row, kept)
            evidence.close(made.lookup(np.array([padding_id]))[0], row, kept)


@pytest.mark.claim("PAD-07")
def test_pretrained_rows_are_kept_at_padding(module, evidence):
    """A layer from a table of ones, with a padding id: its row is one, and so is what it looks up there."""
    import torch

    made = module.call("from_pretrained", type(module.embedding()).from_pretrained, torch.ones(6, 3), padding_idx=0)
    evidence.equal(made.weight.detach().numpy(), np.ones((6, 3), np.float32))
    evidence.equal(module.call("forward", made, torch.tensor([0, 5])).detach().numpy(), np.ones((2, 3), np.float32))
