"""What PyTorch and Transformers promise of a table beyond looking it up."""

import io

import numpy as np
import pytest

from ...data import designed_ids, generator
from ...subjects.torch_stack import to_numpy
from ..encoder_input.inputs import small
from . import layer_oracle as oracle


@pytest.mark.claim("FIELD-43")
def test_a_saved_table_is_loaded_again(module, evidence):
    """The state goes through a file, the table is set to zero, and the state is loaded: the table, and a lookup in it."""
    import torch

    embedding = module.embedding()
    before = to_numpy(embedding.weight).copy()
    file = io.BytesIO()
    torch.save(module.call("state_dict", embedding.state_dict), file)
    file.seek(0)
    try:
        with torch.no_grad():
            embedding.weight.zero_()
        module.call("load_state_dict", embedding.load_state_dict, torch.load(file, weights_only=True))
        evidence.equal(to_numpy(embedding.weight), before)
        ids = designed_ids(len(before))
        evidence.equal(to_numpy(embedding(torch.from_numpy(ids))), before[ids], given=ids)
    finally:  # the module serves other tests, too
        with torch.no_grad():
            embedding.weight.copy_(torch.from_numpy(before))


@pytest.mark.claim("FIELD-44")
@pytest.mark.parametrize("padding", [None, 2], ids=["", "padding"])
@pytest.mark.parametrize("ids", [[5, 2, 0, 5, 29, 2, 5], [2, 2], [1] * 300], ids=["mixed", "only-padding", "one-id"])
def test_sparse_equals_dense(module, evidence, padding, ids):
    """Ids that are repeated, in unequal counts; nothing but padding; one id very often."""
    import torch

    lookup, table = module.library("torch.nn.functional.embedding"), module.embedding().weight
    signs = oracle.signs(len(ids), table.shape[1])

    def gradient(sparse):
        weight = table.detach().clone().requires_grad_()
        lookup(torch.tensor(ids), weight, padding_idx=padding, sparse=sparse).backward(torch.from_numpy(signs))
        return to_numpy(weight.grad.to_dense() if sparse else weight.grad)

    sparse, dense = module.call("sparse", gradient, True), module.call("dense", gradient, False)
    kept = np.array(ids) != (-1 if padding is None else padding)
    evidence.equal(sparse, dense)
    evidence.equal(dense.astype(np.float64), oracle.sums(np.array(ids)[kept], signs[kept], len(table)))


@pytest.mark.claim("FIELD-87")
@pytest.mark.parametrize("padding", [False, True], ids=["", "padding"])
def test_vectors_in_the_place_of_ids(module, evidence, seed, padding):
    """Two texts of seven ids, and the rows of the word table for them; in a second run padding stands among the ids."""
    import torch

    model = module.module()
    ids = torch.from_numpy(generator(seed, "ids and vectors").integers(3, 30, size=(2, 7)))
    if padding:
        ids[0, 2] = ids[1, 5] = model.config.pad_token_id or 0
    with torch.inference_mode():
        rows = model.get_input_embeddings()(ids)
        from_ids = module.call("forward", model, input_ids=ids).last_hidden_state
        from_rows = module.call("forward", model, inputs_embeds=rows).last_hidden_state
    evidence.equal(from_rows.float().numpy(), from_ids.float().numpy())


@pytest.mark.claim("FIELD-88")
def test_a_gradient_scaled_by_frequency(module, evidence):
    """Ids that occur once, twice and four times, in no order; the gradients of a row are of one size and sign."""
    import torch

    lookup, table = module.library("torch.nn.functional.embedding"), module.embedding().weight
    ids = np.array([5, 2, 0, 5, 7, 2, 5, 5])
    gradient = np.tile(2.0 ** (ids % 5)[:, None], (1, table.shape[1])).astype(np.float32)
    weight = table.detach()[:8].clone().float().requires_grad_()
    answer = module.call("lookup", lookup, torch.from_numpy(ids), weight, scale_grad_by_freq=True)
    answer.backward(torch.from_numpy(gradient))
    counts = np.bincount(ids, minlength=8)[:, None]
    evidence.equal(to_numpy(weight.grad).astype(np.float64), oracle.sums(ids, gradient, 8) / np.maximum(counts, 1))


@pytest.mark.claim("FIELD-89")
def test_a_longer_table_is_the_same_table(module, evidence):
    """A small model of the same class, whose table is frozen, gets three rows more."""
    model = module.call("the constructor", small, module.module(), 8)
    table = model.get_input_embeddings()
    table.weight.requires_grad_(False)
    before, padding = table.weight.detach().float().numpy().copy(), table.padding_idx
    module.call("resize_token_embeddings", model.resize_token_embeddings, len(before) + 3)
    longer = model.get_input_embeddings()
    after = longer.weight.detach().float().numpy()
    evidence.equal(after[:-3], before)
    evidence.equal([longer.padding_idx, longer.weight.requires_grad], [padding, False])
    evidence.equal(len(np.unique(after[-3:], axis=0)), 3)
