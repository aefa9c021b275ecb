"""The BertModel itself: what its parts do, and where they stand."""

import copy
from contextlib import contextmanager

import numpy as np
import pytest

from ... import bounds
from ...data import generator
from ...subjects.torch_stack import to_numpy
from .inputs import small


def ids(seed, rows=2, length=7):
    """[rows, length] ids that every vocabulary has, drawn from the seed."""
    import torch

    return torch.from_numpy(generator(seed, "ids of a model").integers(3, 30, size=(rows, length)))


def run(module, part, **inputs):
    """What a part of the model answers, without gradients."""
    import torch

    with torch.inference_mode():
        return module.call("forward", part, **inputs)


@contextmanager
def watched(parts):
    """Keeps what goes into and comes out of each part (name -> module) while the model runs: name -> (input, output)."""
    seen = {}

    def keep(name):
        def hook(_, args, kwargs, output):
            given = next(iter([*args, *kwargs.values()]), None)
            seen[name] = given, output[0] if isinstance(output, tuple) else output
        return hook

    handles = [part.register_forward_hook(keep(name), with_kwargs=True) for name, part in parts.items()]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


@pytest.mark.claim("INPUT-02")
def test_dropout_is_off_in_evaluation(module, evidence, seed):
    """The same ids twice; in training mode a copy drops the configured share of the numbers, others each time."""
    import torch

    model = module.module()
    first, second = (to_numpy(run(module, model.embeddings, input_ids=ids(seed))) for _ in range(2))
    evidence.equal(second, first)
    training = copy.deepcopy(model.embeddings, {id(one): one for one in model.embeddings.parameters()}).train()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        first, second = (to_numpy(run(module, training, input_ids=ids(seed, 8, 64))) for _ in range(2))
    share = model.config.hidden_dropout_prob
    evidence.differs(first, second, 0.1, "a tenth of the size of the numbers of a layer-normalised vector, about 1")
    spread = bounds.Bound(5 * (share * (1 - share) / first.size) ** 0.5, "five standard deviations of such a share")
    evidence.close(np.mean(first == 0), share, spread)


@pytest.mark.claim("INPUT-04")
def test_types_are_zero_unless_given(module, evidence, seed):
    """Types of zero against no types."""
    given = ids(seed)
    embeddings = module.module().embeddings
    without = run(module, embeddings, input_ids=given)
    evidence.equal(to_numpy(run(module, embeddings, input_ids=given, token_type_ids=given * 0)), to_numpy(without))


@pytest.mark.claim("INPUT-05")
def test_types_matter(module, evidence, seed):
    """All tokens of type 1 against all of type 0: every vector differs."""
    given = ids(seed)
    first, second = (to_numpy(run(module, module.module().embeddings, input_ids=given, token_type_ids=given * 0 + kind)[0])
                     for kind in (0, 1))
    for zero, one in zip(first, second, strict=True):
        evidence.differs(zero, one, 0.05, "a twentieth of the size of the numbers of a layer-normalised vector, about 1")


@pytest.mark.claim("POS-03")
def test_positions_are_added(module, evidence, seed):
    """What reaches the layer normalisation, less the looked-up row, is the row of the position and of type 0."""
    embeddings, given = module.module().embeddings, ids(seed)
    with watched({"norm": embeddings.LayerNorm}) as seen:
        run(module, embeddings, input_ids=given)
    total = seen["norm"][0].float().numpy().astype(np.float64)
    tables = (getattr(embeddings, f"{name}_embeddings").weight.detach() for name in ("word", "position", "token_type"))
    rows, position, kind = (table[index].float().numpy().astype(np.float64)
                            for table, index in zip(tables, (given, slice(given.shape[1]), 0), strict=True))
    added, size = position + kind, np.abs(rows) + np.abs(position) + np.abs(kind)
    evidence.equal(list(total.shape), list(rows.shape))
    precision = str(seen["norm"][0].dtype).removeprefix("torch.")
    rounding = bounds.gamma(2, bounds.UNIT_ROUNDOFF[precision])
    evidence.close(total - rows, np.broadcast_to(added, rows.shape),
                   bounds.Bound(rounding * size, f"rounding of a sum of 3 terms in {precision}"))


@pytest.mark.claim("POS-05")
def test_the_position_table_is_learned(module, evidence):
    """It is one of the model's parameters, as wide as the word table, with a row for every position."""
    model = module.module()
    table = model.embeddings.position_embeddings.weight
    evidence.equal([name for name, parameter in model.named_parameters() if parameter is table],
                   ["embeddings.position_embeddings.weight"])
    evidence.equal(list(table.shape), [model.config.max_position_embeddings, model.config.hidden_size])


