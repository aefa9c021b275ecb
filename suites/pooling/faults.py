"""Faulty and sound poolers, and embedders that pool wrongly."""

from functools import cache

import numpy as np

from ...proof import altered, fault, sound
from ..encoder_input.faults import each
from ..encoder_input.oracle import Bert

ALL_LENGTHS = ["NORM-01", "NORM-02", "NORM-04", "NORM-05", "NORM-06", "NORM-07"]


def pooling(pooler, **modes):
    """A pooler with some modes replaced by functions of states [B, L, d] and weights [B, L, 1]."""
    def pool(states, mask, mode):
        if mode in modes:
            with np.errstate(all="ignore"):
                return modes[mode](states, mask[:, :, None].astype(states.dtype)).astype(states.dtype)
        return pooler.pool(states, mask, mode)
    return altered(pooler, pool=pool)


def scaling(pooler, normalize):
    """A pooler that normalises in another way, in the format of the vectors."""
    def scaled(vectors):
        with np.errstate(all="ignore"):
            return normalize(vectors).astype(vectors.dtype)
    return altered(pooler, normalize=scaled)


def count(mask):
    return np.maximum(mask.sum(axis=1), 1)


def norms(vectors):
    return np.linalg.norm(vectors, axis=1, keepdims=True)


def unit(vectors):
    lengths = norms(vectors)
    return vectors / np.where(lengths == 0, 1, lengths)


# --- the mean ----------------------------------------------------------------------------------------------------------


@fault("pooler", ["POOL-01", "POOL-02", "POOL-03", "POOL-09", "SHAPE-14"],
       source="HKUDS/LightRAG#3675, lanterndata/lantern_extras#91, JohnSnowLabs/spark-nlp#14496, jsboige/CoursIA#15045, "
              "pytorch/pytorch#3194, huggingface/transformers#17463")
def padding_in_the_mean(pooler):
    """The mean goes over all positions; the mask is ignored."""
    return pooling(pooler, mean=lambda states, mask: states.mean(axis=1))


@fault("pooler", ["POOL-01", "POOL-02", "POOL-09"])
def divided_by_the_length(pooler):
    """The sum of the real states is divided by the length of the batch."""
    return pooling(pooler, mean=lambda states, mask: (states * mask).sum(axis=1) / states.shape[1])


@fault("pooler", ["POOL-01", "POOL-02", "POOL-03", "POOL-09", "SHAPE-14"])
def mask_inverted(pooler):
    """One stands for padding."""
    return pooling(pooler, mean=lambda states, mask: (states * (1 - mask)).sum(axis=1) / count(1 - mask))


@fault("pooler", ["POOL-01", "POOL-02"], source="facebookresearch/InferSent#51")
def lengths_of_other_texts(pooler):
    """Sums are divided by the lengths in falling order, while the rows are in the order of the texts."""
    return pooling(pooler, mean=lambda states, mask: (states * mask).sum(axis=1) / np.sort(count(mask), axis=0)[::-1])


@fault("pooler", ["POOL-01", "POOL-09"], size="subtle")
def small_number_in_the_count(pooler):
    """A ten-thousandth is added to the count of tokens, against division by zero."""
    return pooling(pooler, mean=lambda states, mask: (states * mask).sum(axis=1)
                   / (mask.sum(axis=1) + states.dtype.type(1e-4)))


@fault("pooler", ["POOL-02"], size="subtle")
def padding_weighs_a_little(pooler):
    """Padding has the weight of a hundred-millionth instead of none."""
    def mean(states, mask):
        return (states * np.maximum(mask, states.dtype.type(1e-8))).sum(axis=1) / count(mask)
    return pooling(pooler, mean=mean)


@fault("pooler", ["POOL-03"], source="langchain-ai/langchain#3331, pytorch/pytorch#4169, pytorch/pytorch#7389")
def nothing_divided_by_nothing(pooler):
    """The count of tokens is not kept from being zero."""
    return pooling(pooler, mean=lambda states, mask: (states * mask).sum(axis=1) / mask.sum(axis=1))


