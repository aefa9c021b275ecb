"""Faulty and sound encoders: the input sublayer, the layers, the model's parts, the library, the codes of positions.

Faults of the encoder are broken versions of the NumPy BERT in float32.
"""

import copy
from functools import cache

import numpy as np

from ...proof import altered, fault, sound
from .oracle import Bert


def sublayer(encoder, kind):
    """The encoder with the input vectors of a broken NumPy BERT; its layers stay as they are."""
    bert = kind(encoder.weights(), encoder.config(), "float32")
    return altered(encoder, input_vectors=lambda texts: [bert.input_vectors(ids) for ids in encoder.token_ids(texts)])


def layers(encoder, kind, **settings):
    """The encoder with the last states of a broken NumPy BERT, or of one with other settings; its input stays."""
    bert = kind(encoder.weights(), encoder.config() | settings, "float32")
    return altered(encoder, hidden_states=each(encoder, bert.hidden_states_of))


def each(encoder, answer):
    """What `answer` makes of the ids of all texts, each computed once."""
    known = {}

    def answers(texts):
        ids = encoder.token_ids(texts)
        new = {one.tobytes(): one for one in ids if one.tobytes() not in known}
        known.update(zip(new, answer(list(new.values())), strict=True))
        return [known[one.tobytes()].copy() for one in ids]
    return answers


def of_rows(combine):
    """A NumPy BERT that makes its input vectors from the rows of word, position and type in another way."""
    class Combined(Bert):
        def input_vectors(self, ids):
            return combine(self, *self.input_rows(ids))
    return Combined


def normalised(bert, x):
    return bert.normalize(x, "embeddings.LayerNorm")


# --- the input sublayer ------------------------------------------------------------------------------------------------


@fault("encoder", ["INPUT-01", "INPUT-05", "POS-03", "POS-05"])
def no_positions(encoder):
    """Positions are not added."""
    return sublayer(encoder, of_rows(lambda bert, word, position, kind: normalised(bert, word + kind)))


@fault("encoder", ["INPUT-01", "POS-03"])
def no_types(encoder):
    """Types are not added."""
    return sublayer(encoder, of_rows(lambda bert, word, position, kind: normalised(bert, word + position)))


@fault("encoder", ["INPUT-01"])
def type_one(encoder):
    """All tokens have type 1."""
    other = encoder.weights()["embeddings.token_type_embeddings.weight"][1]
    return sublayer(encoder, of_rows(lambda bert, word, position, kind: normalised(bert, word + position + other)))


@fault("encoder", ["INPUT-01", "INPUT-06"])
def no_normalisation(encoder):
    """The sum is not normalised."""
    return sublayer(encoder, of_rows(lambda bert, word, position, kind: word + position + kind))


@fault("encoder", ["INPUT-01"])
def normalised_before_the_sum(encoder):
    """The word row is normalised, and positions and types are added to that."""
    return sublayer(encoder, of_rows(lambda bert, word, position, kind: normalised(bert, word) + position + kind))


def moved(steps):
    """A NumPy BERT that counts positions from another number."""
    class Moved(Bert):
        def input_rows(self, ids):
            word, _, kind = super().input_rows(ids)
            return word, self.weight("embeddings.position_embeddings.weight")[steps:steps + len(ids)], kind
    return Moved


@fault("encoder", ["INPUT-01", "POS-05"])
def positions_from_one(encoder):
    """Positions are counted from 1."""
    return sublayer(encoder, moved(1))


@fault("encoder", ["INPUT-01", "POS-05"], source="sbryngelson/ANEForge#257, huggingface/sentence-transformers#3879")
def positions_from_two(encoder):
    """Positions are counted as RoBERTa does, from the padding id plus one."""
    return sublayer(encoder, moved(2))


