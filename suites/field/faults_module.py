"""Modules that treat looked-up vectors unlike ids, scale by the wrong frequency, or forget what they were when resized."""

from ...proof import altered, fault
from ..encoder_input.faults import with_forward


@fault("module", ["FIELD-87"], base="bundled",
       source="vllm-project/vllm#25922, huggingface/transformers#11402, huggingface/transformers#21089")
def no_positions_for_vectors(encoder):
    """Where vectors come in the place of ids, positions and types are left out."""
    def forward(usual, self, inputs_embeds=None, **inputs):
        if inputs_embeds is None:
            return usual(self, **inputs)
        return self.dropout(self.LayerNorm(inputs_embeds))
    return with_forward(encoder, "embeddings", forward)


@fault("module", ["FIELD-87"], base="bundled", source="vllm-project/vllm#35026, vllm-project/vllm#34812")
def scale_for_ids_only(encoder):
    """Looked-up rows are scaled where the model looks them up itself, and not where they are handed over."""
    def forward(usual, self, input_ids=None, inputs_embeds=None, **inputs):
        rows = self.word_embeddings(input_ids) * 4 if inputs_embeds is None else inputs_embeds
        return usual(self, inputs_embeds=rows, **inputs)
    return with_forward(encoder, "embeddings", forward)


@fault("module", ["FIELD-87"], base="bundled", source="huggingface/transformers#19265, huggingface/transformers#36537")
def padding_counted_in_vectors_only(encoder):
    """Positions pass over padding, which can be seen in ids and not in vectors."""
    def forward(usual, self, input_ids=None, inputs_embeds=None, position_ids=None, **inputs):
        if input_ids is not None:
            real = (input_ids != 0).long()
            position_ids = (real.cumsum(dim=1) * real - real).clamp(min=0)
        return usual(self, input_ids=input_ids, inputs_embeds=inputs_embeds, position_ids=position_ids, **inputs)
    return with_forward(encoder, "embeddings", forward)


def with_frequency(module, divide):
    """The facet `module` whose lookup divides a gradient [V, d] in another way: `divide(counts)` [V] gives by what."""
    import torch

    class Lookup(torch.autograd.Function):
        @staticmethod
        def forward(context, weight, ids):
            context.ids, context.shape = ids, weight.shape
            return weight[ids]

        @staticmethod
        def backward(context, gradient):
            total = torch.zeros(context.shape, dtype=gradient.dtype).index_add_(0, context.ids, gradient)
            counts = torch.bincount(context.ids, minlength=len(total)).clamp(min=1)
            return total / divide(counts)[:, None], None

    def embedding(ids, weight, scale_grad_by_freq=False, **others):
        if scale_grad_by_freq:
            return Lookup.apply(weight, ids)
        return torch.nn.functional.embedding(ids, weight, **others)

    def library(name):
        return embedding if name == "torch.nn.functional.embedding" else module.library(name)
    return altered(module, library=library)


@fault("module", ["FIELD-88"], source="pytorch/pytorch#190061, pytorch/pytorch#185119")
def frequency_ignored(module):
    """Scaling by frequency is accepted, and the gradient is the plain sum all the same."""
    return with_frequency(module, lambda counts: counts * 0 + 1)


@fault("module", ["FIELD-88"], source="pytorch/pytorch#190063")
def frequency_of_the_row_before(module):
    """The sum of an id is divided by how often the id before it occurs."""
    return with_frequency(module, lambda counts: counts.roll(1))


def with_resize(encoder, change):
    """The facet `module` of a class whose models are changed after they were resized."""
    import copy

    model = copy.copy(encoder.module())
    kind = type(model)

    def resize_token_embeddings(self, *args, **kwargs):
        before = self.get_input_embeddings()
        kept = before.weight.requires_grad, before.padding_idx
        made = kind.resize_token_embeddings(self, *args, **kwargs)
        change(self.get_input_embeddings(), *kept)
        return made
    model.__class__ = type(kind.__name__, (kind,), {"resize_token_embeddings": resize_token_embeddings})
    return altered(encoder, module=lambda: model)


@fault("module", ["FIELD-89"], base="bundled", source="huggingface/transformers#26861")
def trained_again_after_resizing(encoder):
    """A table that was frozen is trained again once it was made longer."""
    return with_resize(encoder, lambda table, trained, padding: table.weight.requires_grad_(True))


@fault("module", ["FIELD-89"], base="bundled", source="huggingface/transformers#3940")
def padding_lost_by_resizing(encoder):
    """The longer table knows of no padding."""
    return with_resize(encoder, lambda table, trained, padding: setattr(table, "padding_idx", None))


@fault("module", ["FIELD-89"], base="bundled")
def rows_drawn_anew_by_resizing(encoder):
    """The longer table begins with new numbers throughout."""
    import torch

    def change(table, trained, padding):
        with torch.no_grad():
            table.weight.copy_(torch.arange(table.weight.numel()).reshape(table.weight.shape))
    return with_resize(encoder, change)


@fault("module", ["FIELD-89"], base="bundled", source="huggingface/transformers#35075")
def new_rows_all_the_same(encoder):
    """All rows that are added are the mean of the old ones."""
    import torch

    def change(table, trained, padding):
        with torch.no_grad():
            table.weight[-3:] = table.weight[:-3].mean(dim=0)
    return with_resize(encoder, change)
