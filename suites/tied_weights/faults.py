"""Faulty and sound tied models. `model` is a TorchTiedModel of its own for each specimen, `model.model` its nn.Module."""

import numpy as np

from ...proof import altered, fault, sound


def own_head(model, change=lambda weight: weight):
    """Give the output projection a parameter of its own, changed from the table."""
    import torch

    head = model.model.get_output_embeddings()
    head.weight = torch.nn.Parameter(change(head.weight.detach().clone()))
    return model


def after_operation(model, operation, change):
    """Only after one operation, the copy is changed."""
    return altered(model, after=lambda name: change(model.after(name)) if name == operation else model.after(name))


def with_loss(model, loss):
    """The gradient is that of another loss, a function of the states and the table as tensors."""
    def gradient(ids, targets):
        import torch

        from ...subjects.torch_tied import sequences

        table = model.model.get_input_embeddings().weight
        states = model.model.base_model(sequences(ids)).last_hidden_state.flatten(0, 1)
        scores = loss(states, table)
        total = torch.nn.functional.cross_entropy(scores, torch.from_numpy(targets).flatten())
        return torch.autograd.grad(total, table)[0].numpy()
    return altered(model, gradient=gradient)


@fault("tied_model", ["TIED-01", "TIED-03"], source="huggingface/accelerate#993, facebookresearch/lingua#75")
def equal_values_not_shared(model):
    """The output has a table of its own that began with the same values."""
    return own_head(model)


@fault("tied_model", ["TIED-07", "TIED-03"], source="NVIDIA/Megatron-LM#656")
def two_copies_written_together(model):
    """There are two tables; writing goes to both, but each learns from its own use only."""
    import torch

    own_head(model)

    def assign(table):
        with torch.no_grad():
            model.assign(table)
            model.model.get_output_embeddings().weight.copy_(torch.from_numpy(table))
    return altered(model, assign=assign)


@fault("tied_model", ["TIED-07"])
def step_replaces_the_table(model):
    """A step puts a new parameter in the place of the input table, and the output keeps the old one."""
    import torch

    def step(*args):
        model.step(*args)
        lookup = model.model.get_input_embeddings()
        lookup.weight = torch.nn.Parameter(lookup.weight.detach().clone())
    return altered(model, step=step)


@fault("tied_model", ["TIED-01", "TIED-03"])
def columns_of_logits_moved(model):
    """Every logit stands one place too far to the right."""
    return altered(model, logits=lambda ids: np.roll(model.logits(ids), 1, axis=-1))


@fault("tied_model", ["TIED-07"], size="subtle")
def output_scaled_after_training(model):
    """A step leaves a factor on the output that is off by one part in a hundred thousand."""
    steps = []

    def step(*args):
        steps.append(model.step(*args))

    def logits(ids):
        scores = model.logits(ids)
        return scores * scores.dtype.type(1 + (1e-5 if steps else 0))
    return altered(model, step=step, logits=logits)


@fault("tied_model", ["TIED-02"])
def counted_by_name(model):
    """Numbers are counted in the state dict, where the shared table stands under two names."""
    def counted(one):
        return altered(one, parameter_count=lambda: sum(t.numel() for t in one.model.state_dict().values()))
    return altered(counted(model), after=lambda name: counted(model.after(name)))


@fault("tied_model", ["TIED-02"])
def twin_with_bias(model):
    """The untied model also has a bias at its output, so that the difference is one number a row too large."""
    def biased(twin):
        import torch

        head = twin.model.get_output_embeddings()
        head.bias = torch.nn.Parameter(torch.zeros(len(head.weight)))
        return twin
    return after_operation(model, "untie", biased)


@fault("tied_model", ["TIED-03", "TIED-01"])
def output_scaled_by_width(model):
    """Logits are divided by the root of the width, as T5 does when it is tied."""
    return altered(model, logits=lambda ids: model.logits(ids) / np.float32(8) ** np.float32(0.5))


@fault("tied_model", ["TIED-03"])
def bias_at_the_output(model):
    """A bias is added to the logits."""
    def logits(ids):
        scores = model.logits(ids)
        return scores + np.linspace(-1, 1, scores.shape[-1], dtype=scores.dtype)
    return altered(model, logits=logits)


@fault("tied_model", ["TIED-03", "TIED-01", "TIED-04"], size="subtle")
def output_slightly_scaled(model):
    """Logits are too large by one part in a hundred thousand."""
    def scaled(one):
        return altered(one, logits=lambda ids: one.logits(ids) * np.float32(1 + 1e-5))
    return altered(scaled(model), after=lambda name: scaled(model.after(name)))


@fault("tied_model", ["TIED-03", "TIED-06"], source="verl-project/verl#7834")
def head_gradient_detached(model):
    """The table receives from its use at the input only."""
    return with_loss(model, lambda states, table: states @ table.detach().T)