@fault("encoder", ["INPUT-01", "POS-05"])
def sines_for_the_learned_table(encoder):
    """Positions have sines and cosines in the place of the learned rows."""
    def combine(bert, word, position, kind):
        places, columns = np.arange(len(word))[:, None], np.arange(word.shape[1])
        angles = places / 10000 ** (columns // 2 * 2 / word.shape[1])
        code = np.where(columns % 2, np.cos(angles), np.sin(angles)).astype(np.float32)
        return normalised(bert, word + code + kind)
    return sublayer(encoder, of_rows(combine))


@fault("encoder", ["INPUT-01", "INPUT-06"], size="subtle")
def other_epsilon(encoder):
    """The normalisation adds 1e-5 to the variance, PyTorch's usual number, where this model adds 1e-12."""
    bert = Bert(encoder.weights(), encoder.config() | {"layer_norm_eps": 1e-5}, "float32")
    return altered(encoder, input_vectors=lambda texts: [bert.input_vectors(ids) for ids in encoder.token_ids(texts)])


class WithoutMean(Bert):
    def normalize(self, x, name):
        scaled = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + self.epsilon)
        return scaled * self.weight(f"{name}.weight") + self.weight(f"{name}.bias")


@fault("encoder", ["INPUT-01", "INPUT-06"])
def root_mean_square(encoder):
    """Vectors are divided by their root mean square, and the mean stays in."""
    return sublayer(encoder, WithoutMean)


class OverPositions(Bert):
    def normalize(self, x, name):
        scaled = (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + self.epsilon)
        return scaled * self.weight(f"{name}.weight") + self.weight(f"{name}.bias")


@fault("encoder", ["INPUT-01", "INPUT-06"])
def normalised_over_positions(encoder):
    """Each column is normalised over the tokens of the text, as a batch normalisation does."""
    return sublayer(encoder, OverPositions)


@fault("encoder", ["INPUT-01", "INPUT-03"])
def rows_for_inputs(encoder):
    """What it calls input vectors are the looked-up rows."""
    return altered(encoder, input_vectors=encoder.input_embeddings)


@fault("encoder", ["INPUT-07", "POS-02"])
def concatenated(encoder):
    """Word and position stand side by side instead of being added."""
    return sublayer(encoder, of_rows(lambda bert, word, position, kind: np.concatenate([word + kind, position], axis=1)))


@fault("encoder", ["INPUT-07", "POS-02"])
def first_input_dropped(encoder):
    """Input vectors come without the first token."""
    return altered(encoder, input_vectors=lambda texts: [rows[1:] for rows in encoder.input_vectors(texts)])


@fault("encoder", ["INPUT-01", "INPUT-02"], source="facebookresearch/XLM#86")
def dropout_left_on(encoder):
    """One number in ten is dropped, another one each time, as in training."""
    generator = np.random.default_rng(0)

    def input_vectors(texts):
        return [rows * (generator.random(rows.shape) >= 0.1) / np.float32(0.9) for rows in encoder.input_vectors(texts)]
    return altered(encoder, input_vectors=input_vectors)


# --- the layers --------------------------------------------------------------------------------------------------------


@fault("encoder", ["INPUT-08"], seam="states")
def last_layer_skipped(encoder):
    """The last layer is not run."""
    return layers(encoder, Bert, num_hidden_layers=encoder.config()["num_hidden_layers"] - 1)


@fault("encoder", ["INPUT-08"], seam="states")
def input_normalised_twice(encoder):
    """The first layer gets its input after a second normalisation."""
    class Twice(Bert):
        def run_layers(self, texts):
            return super().run_layers([normalised(self, rows) for rows in texts])
    return layers(encoder, Twice)


@fault("encoder", ["INPUT-08"], seam="states")
def rows_into_the_first_layer(encoder):
    """The first layer gets the looked-up rows; the input sublayer is passed by."""
    class Bypassed(Bert):
        def input_vectors(self, ids):
            return self.input_rows(ids)[0]
    return layers(encoder, Bypassed)