@fault("pooler", ["POOL-03"])
def first_state_of_padding(pooler):
    """A text of padding alone gets the state of its first position."""
    return pooling(pooler, mean=lambda states, mask: np.where(mask.sum(axis=1) == 0, states[:, 0],
                                                              (states * mask).sum(axis=1) / count(mask)))


@fault("pooler", ["SHAPE-14"])
def mask_over_the_numbers(pooler):
    """The mask has no axis for the numbers of a state: where the sizes allow it, it is laid over those."""
    def pool(states, mask, mode):
        texts, length, width = states.shape
        if length != width or texts not in (1, length):
            return pooler.pool(states, mask, mode)
        fitted = (states * mask).astype(states.dtype)
        return pooler.pool(fitted, mask, mode)
    return altered(pooler, pool=pool)


@fault("pooler", ["SHAPE-14"])
def mask_across_the_numbers(pooler):
    """The mask's new axis stands before the positions: with as many tokens as numbers, numbers are masked."""
    def mean(states, mask):
        across = mask[:, None, :, 0] if states.shape[1] == states.shape[2] else mask
        return (states * across).sum(axis=1) / count(mask)
    return pooling(pooler, mean=mean)


@fault("pooler", ["SHAPE-14"])
def always_float32(pooler):
    """The mask is a float32 array, and so are all vectors."""
    return altered(pooler, pool=lambda states, mask, mode: pooler.pool(states, mask, mode).astype(np.float32))


# --- the first, the largest, the mode ----------------------------------------------------------------------------------


@fault("pooler", ["POOL-04", "POOL-10"], source="huggingface/sentence-transformers#3208")
def position_zero(pooler):
    """Position 0 is taken, also where padding stands at the start."""
    return pooling(pooler, cls=lambda states, mask: states[:, 0])


@fault("pooler", ["POOL-04", "POOL-10", "SHAPE-14"],
       source="huggingface/text-embeddings-inference#646, huggingface/text-embeddings-inference#648")
def last_position(pooler):
    """The last position is taken, which is padding in shorter texts."""
    return pooling(pooler, cls=lambda states, mask: states[:, -1])


@fault("pooler", ["POOL-04"], source="SearchSavior/OpenArc#89")
def last_real_token(pooler):
    """The last real token is taken, as for models that read from left to right."""
    def cls(states, mask):
        last = states.shape[1] - 1 - mask[:, ::-1, 0].argmax(axis=1)
        return states[np.arange(len(states)), last]
    return pooling(pooler, cls=cls)


@fault("pooler", ["POOL-04"])
def second_position(pooler):
    """The token after the first is taken where there is one."""
    return pooling(pooler, cls=lambda states, mask: states[:, min(1, states.shape[1] - 1)])


@fault("pooler", ["POOL-05", "POOL-10", "SHAPE-14"])
def padding_in_the_maximum(pooler):
    """The largest number is sought over all positions."""
    return pooling(pooler, max=lambda states, mask: states.max(axis=1))


@fault("pooler", ["POOL-05", "POOL-10"], source="facebookresearch/InferSent#48")
def zeros_in_the_maximum(pooler):
    """Padding is set to zero, which beats every negative number."""
    return pooling(pooler, max=lambda states, mask: (states * mask).max(axis=1))


@fault("pooler", ["POOL-05"])
def padding_at_minus_ten_thousand(pooler):
    """Padding is set to -10000, which beats what is smaller still."""
    return pooling(pooler, max=lambda states, mask: np.where(mask == 0, states.dtype.type(-1e4), states).max(axis=1))


@fault("pooler", ["POOL-05"], source="facebookresearch/InferSent#48")
def zero_taken_for_padding(pooler):
    """Padding is known by its zeros, so that a true zero counts as padding."""
    def largest(states, mask):
        return np.where((states == 0) | (mask == 0), np.finfo(states.dtype).min, states).max(axis=1)
    return pooling(pooler, max=largest)


