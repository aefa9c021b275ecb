"""What PyTorch promises of a table beyond looking it up."""

import io

import numpy as np
import pytest

from ...data import designed_ids
from . import layer_oracle as oracle


@pytest.mark.claim("FIELD-43")
def test_a_saved_table_is_loaded_again(module, evidence):
    """The state goes through a file, the table is set to zero, and the state is loaded: the table, and a lookup in it."""
    import torch

    embedding = module.embedding()
    before = embedding.weight.detach().numpy().copy()
    file = io.BytesIO()
    torch.save(module.call("state_dict", embedding.state_dict), file)
    file.seek(0)
    try:
        with torch.no_grad():
            embedding.weight.zero_()
        module.call("load_state_dict", embedding.load_state_dict, torch.load(file, weights_only=True))
        evidence.equal(embedding.weight.detach().numpy(), before)
        ids = designed_ids(len(before))
        evidence.equal(embedding(torch.from_numpy(ids)).detach().numpy(), before[ids], given=ids)
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
        return weight.grad.to_dense().numpy() if sparse else weight.grad.numpy()

    sparse, dense = module.call("sparse", gradient, True), module.call("dense", gradient, False)
    kept = np.array(ids) != (-1 if padding is None else padding)
    evidence.equal(sparse, dense)
    evidence.equal(dense.astype(np.float64), oracle.sums(np.array(ids)[kept], signs[kept], len(table)))
