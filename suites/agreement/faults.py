"""Faults that only a comparison with a reference shows, from the text to the row that is returned.

Each is planted in a whole embedder: what depends on the broken stage is computed anew, in NumPy float32. Where the ids of a
text stay the same, its sound states are taken.
"""

import re
from functools import cache
from itertools import cycle

import numpy as np

from ...proof import altered, fault, sound
from ...reference import Oracle, unit
from ..encoder_input.faults import each, of_batches, padded
from ..encoder_input.oracle import Bert

#: what must catch a fault of pooling, too
VECTORS = ["AGREE-08"]


def embedding(encoder, hidden_states, **replaced):
    """The encoder with other states, and with vectors pooled from them as it pools."""
    finish = Oracle(None, encoder.token_ids, encoder.pooling, encoder.normalized)

    def embed(texts):
        return finish.scale(finish.pool(hidden_states(texts))).astype(np.float32)
    return altered(encoder, hidden_states=hidden_states, **({"embed": embed} | replaced))


def with_ids(encoder, tokenize):
    """The encoder that gives texts the ids of another function."""
    bert, known = Bert(encoder.weights(), encoder.config(), "float32"), {}

    def hidden_states(texts):
        new = [text for text in dict.fromkeys(texts) if text not in known]
        mine = dict(zip(new, tokenize(new), strict=True))
        other = [text for text, ids in zip(new, encoder.token_ids(new), strict=True) if not np.array_equal(mine[text], ids)]
        known.update(zip(other, bert.hidden_states_of([mine[text] for text in other]), strict=True))
        left = [text for text in new if text not in known]
        known.update(zip(left, encoder.hidden_states(left), strict=True))
        return [known[text].copy() for text in texts]
    return embedding(encoder, hidden_states, token_ids=tokenize,
                     input_vectors=lambda texts: [bert.input_vectors(ids) for ids in tokenize(texts)],
                     input_embeddings=lambda texts: [bert.input_rows(ids)[0] for ids in tokenize(texts)])


def with_bert(encoder, bert):
    """The encoder with the input vectors and the states of a broken NumPy BERT."""
    return embedding(encoder, each(encoder, bert.hidden_states_of),
                     input_vectors=lambda texts: [bert.input_vectors(ids) for ids in encoder.token_ids(texts)])


def with_rows(encoder, change):
    """The encoder whose vectors [N, d] of a call are changed at the end; `change` gets them and the texts."""
    finish = Oracle(None, encoder.token_ids, encoder.pooling, encoder.normalized)

    def embed(texts):
        sound_rows = finish.scale(finish.pool(encoder.hidden_states(texts))).astype(np.float32)
        return change(sound_rows, texts)
    return altered(encoder, embed=embed)


def with_pooling(encoder, pool):
    """The encoder that pools the states of each text [L, d] in another way."""
    finish = Oracle(None, encoder.token_ids, encoder.pooling, encoder.normalized)

    def embed(texts):
        return finish.scale(np.stack([pool(rows) for rows in encoder.hidden_states(texts)])).astype(np.float32)
    return altered(encoder, embed=embed)


# --- ids ---------------------------------------------------------------------------------------------------------------

PREFIXES = ("passage: ", "search_query: ", "search_document: ", "Represent this sentence for searching relevant passages: ",
            "clustering: ", "classification: ")


def prefixed(encoder, prefix):
    return with_ids(encoder, lambda texts: encoder.token_ids([prefix + text for text in texts]))


@fault("encoder", ["AGREE-01"], seam="ids", source="qdrant/fastembed#251",
       variants=lambda encoder: ((repr(prefix), prefixed(encoder, prefix)) for prefix in PREFIXES))
def stray_prefix(encoder):
    """Every text gets the prefix "query: "."""
    return prefixed(encoder, "query: ")


def cut_at(encoder, limit):
    """Ids beyond a limit are left out; the last one, which ends the text, stays."""
    def tokenize(texts):
        return [ids if len(ids) <= limit else np.concatenate([ids[:limit - 1], ids[-1:]]) for ids in encoder.token_ids(texts)]
    return with_ids(encoder, tokenize)