@pytest.mark.claim("POS-05")
def test_every_position_learns(module, evidence, seed):
    """The rows of the position table that have a gradient when vectors of seven tokens are trained: the first seven."""
    import torch

    embeddings = module.module().embeddings
    table = embeddings.position_embeddings.weight
    given = ids(seed)
    vectors = module.call("forward", embeddings, input_ids=given)
    learned = torch.autograd.grad(vectors[..., 0].sum(), table, allow_unused=True)[0] if table.requires_grad else None
    rows = [] if learned is None else learned.abs().sum(dim=1).nonzero().flatten().tolist()
    evidence.equal(rows, list(range(given.shape[1])))


@pytest.mark.claim("DMODEL-02")
def test_blocks_take_and_give_the_width(module, evidence, seed):
    """Every block and both halves of it take and give one width; only inside the feed-forward half is there another."""
    model = module.module()
    parts = {"embeddings": model.embeddings}
    for i, layer in enumerate(model.encoder.layer):
        parts |= {f"layer {i}": layer, f"attention {i}": layer.attention, f"inner {i}": layer.intermediate,
                  f"feed-forward {i}": layer.output}
    with watched(parts) as seen:
        run(module, model, input_ids=ids(seed))
    width, inner = model.config.hidden_size, model.config.intermediate_size
    found = {name: output.shape[-1] for name, (_, output) in seen.items()}
    evidence.equal(found, {name: inner if name.startswith("inner") else width for name in parts})
    taken = {name: seen[name][0].shape[-1] for name in parts if name.startswith(("layer", "attention", "inner"))}
    evidence.equal(taken, dict.fromkeys(taken, width))


@pytest.mark.claim("DMODEL-03")
def test_another_width_is_refused(module, evidence, seed):
    """Vectors one number too narrow cannot be added to positions, nor enter the first layer; width 1 is broadcast."""
    import torch

    model = module.module()
    rows = generator(seed, "vectors of a model").standard_normal((2, 7, model.config.hidden_size))
    vectors = torch.from_numpy(rows).to(model.embeddings.LayerNorm.weight.dtype)
    narrow, kinds = vectors[..., :-1], (RuntimeError, ValueError)
    evidence.refuses(lambda: run(module, model.embeddings, inputs_embeds=narrow), kinds)
    evidence.refuses(lambda: run(module, model.encoder.layer[0], hidden_states=narrow), kinds)
    one = run(module, model.embeddings, inputs_embeds=vectors[..., :1])
    evidence.equal(one.shape == torch.Size(vectors.shape), True)


@pytest.mark.claim("DMODEL-06")
def test_the_first_layer_takes_the_embedding(module, evidence, seed):
    """Bit for bit; and with that output set to zero, nothing of the ids is left in the last states."""
    model = module.module()
    with watched({"embeddings": model.embeddings, "layer": model.encoder.layer[0]}) as seen:
        run(module, model, input_ids=ids(seed))
    evidence.equal(seen["layer"][0].float().numpy(), seen["embeddings"][1].float().numpy())
    handle = model.embeddings.register_forward_hook(lambda _, args, output: output * 0)
    try:
        first, second = (run(module, model, input_ids=given).last_hidden_state.float().numpy()
                         for given in (ids(seed), ids(seed).flip(1)))
    finally:
        handle.remove()
    evidence.equal(first, second)


@pytest.mark.claim("DMODEL-07")
@pytest.mark.parametrize("width", [32, 64, 512])
def test_the_parts_fit_at_any_width(module, evidence, seed, width):
    """A fresh model of this width runs from ids to states; one whose heads do not divide its width is refused."""
    model = module.module()
    made = module.call("the constructor", small, model, width)
    states = run(module, made, input_ids=ids(seed)).last_hidden_state
    evidence.equal(list(states.shape), [2, 7, width])
    evidence.refuses(lambda: module.call("the constructor", small, model, width, 7), (ValueError, AssertionError))


@pytest.mark.claim("PARAM-04")
def test_the_name_of_the_word_table(module, evidence):
    """The name by which the model holds its input embeddings."""
    model = module.module()
    table = model.get_input_embeddings().weight
    evidence.equal([name for name, parameter in model.named_parameters() if parameter is table],
                   ["embeddings.word_embeddings.weight"])


@pytest.mark.claim("PARAM-05")
def test_how_the_layer_prints(module, evidence):
    """The input embeddings of the documents' model."""
    evidence.equal(repr(module.embedding()), "Embedding(250037, 384, padding_idx=0)")