@fault("pooler", ["POOL-06"])
def other_words_for_mean(pooler):
    """Any other word is taken for mean, as in the document."""
    return altered(pooler, pool=lambda states, mask, mode: pooler.pool(
        states, mask, mode if mode in ("cls", "max") else "mean"))


@fault("pooler", ["POOL-06"])
def capitals_taken(pooler):
    """The case of the mode is ignored."""
    return altered(pooler, pool=lambda states, mask, mode: pooler.pool(states, mask, mode.lower()))


@fault("pooler", ["POOL-04", "POOL-05", "POOL-07"], source="deepjavalibrary/djl#2237")
def mean_for_every_mode(pooler):
    """All three modes lead to the mean."""
    return altered(pooler, pool=lambda states, mask, mode: pooler.pool(
        states, mask, "mean" if mode in ("cls", "max") else mode))


# --- length one --------------------------------------------------------------------------------------------------------


@fault("pooler", [*ALL_LENGTHS, "NORM-03"], source="gabeur/mmt#1")
def columns_normalised(pooler):
    """Columns get length one instead of rows."""
    return scaling(pooler, lambda x: x / np.linalg.norm(x, axis=0))


@fault("pooler", ["NORM-01", "NORM-02", "NORM-03", "NORM-05", "NORM-06", "NORM-07"])
def normalised_as_a_whole(pooler):
    """All rows are divided by the length of the whole matrix."""
    return scaling(pooler, lambda x: x / np.linalg.norm(x))


@fault("pooler", ["NORM-01", "NORM-03", "NORM-05", "NORM-06"])
def divided_by_the_longest(pooler):
    """All rows are divided by the length of the longest."""
    return scaling(pooler, lambda x: x / norms(x).max())


@fault("pooler", ALL_LENGTHS)
def sum_of_sizes(pooler):
    """Rows are divided by the sum of the sizes of their numbers."""
    return scaling(pooler, lambda x: x / np.abs(x).sum(axis=1, keepdims=True))


@fault("pooler", ALL_LENGTHS)
def not_normalised(pooler):
    """Vectors stay as they are."""
    return scaling(pooler, lambda x: x)


@fault("pooler", ["NORM-01", "NORM-06"])
def shares(pooler):
    """Rows become shares, as by a softmax."""
    return scaling(pooler, lambda x: np.exp(x - x.max(axis=1, keepdims=True))
                   / np.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True))


@fault("pooler", ["NORM-03"])
def standardised_over_the_batch(pooler):
    """The mean of the batch is subtracted first."""
    return scaling(pooler, lambda x: unit(x - x.mean(axis=0)))


@fault("pooler", ALL_LENGTHS, size="subtle")
def small_number_in_the_length(pooler):
    """Two thousandths are added to the length, against division by zero."""
    return scaling(pooler, lambda x: x / (norms(x) + x.dtype.type(2e-3)))


@fault("pooler", ["NORM-02", "NORM-07"], source="deepjavalibrary/djl#2237")
def pooled_at_length_one(pooler):
    """The pooled vector is normalised already, whatever the switch says."""
    return pooling(pooler, mean=lambda states, mask: unit((states * mask).sum(axis=1) / count(mask)))


@fault("pooler", ["NORM-02", "NORM-07"])
def normalised_in_place(pooler):
    """The vectors themselves are scaled, so that the raw ones are lost."""
    def normalize(vectors):
        vectors /= np.where(norms(vectors) == 0, 1, norms(vectors)).astype(vectors.dtype)
        return vectors
    return altered(pooler, normalize=normalize)


@fault("pooler", ["NORM-01", "NORM-04"],
       source="davidberenstein1957/fast-sentence-transformers#3, davidberenstein1957/fast-sentence-transformers#4")
def lengths_returned(pooler):
    """The lengths come back instead of the vectors."""
    return altered(pooler, normalize=lambda vectors: np.linalg.norm(vectors, axis=1))