@fault("tied_model", ["TIED-03"])
def output_half_only(model):
    """The table receives from its use at the output only."""
    return with_loss(model, lambda states, table: states.detach() @ table.T)


@fault("tied_model", ["TIED-03", "TIED-06"], source="NVIDIA/Megatron-LM#844")
def halves_averaged(model):
    """The gradients of both uses are averaged where they must be added."""
    return altered(model, gradient=lambda *args: model.gradient(*args) / 2)


@fault("tied_model", ["TIED-03", "TIED-06"], size="subtle")
def gradient_slightly_small(model):
    """The gradient is too small by one part in five thousand."""
    return altered(model, gradient=lambda *args: model.gradient(*args) * np.float32(1 - 2e-4))


@fault("tied_model", ["TIED-03"])
def only_read_rows_have_a_gradient(model):
    """Rows that no id reads receive nothing, as if the gradient were a sparse one of the input side."""
    def gradient(ids, targets):
        found = model.gradient(ids, targets)
        return np.where(np.isin(np.arange(len(found)), ids)[:, None], found, 0).astype(found.dtype)
    return altered(model, gradient=gradient)


@fault("tied_model", ["TIED-04"])
def tied_for_good(model):
    """Asked to untie, the model stays tied."""
    return after_operation(model, "untie", lambda twin: model.after("deepcopy"))


@fault("tied_model", ["TIED-04"], source="huggingface/transformers#35141")
def twin_with_random_head(model):
    """The output projection of the untied model starts anew."""
    return after_operation(model, "untie", lambda twin: own_head(twin, lambda weight: weight.flip(0)))


@fault("tied_model", ["TIED-06"], source="facebookresearch/fairseq#4633")
def padding_row_frozen(model):
    """The row of padding is kept as it is: its gradient is set to zero, and a step does not move it."""
    def gradient(*args):
        found = model.gradient(*args).copy()
        found[0] = 0
        return found

    def step(*args):
        before = model.table().copy()
        model.step(*args)
        after = model.table().copy()
        after[0] = before[0]
        model.assign(after)
    return altered(model, gradient=gradient, step=step)


@fault("tied_model", ["TIED-06"])
def padding_row_reset_by_step(model):
    """The gradient is right, but after each step the row of padding is put back."""
    def step(*args):
        before = model.table().copy()
        model.step(*args)
        after = model.table().copy()
        after[0] = before[0]
        model.assign(after)
    return altered(model, step=step)


@fault("tied_model", ["TIED-08"])
def untied_by_copy(model):
    """A copy has two tables of equal values."""
    return after_operation(model, "deepcopy", own_head)


@fault("tied_model", ["TIED-08"])
def copy_shares_with_the_original(model):
    """A copy is the model itself."""
    return altered(model, after=lambda name: model if name == "deepcopy" else model.after(name))


@fault("tied_model", ["TIED-08"], source="verl-project/verl#7834")
def untied_by_move(model):
    """A change of precision makes two tables of equal values."""
    return after_operation(model, "to float64", own_head)


@fault("tied_model", ["TIED-08"], source="hiyouga/LlamaFactory#10813")
def state_dict_loaded_into_two(model):
    """The state dict is loaded into a model that is not tied."""
    return after_operation(model, "state dict", own_head)


@fault("tied_model", ["TIED-08"],
       source="huggingface/transformers#43429, huggingface/accelerate#1772, jxmorris12/vec2text#94, "
              "huggingface/transformers#43159")
def head_random_after_load(model):
    """After loading, the output projection is a new one with random numbers."""
    return after_operation(model, "save and load", lambda loaded: own_head(loaded, lambda weight: weight.flip(0)))


@fault("tied_model", ["TIED-08"], source="huggingface/transformers#48154, huggingface/transformers#45005")
def loaded_from_the_wrong_table(model):
    """After loading, both ends hold another matrix of the file: tied, but with the wrong numbers."""
    def wrong(loaded):
        loaded.assign(np.resize(model.model.transformer.wpe.weight.detach().numpy(), loaded.table().shape))
        return loaded
    return after_operation(model, "save and load", wrong)


@fault("tied_model", ["TIED-04"], source="huggingface/peft#2777")
def untied_head_overwritten_on_loading(model):
    """The file of an untied model says that it is tied, so that loading puts the input table in the place of its head."""
    def tied(loaded):
        loaded.model.get_output_embeddings().weight = loaded.model.get_input_embeddings().weight
        return loaded
    return after_operation(model, "untie", lambda twin: after_operation(twin, "save and load", tied))


