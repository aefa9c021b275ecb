"""What PyTorch and Transformers promise about the table beyond its values."""

import copy

import numpy as np
import pytest

from ...data import texts
from ...subjects.torch_stack import to_numpy


@pytest.mark.claim("LOOKUP-05")
@pytest.mark.parametrize("dtype", ["float32", "bool", "int16"])
def test_ids_of_other_types_raise_runtime_error(module, evidence, dtype):
    """PyTorch takes int32 and int64 only."""
    import torch

    embedding = module.embedding()
    evidence.refuses(lambda: module.call("forward", embedding, torch.ones(2).to(getattr(torch, dtype))), (RuntimeError,))


@pytest.mark.claim("LOOKUP-06")
def test_the_table_is_a_parameter(module, evidence):
    """A leaf parameter, the same object at the same address with the same values after two lookups."""
    import torch

    embedding = module.embedding()
    table = embedding.weight
    evidence.equal(isinstance(table, torch.nn.Parameter) and table.is_leaf, True)
    address, before = table.data_ptr(), to_numpy(table).copy()
    for ids in ([0, 1], [1]):
        embedding(torch.tensor(ids))
        evidence.equal(embedding.weight is table and table.data_ptr() == address, True)
    evidence.equal(to_numpy(table), before)


@pytest.mark.claim("LOOKUP-11")
@pytest.mark.parametrize("ids", ["猫", [1, 2]], ids=["text", "list"])
def test_what_is_no_tensor_raises_type_error(module, evidence, ids):
    """A word and a list of numbers; a tensor of the same ids gives floating-point vectors."""
    import torch

    embedding = module.embedding()
    evidence.refuses(lambda: module.call("forward", embedding, ids), (TypeError,))
    evidence.equal(torch.is_floating_point(embedding(torch.tensor([1, 2]))), True)


@pytest.mark.claim("LOOKUP-12")
def test_the_layer_has_one_parameter_and_no_buffer(module, evidence):
    """The only tensor of the layer is its table [V, d]."""
    embedding = module.embedding()
    shapes = [(name, list(parameter.shape)) for name, parameter in embedding.named_parameters()]
    evidence.equal(shapes, [("weight", [embedding.num_embeddings, embedding.embedding_dim])])
    evidence.equal(sorted(embedding.state_dict()), ["weight"])


@pytest.mark.claim("LOOKUP-09")
def test_the_named_table_is_the_one_in_use(module, encoder, evidence):
    """In a copy of the model, zeroing one row changes the states of texts with that id, and of no other text."""
    import torch

    own_table = module.embedding().weight
    # Nothing else is written to, so it need not be copied.
    shared = {id(parameter): parameter for parameter in module.module().parameters() if parameter is not own_table}
    model = copy.deepcopy(module.module(), shared)
    ids = encoder.token_ids([texts()["lookup"], texts()["pooling"]])
    own, other = pair = np.stack([row[:min(map(len, ids))] for row in ids])  # of one length, so that nothing is padded
    chosen = next(int(i) for i in own[1:] if i not in other)

    def states():
        with torch.inference_mode():
            return to_numpy(model(input_ids=torch.from_numpy(pair)).last_hidden_state)

    evidence.equal(chosen < len(model.get_input_embeddings().weight), True)
    before = states()
    with torch.no_grad():
        model.get_input_embeddings().weight[chosen] = 0
    after = states()
    evidence.differs(after[0], before[0], 1e-2, "a hundredth of the size of a layer-normalised state, about 1")
    evidence.equal(after[1], before[1])


@pytest.mark.claim("LOOKUP-10")
def test_the_table_is_found_once_by_identity(module, encoder, evidence):
    """Exactly one name of a parameter stands for the very object, and it has a row for every id in use."""
    model = module.module()
    table = model.get_input_embeddings().weight
    names = [name for name, parameter in model.named_parameters() if parameter is table]
    evidence.equal(len(names), 1)
    ids = np.concatenate(encoder.token_ids([texts()["lookup"]]))
    evidence.equal(bool(ids.max() < len(table)), True)