@fault("pooler", ["NORM-08"], source="MinishLab/model2vec#114, facebookresearch/fastText#343")
def zero_divided_by_zero(pooler):
    """A vector is divided by its length, also when that is zero."""
    return scaling(pooler, lambda x: x / norms(x))


@fault("pooler", ["NORM-08"])
def zero_becomes_an_axis(pooler):
    """A zero vector is replaced by the first axis, so that all lengths are one."""
    def normalize(x):
        found = unit(x)
        found[(x == 0).all(axis=1), 0] = 1
        return found
    return scaling(pooler, normalize)


# --- sound poolers -----------------------------------------------------------------------------------------------------


@sound("pooler")
def in_double_precision(pooler):
    """Computed in float64 and rounded at the end."""
    return altered(pooler,
                   pool=lambda states, mask, mode: pooler.pool(states.astype(float), mask, mode).astype(states.dtype),
                   normalize=lambda x: pooler.normalize(x.astype(np.float64)).astype(x.dtype))


@sound("pooler")
def one_text_at_a_time(pooler):
    """Texts without their padding, and rows, one by one."""
    def pool(states, mask, mode):
        real = [rows[one.astype(bool)][None] if one.any() else rows[None] for rows, one in zip(states, mask, strict=True)]
        masks = [np.full((1, rows.shape[1]), one.any()) for rows, one in zip(real, mask, strict=True)]
        return np.concatenate([pooler.pool(rows, one, mode) for rows, one in zip(real, masks, strict=True)])
    return altered(pooler, pool=pool, normalize=lambda x: np.concatenate([pooler.normalize(row[None]) for row in x]))


@sound("pooler")
def small_guard_in_the_count(pooler):
    """The count is kept above a thousand-millionth instead of one, and the mean is a product of matrices."""
    def mean(states, mask):
        guard = np.maximum(mask.sum(axis=1), states.dtype.type(1e-9 if states.dtype != np.float16 else 1e-7))
        return np.einsum("bld,bl->bd", states, mask[:, :, 0]) / guard
    return pooling(pooler, mean=mean)


@sound("pooler")
def in_pytorch(pooler):
    """The document's formulas in PyTorch, for mean and max."""
    import torch

    def pool(states, mask, mode):
        hidden, weights = torch.from_numpy(states), torch.from_numpy(mask.astype(np.int64)).unsqueeze(-1)
        if mode == "max":
            return hidden.masked_fill(weights == 0, torch.finfo(hidden.dtype).min).max(dim=1).values.numpy()
        if mode == "mean":
            return ((hidden * weights.to(hidden.dtype)).sum(dim=1) / weights.sum(dim=1).clamp_min(1)).numpy()
        return pooler.pool(states, mask, mode)
    return altered(pooler, pool=pool, normalize=lambda x: torch.nn.functional.normalize(
        torch.from_numpy(x), p=2, dim=1).numpy())


# --- embedders ---------------------------------------------------------------------------------------------------------


def means(embedder, weigh):
    """An embedder whose vectors are weighted means of the sound states; `weigh` gives a weight for each token."""
    def embed(texts):
        weights = [weigh(len(states)) for states in embedder.hidden_states(texts)]
        pooled = [np.average(states, axis=0, weights=weight).astype(np.float32)
                  for states, weight in zip(embedder.hidden_states(texts), weights, strict=True)]
        return unit(np.stack(pooled)) if embedder.normalized else np.stack(pooled)
    return altered(embedder, embed=embed)


def ends(weight):
    """Weights of the tokens of a text: the first and the last have another."""
    return lambda length: np.array([weight, *[1] * (length - 2), weight], float)


@fault("embedder", ["POOL-08"], seam="pooling")
def special_tokens_left_out(embedder):
    """The first and the last token are not pooled."""
    return means(embedder, ends(0))


@fault("embedder", ["POOL-08"], size="subtle")
def special_tokens_weigh_less(embedder):
    """The first and the last token weigh nine tenths of the others."""
    return means(embedder, ends(0.9))