@fault("encoder", ["AGREE-01", "AGREE-03"], seam="ids", source="qdrant/fastembed#689",
       variants=lambda encoder: ((f"at {limit}", cut_at(encoder, limit)) for limit in (16, 64, 128, 256, 384)))
def truncated_early(encoder):
    """Texts are cut at 32 tokens."""
    return cut_at(encoder, 32)


@fault("encoder", ["AGREE-03"])
def cut_one_token_early(encoder):
    """The limit is one token lower."""
    return cut_at(encoder, encoder.max_seq_length - 1)


@fault("encoder", ["AGREE-03"])
def end_lost_in_the_cut(encoder):
    """A text that is cut loses its last special token."""
    limit = encoder.max_seq_length
    return with_ids(encoder, lambda texts: [ids if len(ids) < limit else ids[:-1] for ids in encoder.token_ids(texts)])


@fault("encoder", ["AGREE-01", "AGREE-02"], seam="ids", source="ggml-org/llama.cpp#14280")
def special_tokens_missing(encoder):
    """The ids come without the special tokens at both ends; a text without words keeps them."""
    return with_ids(encoder, lambda texts: [ids[1:-1] if len(ids) > 2 else ids for ids in encoder.token_ids(texts)])


@fault("encoder", ["AGREE-01", "AGREE-02"], seam="ids")
def last_special_token_missing(encoder):
    """The special token at the end is missing."""
    return with_ids(encoder, lambda texts: [ids[:-1] for ids in encoder.token_ids(texts)])


@fault("encoder", ["AGREE-01", "AGREE-02"], seam="ids")
def special_tokens_twice(encoder):
    """The special tokens are added to ids that have them."""
    positions = encoder.config()["max_position_embeddings"]
    return with_ids(encoder, lambda texts: [np.concatenate([ids[:1], ids, ids[-1:]]) if len(ids) < positions - 1 else ids
                                            for ids in encoder.token_ids(texts)])


@fault("encoder", ["AGREE-01"], seam="ids", source="vllm-project/vllm#11184")
def capitals_unknown(encoder):
    """Words with a capital letter are unknown, since nothing makes them small."""
    def tokenize(texts):
        return encoder.token_ids([re.sub(r"\w*[A-Z]\w*", "[UNK]", text) for text in texts])
    return with_ids(encoder, tokenize)


@fault("encoder", ["AGREE-01"], seam="ids", source="spiceai/spiceai#13415, HazyResearch/m2#43",
       variants=lambda encoder: ((f"to {length}", filled_up(encoder, length)) for length in (64, 256)))
def fixed_padding(encoder):
    """Every text is filled up to 128 tokens, and what fills it counts as text."""
    return filled_up(encoder, 128)


def filled_up(encoder, length):
    return with_ids(encoder, lambda texts: [padded(ids, max(length, len(ids))) for ids in encoder.token_ids(texts)])


# --- the input sublayer ------------------------------------------------------------------------------------------------


def moved(encoder, steps):
    """A NumPy BERT that counts positions from another number; the last position has the last row."""
    class Moved(Bert):
        def input_rows(self, ids):
            word, _, kind = super().input_rows(ids)
            table = self.weight("embeddings.position_embeddings.weight")
            return word, table[np.minimum(np.arange(len(ids)) + steps, len(table) - 1)], kind
    return Moved(encoder.weights(), encoder.config(), "float32")


@fault("encoder", ["AGREE-04"], seam="input", source="sbryngelson/ANEForge#257",
       variants=lambda encoder: [("by two", with_bert(encoder, moved(encoder, 2)))])
def positions_shifted(encoder):
    """Positions are counted from one."""
    return with_bert(encoder, moved(encoder, 1))


@fault("encoder", ["AGREE-04"], seam="input")
def token_type_one(encoder):
    """All tokens have type 1."""
    class TypeOne(Bert):
        def input_rows(self, ids):
            word, position, _ = super().input_rows(ids)
            return word, position, np.repeat(self.weight("embeddings.token_type_embeddings.weight")[1:2], len(ids), axis=0)
    return with_bert(encoder, TypeOne(encoder.weights(), encoder.config(), "float32"))


