"""Faulty and sound modules of PyTorch."""

import copy

from ...proof import altered, fault, sound


def of_class(module, **members):
    """The facet `module` around an embedding with the same table, of a class that replaces some members."""
    import torch

    embedding = module.module()
    kind = type("Embedding", (type(embedding),), members)
    made = kind(*embedding.weight.shape)
    with torch.no_grad():
        made.weight.copy_(embedding.weight)
    return altered(module, module=lambda: made)


@fault("module", ["TRAIN-01"])
def table_frozen(module):
    """The layer was made from a table that stays frozen, as from_pretrained does unless told otherwise."""
    made = copy.deepcopy(module.module())
    made.weight.requires_grad_(False)
    return altered(module, module=lambda: made)


@fault("module", ["TRAIN-01"])
def table_as_buffer(module):
    """The table is a buffer, which no optimiser is given."""
    made = copy.deepcopy(module.module())
    table = made.weight.detach().clone().requires_grad_()
    del made.weight
    made.register_buffer("weight", table)
    return altered(module, module=lambda: made)


@fault("module", ["GRAD-04"])
def output_cut_off(module):
    """The output is cut off from the table and begins a graph of its own."""
    import torch

    return of_class(module, forward=lambda self, ids: torch.nn.Embedding.forward(self, ids).detach().requires_grad_())


@fault("module", ["GRAD-04"])
def output_always_retained(module):
    """The output keeps its gradient unasked."""
    import torch

    def forward(self, ids):
        output = torch.nn.Embedding.forward(self, ids)
        if output.requires_grad:
            output.retain_grad()
        return output
    return of_class(module, forward=forward)


@fault("module", ["GRAD-07"])
def cleared_to_zeros(module):
    """Clearing leaves a gradient of zeros."""
    import torch

    return of_class(module, zero_grad=lambda self, set_to_none=True: torch.nn.Module.zero_grad(self, set_to_none=False))


@fault("module", ["GRAD-07"])
def never_cleared(module):
    """Clearing does nothing."""
    return of_class(module, zero_grad=lambda self, set_to_none=True: None)


@fault("module", ["SGD-07"])
def scale_trained_too(module):
    """A trainable factor belongs to the layer, and any optimiser of its parameters moves it."""
    import torch

    made = copy.deepcopy(module.module())
    made.register_parameter("factor", torch.nn.Parameter(torch.ones(())))
    return altered(module, module=lambda: made)


@fault("module", ["PAD-01", "PAD-02"],
       source="pytorch/pytorch#6411, fastai/fastai#2517, microsoft/Graphormer#41, pytorch/pytorch#1812, "
              "pytorch/pytorch#6495")
def initialised_after_padding(module):
    """The table is drawn after the padding row was set to zero."""
    import torch

    def reset_parameters(self):
        torch.nn.init.normal_(self.weight)
    return of_class(module, reset_parameters=reset_parameters)


@fault("module", ["SGD-02"])
def another_initialisation(module):
    """New tables are drawn evenly from -1 to 1."""
    import torch

    def reset_parameters(self):
        torch.nn.init.uniform_(self.weight, -1, 1)
        self._fill_padding_idx_with_zero()
    return of_class(module, reset_parameters=reset_parameters)


@fault("module", ["PAD-03"], source="pytorch/pytorch#3506")
def padding_masked_only_when_dense(module):
    """Sparse gradients do not know the padding id."""
    import torch

    def forward(self, ids):
        known = None if self.sparse else self.padding_idx
        return torch.nn.functional.embedding(ids, self.weight, known, sparse=self.sparse)
    return of_class(module, forward=forward)


@fault("module", ["PAD-03"], source="pytorch/pytorch#26302")
def padding_unknown_in_long_batches(module):
    """Beyond 768 ids the padding id is not known."""
    import torch

    def forward(self, ids):
        known = None if ids.numel() > 768 else self.padding_idx
        return torch.nn.functional.embedding(ids, self.weight, known, sparse=self.sparse)
    return of_class(module, forward=forward)


@fault("module", ["PAD-06"])
def padding_id_zero_by_default(module):
    """A new layer takes id 0 for padding unless told otherwise."""
    import torch

    def made(self, rows, width, padding_idx=0, **others):
        torch.nn.Embedding.__init__(self, rows, width, padding_idx, **others)
    return of_class(module, __init__=made)


@fault("module", ["PAD-07"], source="pytorch/pytorch#53368")
def zeros_at_padding(module):
    """The forward pass gives zeros at padding, whatever the row holds."""
    import torch

    def forward(self, ids):
        output = torch.nn.Embedding.forward(self, ids)
        return output if self.padding_idx is None else output * (ids != self.padding_idx)[..., None]
    return of_class(module, forward=forward)


# --- sound variants ---------------------------------------------------------------------------------------------------


@sound("module")
def padding_row_of_ones(module):
    """A layer from a table of ones, with a padding id and trained further."""
    made = type(module.module()).from_pretrained(module.module().weight.detach() * 0 + 1, freeze=False, padding_idx=0)
    return altered(module, module=lambda: made)


@sound("module", source="tensorflow/tensorflow#21243")
def sparse_module(module):
    """A layer whose gradients are sparse."""
    made = copy.deepcopy(module.module())
    made.sparse = True
    return altered(module, module=lambda: made)