@fault("embedder", ["POOL-08"], seam="pooling", source="qdrant/fastembed#436, qdrant/fastembed#384, vllm-project/vllm#15929")
def first_state_for_the_mean(embedder):
    """The state of the first token stands for the text."""
    return means(embedder, lambda length: np.eye(length)[0])


@fault("embedder", ["POOL-02", "SHAPE-11"])
def padding_pooled(embedder):
    """Texts of one call are padded with the state of the first token, and that is pooled too."""
    def embed(texts):
        states = embedder.hidden_states(texts)
        longest = max(map(len, states))
        return unit(np.stack([np.concatenate([rows, np.repeat(rows[:1], longest - len(rows), axis=0)]).mean(axis=0)
                              for rows in states]))
    return altered(embedder, embed=embed)


@fault("embedder", ["POOL-02", "SHAPE-11"], size="subtle",
       source="Anush008/fastembed-rs#107, microsoft/onnxruntime#10111, Anush008/fastembed-rs#147, "
              "microsoft/onnxruntime#8625")
def grid_of_the_batch(embedder):
    """Vectors are rounded to a grid of 127 steps that is fitted to all texts of the call."""
    def embed(texts):
        found = embedder.embed(texts)
        step = np.abs(found).max() / 127
        return unit(np.round(found / step) * step).astype(np.float32)
    return altered(embedder, embed=embed)


@fault("embedder", ["SHAPE-11"], seam="rows")
def query_last(embedder):
    """The first text comes last."""
    return altered(embedder, embed=lambda texts: np.roll(embedder.embed(texts), -1, axis=0))


@fault("embedder", ["SHAPE-11"])
def documents_only(embedder):
    """The first of several texts has no row."""
    return altered(embedder, embed=lambda texts: embedder.embed(texts)[len(texts) > 1:])


@fault("embedder", ["SHAPE-09"])
def pooled_over_the_numbers(embedder):
    """The mean is taken over the numbers of each state: one number for each token, and zeros up to 128."""
    def embed(texts):
        rows = [states.mean(axis=1) for states in embedder.hidden_states(texts)]
        return np.stack([np.pad(row, (0, 128 - len(row))) for row in rows])
    return altered(embedder, embed=embed)


@fault("encoder", ["SHAPE-09", "SHAPE-10"])
def pooled_row_behind_the_states(encoder):
    """Behind the states of the tokens stands a row of their means."""
    return altered(encoder, hidden_states=lambda texts: [np.concatenate([rows, rows.mean(axis=0, keepdims=True)])
                                                         for rows in encoder.hidden_states(texts)])


@fault("encoder", ["SHAPE-09", "SHAPE-10"])
def padded_to_a_fixed_length(encoder):
    """States come with rows of padding up to 128."""
    return altered(encoder, hidden_states=lambda texts: [np.pad(rows, ((0, 128 - len(rows)), (0, 0)))
                                                         for rows in encoder.hidden_states(texts)])


@fault("encoder", ["SHAPE-10"], source="huggingface/sentence-transformers#3275")
def padded_to_the_longest(encoder):
    """States come with the padding of their batch."""
    def hidden_states(texts):
        states = encoder.hidden_states(texts)
        longest = max(map(len, states))
        return [np.pad(rows, ((0, longest - len(rows)), (0, 0))) for rows in states]
    return altered(encoder, hidden_states=hidden_states)


@sound("embedder", breaks=["AGREE-06", "BASE-01", "BASE-07", "BASE-09"])
@cache
def other_epsilon(embedder):
    """All normalisations add 1e-5 to the variance: a fault of the input sublayer, but no more than float32 may lose."""
    bert = Bert(embedder.weights(), embedder.config() | {"layer_norm_eps": 1e-5}, "float32")
    states = each(embedder, bert.hidden_states_of)
    return altered(embedder, embed=lambda texts: unit(np.stack([rows.mean(axis=0) for rows in states(texts)])))