@fault("encoder", ["AGREE-04"], seam="input")
def types_left_out(encoder):
    """The row of the type is not added."""
    class NoTypes(Bert):
        def input_rows(self, ids):
            word, position, kind = super().input_rows(ids)
            return word, position, kind * 0
    return with_bert(encoder, NoTypes(encoder.weights(), encoder.config(), "float32"))


@fault("encoder", ["AGREE-04"], seam="input")
def positions_left_out(encoder):
    """The rows of the positions are not added."""
    class NoPositions(Bert):
        def input_rows(self, ids):
            word, position, kind = super().input_rows(ids)
            return word, position * 0, kind
    return with_bert(encoder, NoPositions(encoder.weights(), encoder.config(), "float32"))


@fault("encoder", ["AGREE-04"], size="subtle")
def positions_slightly_smaller(encoder):
    """The rows of the positions are a hundredth too small."""
    class Smaller(Bert):
        def input_rows(self, ids):
            word, position, kind = super().input_rows(ids)
            return word, position * np.float32(0.99), kind
    return with_bert(encoder, Smaller(encoder.weights(), encoder.config(), "float32"))


def swapped(encoder, one, other):
    """Two rows of the word table have changed places."""
    name = "embeddings.word_embeddings.weight"
    weights = encoder.weights()
    table = weights[name].copy()
    table[[one, other]] = table[[other, one]]
    return with_bert(encoder, Bert(weights | {name: table}, encoder.config(), "float32"))


@fault("encoder", ["AGREE-04"], seam="input")
def vocabulary_rows_swapped(encoder):
    """The rows of the second word of two texts have changed places."""
    first, second = (int(ids[2]) for ids in encoder.token_ids(["the cat", "the dog"]))
    return swapped(encoder, first, second)


# --- the layers --------------------------------------------------------------------------------------------------------


@fault("encoder", ["AGREE-05"])
def layers_reversed(encoder):
    """The layers run from the last to the first."""
    weights = encoder.weights()
    count = encoder.config()["num_hidden_layers"]
    other = {re.sub(r"layer\.(\d+)\.", lambda found: f"layer.{count - 1 - int(found[1])}.", name): array
             for name, array in weights.items()}
    return with_bert(encoder, Bert(other, encoder.config(), "float32"))


@fault("encoder", ["AGREE-05"], size="subtle")
@cache
def another_revision(encoder):
    """Weights differ from those of the reference by one part in a hundred, as those of a neighbouring checkpoint do."""
    generator = np.random.default_rng(0)
    weights = {name: array * (1 + 0.01 * generator.standard_normal(array.shape, np.float32)) if array.ndim == 2 else array
               for name, array in encoder.weights().items()}
    return with_bert(encoder, Bert(weights, encoder.config(), "float32"))


@fault("encoder", ["AGREE-05"], seam="batch", source="huggingface/text-embeddings-inference#642, huggingface/transformers#1761")
def left_padding(encoder):
    """Batches are padded at the start, and positions count the padding."""
    def hidden_states(texts):
        return of_batches(encoder.token_ids(texts), lambda batch, longest: [
            moved(encoder, longest - len(ids)).hidden_states(ids) for ids in batch])
    return embedding(encoder, hidden_states)


@fault("encoder", ["AGREE-05"], declares={"precision": "int8"})
def bias_lost_at_int8(encoder):
    """One bias was not loaded: less than whole numbers may lose, and yet no rounding."""
    name = f"encoder.layer.{encoder.config()['num_hidden_layers'] - 1}.output.dense.bias"
    weights = encoder.weights()
    return with_bert(encoder, Bert(weights | {name: weights[name] * 0}, encoder.config(), "float32"))