@fault("tied_model", ["TIED-08"], source="huggingface/peft#2018")
def adapters_of_both_ends_merged_when_saved(model):
    """What an adapter adds is written into the file for each end that uses the table, so that one table gets it twice."""
    def merged(loaded):
        table = loaded.table()
        loaded.assign(table + np.outer(np.cos(np.arange(len(table))), np.ones(table.shape[1])).astype(table.dtype) / 8)
        return loaded
    return after_operation(model, "save and load", merged)


@fault("tied_model", ["TIED-08"], source="verl-project/verl#7834")
def only_input_gradient_after_move(model):
    """After a change of precision the table is shared, but receives from its use at the input only."""
    return after_operation(model, "to float64", lambda double: with_loss(
        double, lambda states, table: states @ table.detach().T))


@fault("tied_model", ["TIED-08"], size="subtle")
def output_slightly_scaled_by_move(model):
    """In double precision, logits are too large by one part in 10^14."""
    return after_operation(model, "to float64", lambda double: altered(
        double, logits=lambda ids: double.logits(ids) * (1 + 1e-14)))


@fault("tied_model", ["TIED-09"])
def resize_unties(model):
    """After resizing, both ends have the new size and equal values, but are two tables."""
    return after_operation(model, "resize", own_head)


@fault("tied_model", ["TIED-09"], source="huggingface/transformers#1730, vllm-project/vllm#20843, huggingface/transformers#851")
def head_not_resized(model):
    """Only the input table becomes longer."""
    return after_operation(model, "resize", lambda longer: altered(
        longer, logits=lambda ids: longer.logits(ids)[..., :len(model.table())]))


@fault("tied_model", ["TIED-09"], source="huggingface/transformers#35141")
def resize_draws_all_rows_anew(model):
    """After resizing, the old rows have new numbers too."""
    def drawn(longer):
        longer.assign(np.random.default_rng(0).standard_normal(longer.table().shape).astype(np.float32))
        return longer
    return after_operation(model, "resize", drawn)


@fault("tied_model", ["TIED-09"], source="huggingface/transformers#31835")
def resize_loses_the_scale(model):
    """Looked-up rows are multiplied by the root of the width, and after resizing by nothing."""
    def unscaled(longer):
        longer.model.get_input_embeddings()._forward_hooks.clear()
        return longer
    return after_operation(input_scaled(model), "resize", unscaled)


@fault("tied_model", ["TIED-09"])
def resize_changes_nothing(model):
    """Asked to resize, the model stays as it was."""
    return after_operation(model, "resize", lambda longer: model.after("deepcopy"))


@fault("tied_model", ["TIED-09"], size="subtle")
def resize_shifts_the_output_slightly(model):
    """After resizing, logits are too large by one part in a hundred thousand."""
    return after_operation(model, "resize", lambda longer: altered(
        longer, logits=lambda ids: longer.logits(ids) * np.float32(1 + 1e-5)))


# --- sound variants ----------------------------------------------------------------------------------------------------


@sound("tied_model")
def llama_with_padding(model):
    """A small tied Llama, which keeps its padding row out of the input side."""
    import torch
    from transformers.models.llama.configuration_llama import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaForCausalLM

    config = LlamaConfig(vocab_size=19, hidden_size=8, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
                         max_position_embeddings=16, pad_token_id=0, tie_word_embeddings=True)
    config._attn_implementation = "eager"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return type(model)(LlamaForCausalLM(config).eval())


@sound("tied_model", declares={"precision": "float64"})
def in_float64(model):
    """All numbers are double precision."""
    model.model.double()
    return model


@sound("tied_model")
def input_scaled(model):
    """Looked-up rows are multiplied by the root of the width before the first layer, as Gemma does."""
    lookup = model.model.get_input_embeddings()
    if not lookup._forward_hooks:  # most operations keep them
        lookup.register_forward_hook(lambda module, ids, rows: rows * rows.shape[-1] ** 0.5)
    return altered(model, after=lambda name: input_scaled(model.after(name)))


@sound("tied_model")
def product_in_numpy(model):
    """The last product is computed with NumPy, and the output projection is not used."""
    return altered(model, logits=lambda ids: model.hidden(ids) @ model.table().T)


@sound("tied_model")
def gradient_as_sum_of_halves(model):
    """The two halves are computed one after the other and added."""
    halves = (with_loss(model, lambda states, table: states @ table.detach().T),
              with_loss(model, lambda states, table: states.detach() @ table.T))
    return altered(model, gradient=lambda *args: halves[0].gradient(*args) + halves[1].gradient(*args))


@sound("tied_model")
def one_sequence_at_a_time(model):
    """Sequences go through the model one by one."""
    def each(call):
        return lambda ids: np.stack([call(row) for row in ids]) if ids.ndim > 1 else call(ids)
    return altered(model, hidden=each(model.hidden), logits=each(model.logits))