@fault("encoder", ["INPUT-08"], seam="states")
def half_the_heads(encoder):
    """The width is split among half as many heads."""
    return layers(encoder, Bert, num_attention_heads=encoder.config()["num_attention_heads"] // 2)


@fault("encoder", ["INPUT-08"], seam="states", source="vllm-project/vllm#14609, vllm-project/vllm#16892")
def causal_mask(encoder):
    """Tokens see only those before them."""
    class Causal(Bert):
        def shares(self, scores):
            return super().shares(np.where(np.tri(scores.shape[1], dtype=bool), scores, np.float32(-1e9)))
    return layers(encoder, Causal)


def of_batches(ids, answer, size=8):
    """What `answer` makes of each batch, from the ids of its texts and its longest length; its texts have similar lengths."""
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    answers = [None] * len(ids)
    for start in range(0, len(order), size):
        batch = order[start:start + size]
        longest = max(len(ids[i]) for i in batch)
        for i, one in zip(batch, answer([ids[i] for i in batch], longest), strict=True):
            answers[i] = one
    return answers


def padded(ids, longest):
    """The ids of a text filled up with the padding id, 0, at the end."""
    return np.pad(ids, (0, longest - len(ids)))


@fault("encoder", ["INPUT-08"], seam="batch", source="jkrukowski/swift-embeddings#20, jkrukowski/swift-embeddings#21")
def padding_attended(encoder):
    """Batches are padded and the model gets no mask, so that tokens attend to padding."""
    bert = Bert(encoder.weights(), encoder.config(), "float32")

    def hidden_states(texts):
        return of_batches(encoder.token_ids(texts), lambda batch, longest: [
            states[:len(ids)] for ids, states in zip(
                batch, bert.hidden_states_of([padded(ids, longest) for ids in batch]), strict=True)])

    def embed(texts):
        means = np.stack([states.mean(axis=0) for states in hidden_states(texts)])
        return means / np.linalg.norm(means, axis=1, keepdims=True)
    return altered(encoder, hidden_states=hidden_states, embed=embed)


def without_bias(encoder, name):
    """The encoder whose model has zeros for this bias."""
    weights = encoder.weights()
    bert = Bert(weights | {name: weights[name] * 0}, encoder.config(), "float32")
    return altered(encoder, hidden_states=each(encoder, bert.hidden_states_of))


def every_bias(encoder):
    """Each bias of the layers lost in turn, but those of the keys, which a softmax does not see."""
    for name in encoder.weights():
        if name.startswith("encoder.") and name.endswith(".bias") and ".key." not in name:
            yield name, without_bias(encoder, name)


@fault("encoder", ["INPUT-08"], size="subtle", seam="states", variants=every_bias)
def one_bias_lost(encoder):
    """The bias of the last output projection was not loaded, 1e-3 in 1 - cosine."""
    return without_bias(encoder, f"encoder.layer.{encoder.config()['num_hidden_layers'] - 1}.output.dense.bias")


@fault("encoder", ["INPUT-08"], size="subtle", seam="states")
def gelu_by_tanh(encoder):
    """GELU is approximated by a hyperbolic tangent, 4e-6 in 1 - cosine of a state; in the mean over a text it is less."""
    class Tanh(Bert):
        def activate(self, x):
            return x * (1 + np.tanh(np.float32(np.sqrt(2 / np.pi)) * (x + np.float32(0.044715) * x**3))) / 2
    return layers(encoder, Tanh)


@fault("encoder", ["INPUT-08"], size="subtle", seam="states")
def scores_slightly_larger(encoder):
    """Scores of the attention are one part in a hundred too large, 5e-5 in 1 - cosine."""
    class Sharper(Bert):
        def shares(self, scores):
            return super().shares(scores * np.float32(1.01))
    return layers(encoder, Sharper)


@fault("encoder", ["INPUT-08"], size="subtle")
def states_stretched(encoder):
    """States have the right direction and are a hundredth too long."""
    return altered(encoder, hidden_states=lambda texts: [rows * np.float32(1.01) for rows in encoder.hidden_states(texts)])


# --- the size of the documents' table ----------------------------------------------------------------------------------

DOCUMENTS = {"model": "documents"}


def with_table(encoder, rows, dtype="float32"):
    """The encoder with a word table of this size, whose first rows are its own; pages nobody reads take no memory."""
    weights = encoder.weights()
    own = weights["embeddings.word_embeddings.weight"]
    table = np.zeros((rows, own.shape[1]), dtype)
    table[:len(own)] = own
    return altered(encoder, weights=lambda: weights | {"embeddings.word_embeddings.weight": table})


@fault("encoder", ["PARAM-01", "PARAM-02", "PARAM-03"], declares=DOCUMENTS)
def another_model(encoder):
    """Another model bears the name."""
    return altered(encoder)


@fault("encoder", ["PARAM-01", "PARAM-02", "PARAM-03"], declares=DOCUMENTS)
def positions_counted_too(encoder):
    """The rows of the position table are part of the word table."""
    return with_table(encoder, 250037 + 512)


@fault("encoder", ["PARAM-03"], declares=DOCUMENTS)
def in_half_precision(encoder):
    """The table is stored in float16."""
    return with_table(encoder, 250037, "float16")


@fault("encoder", ["PARAM-03"], declares=DOCUMENTS)
def in_double_precision(encoder):
    """The table is stored in float64."""
    return with_table(encoder, 250037, "float64")


@sound("encoder", declares=DOCUMENTS)
def a_table_of_the_right_size(encoder):
    """The word table has the size of the documents' model, though the module has another."""
    return with_table(encoder, 250037)


@fault("module", ["PARAM-05"], base="bundled", declares=DOCUMENTS)
def padding_row_one(encoder):
    """The padding row is row 1, as in XLM-R, whose tokenizer the documents' model has."""
    import torch

    embedding = torch.nn.Embedding.from_pretrained(encoder.module().get_input_embeddings().weight, padding_idx=1)
    embedding.__class__ = type("Embedding", (torch.nn.Embedding,), {"extra_repr": lambda self: "250037, 384, padding_idx=1"})
    return with_part(encoder, "embeddings", lambda part: with_child(part, "word_embeddings", embedding))


# --- the model's parts -------------------------------------------------------------------------------------------------


def shallow(part, forward=None):
    """A copy of a module that shares its parameters; with `forward` it computes something else."""
    other = copy.copy(part)
    other.__dict__ |= {name: copy.copy(value) for name, value in other.__dict__.items() if isinstance(value, dict)}
    if forward is not None:
        other.__class__ = type(type(part).__name__, (type(part),), {"forward": forward})
    return other


def with_child(part, name, child):
    other = shallow(part)
    other._modules[name] = child
    return other


def with_part(encoder, name, change):
    """The facet `module` with one part of the model changed; the encoder keeps the sound model."""
    model = with_child(encoder.module(), name, change(encoder.module().get_submodule(name)))
    return altered(encoder, module=lambda: model)


def with_forward(encoder, name, forward):
    """The facet `module` with one part of the model computing something else; `forward` gets its usual forward first."""
    usual = type(encoder.module().get_submodule(name)).forward

    def other(self, *args, **kwargs):
        return forward(usual, self, *args, **kwargs)
    return with_part(encoder, name, lambda part: shallow(part, other))


def combining(encoder, combine):
    """The facet `module` with an input sublayer that combines the rows of word, position and type in another way."""
    def forward(_, self, input_ids=None, token_type_ids=None, inputs_embeds=None, **kwargs):
        import torch

        word = self.word_embeddings(input_ids) if inputs_embeds is None else inputs_embeds
        kinds = torch.zeros(word.shape[:2], dtype=torch.long) if token_type_ids is None else token_type_ids
        position = self.position_embeddings(torch.arange(word.shape[1]))
        return self.dropout(self.LayerNorm(combine(word, position, self.token_type_embeddings(kinds))))
    return with_forward(encoder, "embeddings", forward)


@fault("module", ["INPUT-02"], base="bundled", source="flairNLP/flair#797")
def left_in_training(encoder):
    """The input sublayer is in training mode, whatever the model says."""
    return with_part(encoder, "embeddings", lambda part: with_child(part, "dropout", copy.deepcopy(part.dropout).train()))


@fault("module", ["INPUT-02"], base="bundled")
def dropout_whatever_the_mode(encoder):
    """Dropout does not ask whether the model is training."""
    from torch.nn.functional import dropout

    return with_forward(encoder, "embeddings", lambda usual, self, **inputs: dropout(usual(self, **inputs), 0.1))


@fault("module", ["INPUT-02"], base="bundled")
def dropout_of_nothing(encoder):
    """The configuration says one in ten, and nothing is ever dropped."""
    import torch

    return with_part(encoder, "embeddings", lambda part: with_child(part, "dropout", torch.nn.Dropout(0.0)))


@fault("module", ["INPUT-04"], base="bundled")
def type_one_unless_given(encoder):
    """Types are one unless they are given."""
    def forward(usual, self, input_ids=None, token_type_ids=None, **inputs):
        if input_ids is not None and token_type_ids is None:
            token_type_ids = input_ids * 0 + 1
        return usual(self, input_ids=input_ids, token_type_ids=token_type_ids, **inputs)
    return with_forward(encoder, "embeddings", forward)


@fault("module", ["INPUT-05"], base="bundled")
def types_ignored(encoder):
    """Whatever type is given, it counts as zero."""
    return with_forward(encoder, "embeddings",
                        lambda usual, self, token_type_ids=None, **inputs: usual(self, token_type_ids=None, **inputs))


@fault("module", ["POS-03"], base="bundled")
def multiplied(encoder):
    """Word and position rows are multiplied."""
    return combining(encoder, lambda word, position, kind: word * position + kind)


@fault("module", ["POS-03"], base="bundled")
def scaled_before_the_sum(encoder):
    """Word rows are multiplied by the root of the width first, as in the original Transformer."""
    return combining(encoder, lambda word, position, kind: word * word.shape[-1] ** 0.5 + position + kind)


@fault("module", ["POS-03"], base="bundled", size="subtle")
def positions_slightly_larger(encoder):
    """Position rows are four parts in a million too large."""
    return combining(encoder, lambda word, position, kind: word + position * (1 + 2.0**-18) + kind)


@fault("module", ["POS-05"], base="bundled")
def fixed_positions(encoder):
    """The position table is a buffer, which training leaves alone."""
    import torch

    table = torch.nn.Embedding(512, 384)
    values = encoder.module().embeddings.position_embeddings.weight.detach().clone()
    del table.weight
    table.register_buffer("weight", values)
    return with_part(encoder, "embeddings", lambda part: with_child(part, "position_embeddings", table))


@fault("module", ["POS-05"], base="bundled", source="huggingface/transformers#19265, huggingface/transformers#36537")
def position_of_padding_frozen(encoder):
    """The position table has a padding row, the second, which gets no gradient."""
    import torch

    values = encoder.module().embeddings.position_embeddings.weight
    table = torch.nn.Embedding(*values.shape, padding_idx=1)
    table.weight = values
    return with_part(encoder, "embeddings", lambda part: with_child(part, "position_embeddings", table))


@fault("module", ["DMODEL-02"], base="bundled")
def narrow_between_two_layers(encoder):
    """The second layer gives half of the width and the third fills up with zeros."""
    import torch

    def narrowed(part):
        pair = [shallow(part[1], lambda self, *args, **kwargs: type(part[1]).forward(self, *args, **kwargs)[..., :192]),
                shallow(part[2], lambda self, states, *args, **kwargs: type(part[2]).forward(
                    self, torch.nn.functional.pad(states, (0, 384 - states.shape[-1])), *args, **kwargs))]
        return torch.nn.ModuleList([part[0], *pair, *part[3:]])
    return with_part(encoder, "encoder", lambda part: with_child(part, "layer", narrowed(part.layer)))


@fault("module", ["DMODEL-03"], base="bundled")
def padded_to_the_width(encoder):
    """Vectors that are too narrow are silently filled up with zeros."""
    from torch.nn.functional import pad

    def forward(usual, self, inputs_embeds=None, **inputs):
        if inputs_embeds is not None:
            inputs_embeds = pad(inputs_embeds, (0, 384 - inputs_embeds.shape[-1]))
        return usual(self, inputs_embeds=inputs_embeds, **inputs)
    return with_forward(encoder, "embeddings", forward)


@fault("module", ["DMODEL-03"], base="bundled")
def first_layer_fills_up(encoder):
    """The first layer silently fills up vectors that are too narrow."""
    import torch

    def filled(part):
        first = shallow(part[0], lambda self, hidden_states, *args, **kwargs: type(part[0]).forward(
            self, torch.nn.functional.pad(hidden_states, (0, 384 - hidden_states.shape[-1])), *args, **kwargs))
        return torch.nn.ModuleList([first, *part[1:]])
    return with_part(encoder, "encoder", lambda part: with_child(part, "layer", filled(part.layer)))


@fault("module", ["DMODEL-06"], base="bundled")
def normalised_again_before_the_layers(encoder):
    """Between the input sublayer and the first layer stands another normalisation."""
    from torch.nn.functional import layer_norm

    return with_forward(encoder, "encoder", lambda usual, self, hidden_states, *args, **kwargs: usual(
        self, layer_norm(hidden_states, hidden_states.shape[-1:]), *args, **kwargs))


@fault("module", ["DMODEL-06"], base="bundled")
def rows_added_at_the_end(encoder):
    """A shortcut adds a tenth of the looked-up rows to the last states."""
    def forward(self, input_ids=None, **inputs):
        answer = type(encoder.module()).forward(self, input_ids=input_ids, **inputs)
        answer.last_hidden_state = answer.last_hidden_state + self.embeddings.word_embeddings(input_ids) / 10
        return answer
    model = shallow(encoder.module(), forward)
    return altered(encoder, module=lambda: model)


def of_class(encoder, **methods):
    """The facet `module` with a model of another class, which shows in the models that are made anew."""
    model = shallow(encoder.module())
    kind = type(model)
    model.__class__ = type(kind.__name__, (kind,), methods)
    return altered(encoder, module=lambda: model)


@fault("module", ["DMODEL-07"], base="bundled")
def states_of_a_fixed_width(encoder):
    """Last states are cut or filled up to 384 numbers, whatever the width."""
    kind = type(encoder.module())

    def forward(self, *args, **kwargs):
        from torch.nn.functional import pad

        answer = kind.forward(self, *args, **kwargs)
        states = answer.last_hidden_state
        answer.last_hidden_state = pad(states, (0, 384 - states.shape[-1]))
        return answer
    return of_class(encoder, forward=forward)


@fault("module", ["DMODEL-07"], base="bundled")
def heads_made_to_fit(encoder):
    """Where the heads do not divide the width, another number of heads is taken without a word."""
    kind = type(encoder.module())

    def __init__(self, config):  # noqa: N807
        if config.hidden_size % config.num_attention_heads:
            config.num_attention_heads = 1
        kind.__init__(self, config)
    return of_class(encoder, __init__=__init__)


@fault("module", ["PARAM-04"], base="bundled")
def below_a_head(encoder):
    """The model is part of one with a head, and its names begin with "bert."."""
    import torch

    class WithHead(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = encoder.module()

        def forward(self, **inputs):
            return self.bert(**inputs)

        def __getattr__(self, name):
            return super().__getattr__(name) if name == "bert" else getattr(self.bert, name)

    model = WithHead()
    return altered(encoder, module=lambda: model)


# --- the library -------------------------------------------------------------------------------------------------------


def offering(module, **changed):
    """A library in which some things have other settings; the last part of a name -> a function from the usual thing."""
    def library(name):
        usual, change = module.library(name), changed.get(name.rpartition(".")[2])
        return change(usual) if change else usual
    return altered(module, library=library)


def with_settings(**settings):
    return lambda kind: lambda *args, **kwargs: kind(*args, **(settings | kwargs))


@fault("module", ["DMODEL-01"])
def transformer_of_768(module):
    """A Transformer is 768 wide unless told otherwise."""
    return offering(module, Transformer=with_settings(d_model=768))


@fault("module", ["DMODEL-04"])
def bert_of_384(module):
    """A BERT is 384 wide unless told otherwise."""
    return offering(module, BertConfig=with_settings(hidden_size=384))


@fault("module", ["DMODEL-04", "DMODEL-05"])
def gpt_2_of_1024(module):
    """A GPT-2 is the medium one unless told otherwise."""
    return offering(module, GPT2Config=with_settings(n_embd=1024, n_head=16))


@fault("module", ["DMODEL-05"])
def rounded_vocabulary(module):
    """The table of a GPT-2 has rows to the next multiple of 128."""
    return offering(module, GPT2Config=with_settings(vocab_size=50304))


@fault("module", ["PARAM-06"])
def with_a_bias(module):
    """A layer has a bias beside its table."""
    import torch

    class Biased(torch.nn.Embedding):
        def __init__(self, rows, width):
            super().__init__(rows, width)
            self.bias = torch.nn.Parameter(torch.zeros(width))
    return offering(module, Embedding=lambda _: Biased)


@fault("module", ["PARAM-06"])
def with_a_padding_row(module):
    """A layer has one row more than asked for, for padding."""
    return offering(module, Embedding=lambda kind: lambda rows, width: kind(rows + 1, width))


@fault("module", ["PARAM-07"])
def without_a_pooler(module):
    """A BertModel comes without its pooler, so that the table's share is larger."""
    return offering(module, BertModel=lambda kind: lambda config: kind(config, add_pooling_layer=False))


@fault("module", ["PARAM-07"])
def factorised_table(module):
    """The table is 128 wide, as in ALBERT."""
    import torch

    def made(kind):
        def make(config):
            model = kind(config)
            model.set_input_embeddings(torch.nn.Embedding(config.vocab_size, 128))
            return model
        return make
    return offering(module, BertModel=made)


@fault("layer", ["DMODEL-04", "SHAPE-16"])
def four_columns_at_most(layer):
    """Vectors are cut after four numbers and the rest is zero, as if the printed numbers were all there are."""
    def lookup(ids):
        rows = layer.lookup(ids)
        rows[..., 4:] = 0
        return rows
    return altered(layer, lookup=lookup)


# --- the codes of positions --------------------------------------------------------------------------------------------


def code(length, width, base=10000.0, first=0):
    angles = np.arange(first, first + length)[:, None] / base ** (np.arange(width) // 2 * 2 / width)
    return np.where(np.arange(width) % 2, np.cos(angles), np.sin(angles))


@fault("encodings", ["POS-01"])
def sines_and_cosines_swapped(encodings):
    """Cosines stand in the even columns."""
    return altered(encodings, positions=lambda length, width: encodings.positions(length, width + width % 2).reshape(
        length, -1, 2)[:, :, ::-1].reshape(length, -1)[:, :width])


@fault("encodings", ["POS-01"])
def halves_instead_of_pairs(encodings):
    """All sines stand before all cosines."""
    def positions(length, width):
        found = encodings.positions(length, width)
        return np.concatenate([found[:, 0::2], found[:, 1::2]], axis=1)
    return altered(encodings, positions=positions)


@fault("encodings", ["POS-01"])
def base_of_a_thousand(encodings):
    """Angles fall to a thousandth instead of a ten-thousandth."""
    return altered(encodings, positions=lambda length, width: code(length, width, base=1000.0))


@fault("encodings", ["POS-01"])
def counted_from_one(encodings):
    """The first position has the code of position 1."""
    return altered(encodings, positions=lambda length, width: encodings.positions(length + 1, width)[1:])


@fault("encodings", ["POS-01"], size="subtle")
def logarithm_rounded(encodings):
    """Powers of ten thousand are taken by its logarithm, written with 13 digits."""
    return altered(encodings, positions=lambda length, width: code(length, width, base=np.exp(9.210340371976)))


@fault("encodings", ["POS-02"])
def always_256_wide(encodings):
    """The table of codes is 256 wide."""
    return altered(encodings, positions=lambda length, width: encodings.positions(length, 256))


@sound("encodings")
def codes_in_float32(encodings):
    """Powers by the logarithm, angles and sines in float32, as PyTorch code does."""
    def positions(length, width):
        steps = np.exp(np.arange(0, width, 2, dtype=np.float32) * np.float32(-np.log(10000.0) / width))
        angles = np.arange(length, dtype=np.float32)[:, None] * steps
        return np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(length, -1)[:, :width]
    return altered(encodings, positions=positions)


# --- sound encoders ----------------------------------------------------------------------------------------------------


@sound("encoder")
def in_numpy(encoder):
    """All of it in NumPy float32, one text at a time."""
    bert = Bert(encoder.weights(), encoder.config(), "float32")
    return altered(encoder, hidden_states=lambda texts: [bert.hidden_states(ids) for ids in encoder.token_ids(texts)],
                 input_vectors=lambda texts: [bert.input_vectors(ids) for ids in encoder.token_ids(texts)])


@sound("encoder")
def key_biases_left_out(encoder):
    """The biases of the keys are zero: they move all scores of a token alike, which a softmax does not see."""
    weights = encoder.weights()
    lost = {name: array * 0 for name, array in weights.items() if name.endswith("key.bias")}
    bert = Bert(weights | lost, encoder.config(), "float32")
    return altered(encoder, hidden_states=each(encoder, bert.hidden_states_of))


@cache
def converted(encoder, name):
    """The model in another floating format, whose numbers come as float32."""
    import torch

    from ...subjects.bundled import BertEncoder

    with torch.no_grad():
        model = copy.deepcopy(encoder.model).to(getattr(torch, name))
    other = BertEncoder(model, encoder.tokenizer, 256)

    def in_float32(method):
        return lambda texts: [rows.astype(np.float32) for rows in method(texts)]
    return altered(encoder, hidden_states=in_float32(other.hidden_states), input_vectors=in_float32(other.input_vectors))


@sound("encoder", declares={"precision": "bfloat16"}, breaks=["BASE-02", "BASE-03", "BASE-08"])
def in_bfloat16(encoder):
    """The model in bfloat16, as it says."""
    return converted(encoder, "bfloat16")


@sound("encoder", declares={"precision": "float16"}, breaks=["BASE-02", "BASE-03", "BASE-08"])
def in_float16(encoder):
    """The model in float16, as it says."""
    return converted(encoder, "float16")


@sound("module", base="bundled")
def added_in_another_order(encoder):
    """Positions are added before types."""
    return combining(encoder, lambda word, position, kind: word + position + kind)


@sound("module", base="bundled", breaks=["TOK-02"])
def network_in_bfloat16(encoder):
    """The same network in bfloat16, in which embedders are often stored; rows of the encoder in float32 are others."""
    model = copy.deepcopy(encoder.module()).bfloat16()
    return altered(encoder, module=lambda: model)