@fault("encoder", ["AGREE-05"], declares={"precision": "int8", "drift": 1e-3})
@cache
def more_drift_than_declared(encoder):
    """It declares a drift of a thousandth, and its weights differ by five hundredths."""
    generator = np.random.default_rng(0)
    weights = {name: array * (1 + 0.05 * generator.standard_normal(array.shape, np.float32)) if array.ndim == 2 else array
               for name, array in encoder.weights().items()}
    return with_bert(encoder, Bert(weights, encoder.config(), "float32"))


# --- pooling -----------------------------------------------------------------------------------------------------------


@fault("embedder", ["AGREE-06", *VECTORS], seam="pooling")
def max_for_mean(embedder):
    """The largest number of each column stands for the mean."""
    return with_pooling(embedder, lambda rows: rows.max(axis=0))


@fault("embedder", ["AGREE-06", *VECTORS], seam="pooling", source="SearchSavior/OpenArc#89")
def last_state_for_the_mean(embedder):
    """The state of the last token stands for the text."""
    return with_pooling(embedder, lambda rows: rows[-1])


@fault("embedder", ["AGREE-06"], seam="pooling")
def mean_of_the_squares(embedder):
    """Numbers are squared before the mean is taken, and keep their signs."""
    return with_pooling(embedder, lambda rows: (rows * np.abs(rows)).mean(axis=0))


@fault("embedder", ["AGREE-06"], size="subtle")
def first_token_weighs_a_little_more(embedder):
    """The first token weighs a two-thousandth more than the others."""
    def pool(rows):
        weights = np.ones(len(rows))
        weights[0] += 5e-4
        return np.average(rows.astype(np.float64), axis=0, weights=weights)
    return with_pooling(embedder, pool)


@fault("embedder", ["AGREE-06", *VECTORS], seam="pooling", source="HKUDS/LightRAG#3675")
@cache
def padding_in_the_mean(embedder):
    """Batches are padded, and what the model makes of the padding is pooled along; attention has its mask."""
    class Masked(Bert):
        def _run(self, states, ends):
            count = len(ends) + 1
            self.real, self.lengths = cycle(self.lengths[:count]), self.lengths[count:]
            return super()._run(states, ends)

        def shares(self, scores):
            return super().shares(np.where(np.arange(scores.shape[2]) < next(self.real), scores, np.float32(-1e9)))

    bert, known = Masked(embedder.weights(), embedder.config(), "float32"), {}
    finish = Oracle(None, embedder.token_ids, embedder.pooling, embedder.normalized)

    def states(batch, longest):
        keys = [(longest, ids.tobytes()) for ids in batch]
        new = {key: ids for key, ids in zip(keys, batch, strict=True) if key not in known}
        bert.lengths = [len(ids) for ids in new.values()]
        known.update(zip(new, bert.hidden_states_of([padded(ids, longest) for ids in new.values()]), strict=True))
        return [known[key] for key in keys]

    def embed(texts):
        return finish.scale(finish.pool(of_batches(embedder.token_ids(texts), states))).astype(np.float32)
    return altered(embedder, embed=embed)


# --- lengths and rows --------------------------------------------------------------------------------------------------


@fault("embedder", ["AGREE-07", *VECTORS], seam="length", source="michaelfeil/infinity#384")
def not_normalised(embedder):
    """Vectors are pooled and not brought to length one."""
    finish = Oracle(None, embedder.token_ids, embedder.pooling, False)
    return altered(embedder, embed=lambda texts: finish.pool(embedder.hidden_states(texts)).astype(np.float32))


@fault("embedder", ["AGREE-07"])
def normalised_over_all_rows(embedder):
    """All rows of a call are divided by the length of the longest."""
    finish = Oracle(None, embedder.token_ids, embedder.pooling, False)

    def embed(texts):
        pooled = finish.pool(embedder.hidden_states(texts))
        return (pooled / np.linalg.norm(pooled, axis=1).max()).astype(np.float32)
    return altered(embedder, embed=embed)


@fault("embedder", ["AGREE-07"], size="subtle")
def slightly_too_long(embedder):
    """Rows are a thousandth too long."""
    return with_rows(embedder, lambda rows, texts: rows * np.float32(1.001))


