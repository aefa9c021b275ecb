"""What PyTorch promises about training a table."""

import warnings

import pytest


def backward(module, embedding):
    """A backward pass over ids 1, 0, 1 with an output gradient of ones."""
    import torch

    module.call("backward", lambda: embedding(torch.tensor([1, 0, 1])).sum().backward())


def taken(embedding):
    """The table's gradient, which is None afterwards: models are shared with other tests."""
    gradient, embedding.weight.grad = embedding.weight.grad, None
    return gradient


def dense(gradient):
    """Its first two rows as an array."""
    return gradient.to_dense()[:2].float().numpy().copy()


@pytest.mark.claim("TRAIN-01")
def test_the_table_is_trained(module, evidence):
    """A parameter of the module, by identity, that asks for a gradient and gets one of its own shape."""
    weight = module.embedding().weight
    evidence.equal(weight.requires_grad, True)
    evidence.equal(sum(parameter is weight for parameter in module.module().parameters()), 1)
    backward(module, module.embedding())
    gradient = taken(module.embedding())
    evidence.equal(gradient is not None and gradient.shape == weight.shape, True)


@pytest.mark.claim("GRAD-04")
@pytest.mark.parametrize("retained", [False, True], ids=["not retained", "retained"])
def test_the_output_keeps_its_gradient_only_when_asked(module, evidence, retained):
    """The output is no leaf: after the backward pass it has a gradient only if that was retained; the table has one."""
    import torch

    embedding = module.embedding()
    output = embedding(torch.tensor([1, 0, 1]))
    evidence.equal(output.is_leaf, False)
    if retained:
        output.retain_grad()
    output.sum().backward()
    evidence.equal(taken(embedding) is not None, True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns that there will be none
        evidence.equal(output.grad is not None, retained)


@pytest.mark.claim("GRAD-07")
def test_cleared_gradients_are_none(module, evidence):
    """After clearing there is no gradient, and a second backward pass gives the same one; otherwise twice that."""
    embedding = module.embedding()
    backward(module, embedding)
    evidence.equal(embedding.weight.grad is not None, True)
    once = dense(taken(embedding))
    for cleared in (True, False):
        backward(module, embedding)
        if cleared:
            embedding.zero_grad(set_to_none=True)
            evidence.equal(embedding.weight.grad is None, True)
        backward(module, embedding)
        evidence.equal(dense(taken(embedding)), once if cleared else 2 * once)


@pytest.mark.claim("SGD-07")
def test_plain_descent_has_the_table_alone(module, evidence):
    """SGD over the layer's parameters: the table is all that it holds, and nothing but the rate is set."""
    import torch

    embedding = module.embedding()
    evidence.equal([parameter is embedding.weight for parameter in embedding.parameters()], [True])
    groups = torch.optim.SGD(embedding.parameters(), lr=0.25).param_groups
    evidence.equal([[group[key] for key in ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")]
                    for group in groups], [[0.25, 0, 0, 0, False, False]])