@fault("embedder", ["AGREE-08", "AGREE-12"], size="subtle")
def vectors_of_another_revision(embedder):
    """Vectors are those of weights that differ by one part in a hundred."""
    return another_revision(embedder)


@fault("embedder", ["AGREE-08", "AGREE-11"])
def centred(embedder):
    """The mean of the call is subtracted from its rows."""
    return with_rows(embedder, lambda rows, texts: unit(rows - rows.mean(axis=0)))


@fault("embedder", ["AGREE-09"], source="vllm-project/semantic-router#2183")
def cut_to_fewer_numbers(embedder):
    """Vectors come with their first 256 numbers."""
    return with_rows(embedder, lambda rows, texts: unit(rows[:, :256]))


@fault("embedder", ["AGREE-09"])
def one_number_more(embedder):
    """A zero stands at the end of every vector."""
    return with_rows(embedder, lambda rows, texts: np.pad(rows, ((0, 0), (0, 1))))


@fault("embedder", ["AGREE-10", *VECTORS], seam="rows")
def rows_reversed(embedder):
    """The rows of a call come in reverse order."""
    return with_rows(embedder, lambda rows, texts: rows[::-1].copy())


@fault("embedder", ["AGREE-10", *VECTORS], seam="rows", source="agno-agi/agno#10128")
def rows_by_length(embedder):
    """The rows of a call come in the order of their texts' lengths."""
    return with_rows(embedder, lambda rows, texts: rows[np.argsort([len(text) for text in texts], kind="stable")])


@fault("embedder", ["AGREE-10"], seam="rows", source="ROCm/FastFlowLM#373")
def first_text_for_all(embedder):
    """All rows are that of the first text."""
    return with_rows(embedder, lambda rows, texts: np.repeat(rows[:1], len(rows), axis=0))


@fault("embedder", ["AGREE-11", *VECTORS])
def unrelated(embedder):
    """Vectors say nothing about their texts."""
    return with_rows(embedder, lambda rows, texts: unit(
        np.stack([np.random.default_rng(list(text.encode())).standard_normal(rows.shape[1]) for text in texts])
    ).astype(np.float32))


@fault("embedder", ["AGREE-12"])
def some_are_of_another_day(embedder):
    """Every fifth text has the vector of an older model."""
    def change(rows, texts):
        rows[::5] = unit(np.roll(rows[::5], 1, axis=1))
        return rows
    return with_rows(embedder, change)


# --- sound embedders ---------------------------------------------------------------------------------------------------


@sound("embedder")
def pooled_in_float64(embedder):
    """The mean is taken in float64, and rounded once."""
    return with_rows(embedder, lambda rows, texts: rows)


@sound("embedder", declares={"precision": "int8", "normalized": False},
       breaks=["AGREE-06", "AGREE-07", "FIELD-29", "POOL-08", "BASE-01", "BASE-07", "BASE-09"])
def vectors_in_whole_numbers(embedder):
    """The vectors are whole numbers from -128 to 127, 255 of which make one; so they are not the means of its states."""
    def whole(vectors):
        return np.clip(np.round(vectors * 255), -128, 127).astype(np.int8)
    return altered(embedder, embed=lambda texts: whole(embedder.embed(texts)),
                   embed_query=lambda texts: whole(embedder.embed_query(texts)))


@sound("encoder", declares={"precision": "int8"}, breaks=["AGREE-06", "FIELD-29", "POOL-08", "BASE-02", "BASE-03", "BASE-08"])
@cache
def whole_numbers(encoder):
    """The weights of the layers are whole numbers from -127 to 127 times a scale for each row, as it says; of the encoder
    alone, so that the vectors are not those of its states. Regression values are those of the unrounded weights.
    """
    def rounded(array):
        scale = np.abs(array).max(axis=1, keepdims=True) / 127
        return (np.round(array / scale) * scale).astype(np.float32)
    weights = {name: rounded(array) if name.startswith("encoder.") and array.ndim == 2 else array
               for name, array in encoder.weights().items()}
    bert = Bert(weights, encoder.config(), "float32")
    return with_bert(encoder, bert)
