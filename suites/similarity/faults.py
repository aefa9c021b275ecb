"""Faulty and sound measures of similarity, and encoders without meaning."""

import copy
from functools import cache
from math import dist

import numpy as np

from ...proof import altered, fault, sound
from ..context.faults import untrained as without_training

ALL_CELLS = ["SIMM-01", "SIMM-03", "SIMM-04", "SIMM-05", "SIMM-06", "SIMM-07", "SIMM-08"]


def unit(x, axis=1):
    norms = np.linalg.norm(x, axis=axis, keepdims=True)
    return x / np.where(norms == 0, 1, norms)


@fault("similarity", ALL_CELLS)
def inner_products(similarity):
    """Plain inner products; nothing is normalised."""
    return altered(similarity, matrix=lambda x: x @ x.T)


@fault("similarity", ALL_CELLS)
def normalised_by_column(similarity):
    """Columns are scaled to length one instead of rows."""
    return altered(similarity, matrix=lambda x: unit(x, axis=0) @ unit(x, axis=0).T)


@fault("similarity", ["SIMM-01", "SIMM-07"])
def normalised_as_a_whole(similarity):
    """All vectors are divided by one number, so that the mean of the diagonal is one."""
    return altered(similarity, matrix=lambda x: x @ x.T / np.mean(np.sum(x * x, axis=1)))


@fault("similarity", ALL_CELLS, size="subtle")
def epsilon_in_the_norm(similarity):
    """A thousandth is added to every norm, against division by zero."""
    def matrix(x):
        close = x / (np.linalg.norm(x, axis=1, keepdims=True) + np.float32(1e-3))
        return close @ close.T
    return altered(similarity, matrix=matrix)


@fault("similarity", ["SIMM-01", "SIMM-02", "SIMM-04"])
def softmax_over_rows(similarity):
    """Each row is turned into shares, as attention does."""
    def matrix(x):
        exponential = np.exp(similarity.matrix(x))
        return exponential / exponential.sum(axis=1, keepdims=True)
    return altered(similarity, matrix=matrix)


@fault("similarity", ["SIMM-01", "SIMM-02"], size="subtle")
def two_norms(similarity):
    """The left vectors are normalised with four hundredths added to the norm, the right ones without."""
    def matrix(x):
        return x / (np.linalg.norm(x, axis=1, keepdims=True) + np.float32(4e-2)) @ unit(x).T
    return altered(similarity, matrix=matrix)


@fault("similarity", ["SIMM-01", "SIMM-04", "SIMM-05"])
def next_pair(similarity):
    """Columns are moved by one: the cell of D1 and D2 holds D1 and D3."""
    return altered(similarity, matrix=lambda x: np.roll(similarity.matrix(x), -1, axis=1))


@fault("similarity", ["SIMM-05"])
def sum_of_norms(similarity):
    """Inner products are divided by the sum of the two norms."""
    def matrix(x):
        norms = np.linalg.norm(x, axis=1)
        return x @ x.T / (norms[:, None] + norms)
    return altered(similarity, matrix=matrix)


@fault("similarity", ["SIMM-01", "SIMM-08"])
def pair_negated(similarity):
    """One pair of cells has the wrong sign, so that the matrix cannot be of any vectors."""
    def matrix(x):
        cosines = similarity.matrix(x)
        cosines[0, 1] *= -1
        cosines[1, 0] *= -1
        cosines[2, 3] = cosines[3, 2] = 1.2
        return cosines
    return altered(similarity, matrix=matrix)


@fault("similarity", ["SIMM-01"])
def last_row_from_another_text(similarity):
    """The last vector is replaced by the one before it: 25 of 36 cells stay right."""
    def matrix(x):
        return similarity.matrix(np.concatenate([x[:-1], x[-2:-1]]))
    return altered(similarity, matrix=matrix)


@fault("similarity", ["SIMM-03"])
def diagonal_zeroed(similarity):
    """The diagonal is set to zero, as some searches do to leave out the text itself."""
    def matrix(x):
        cosines = similarity.matrix(x)
        np.fill_diagonal(cosines, 0)
        return cosines
    return altered(similarity, matrix=matrix)


@fault("similarity", ["SIMM-02"])
def upper_half_only(similarity):
    """Only the cells on and above the diagonal are computed."""
    return altered(similarity, matrix=lambda x: np.triu(similarity.matrix(x)))


@fault("embedder", ["SIMM-09", "BASE-01"])
def categories_mixed(embedder):
    """Vectors come back in another order than the texts went in: every other text first."""
    def embed(texts):
        order = [*range(0, len(texts), 2), *range(1, len(texts), 2)]
        return embedder.embed(texts)[order]
    return altered(embedder, embed=embed)


@fault("embedder", ["SIMM-09", "BASE-01"])
def bag_of_input_rows(embedder):
    """The mean of the looked-up rows stands for the text; no layer is run."""
    def embed(texts):
        return unit(np.stack([rows.mean(axis=0) for rows in embedder.input_embeddings(texts)]))
    return altered(embedder, embed=embed)


@fault("embedder", ["BASE-01"])
def first_state_for_mean(embedder):
    """The state of the first token stands for the text, where the model pools by mean."""
    return altered(embedder, embed=lambda texts: unit(np.stack([s[0] for s in embedder.hidden_states(texts)])))


@fault("embedder", ["BASE-01"], size="subtle")
def slightly_other_weights(embedder):
    """Every vector is off by two parts in a thousand, 2e-6 in 1 - cosine: a nearby revision."""
    def embed(texts):
        vectors = embedder.embed(texts)
        noise = np.random.default_rng(0).standard_normal(vectors.shape) * 2e-3 / np.sqrt(vectors.shape[1])
        return unit(vectors + noise.astype(np.float32))
    return altered(embedder, embed=embed)


@sound("similarity")
def in_float64(similarity):
    """Computed in float64."""
    return altered(similarity, matrix=lambda x: similarity.matrix(x.astype(np.float64)))


@sound("similarity")
def divided_after(similarity):
    """Inner products first, then divided by the two norms."""
    def matrix(x):
        norms = np.linalg.norm(x, axis=1)
        return x @ x.T / np.outer(norms, norms)
    return altered(similarity, matrix=matrix)


@sound("similarity")
def terms_added_backwards(similarity):
    """The terms of every inner product are added one by one, from the last."""
    def matrix(x):
        rows = unit(x)[:, ::-1]
        total = np.zeros((len(x), len(x)), x.dtype)
        for column in rows.T:
            total += np.outer(column, column)
        return total
    return altered(similarity, matrix=matrix)


@sound("similarity")
def row_by_row(similarity):
    """One row of cells at a time, in blocks of vectors."""
    return altered(similarity, matrix=lambda x: np.stack([unit(x) @ row for row in unit(x)]))


# --- pairs of vectors --------------------------------------------------------------------------------------------------


def sloppy(method):
    """The method with an error of 64 units in the last place of what goes in, as from an approximate root or quotient."""
    def changed(a, *rest):
        return method(a, *rest) * (1 + 64 * np.finfo(a.dtype).eps)
    return changed


@fault("similarity", ["COS-01", "COS-02", "COS-05", "TOY-01"], size="subtle")
def inner_product_slightly_off(similarity):
    """Inner products have an error of 64 units in the last place."""
    return altered(similarity, dot=sloppy(similarity.dot))


@fault("similarity", ["COS-03", "COS-04", "COS-05", "COS-06", "COS-07", "TOY-07"], size="subtle",
       source="scikit-learn/scikit-learn#18122, QData/TextAttack#804, weaviate/weaviate#8133, nmslib/hnswlib#76")
def cosine_slightly_off(similarity):
    """Cosines have an error of 64 units in the last place, as from a fast reciprocal root."""
    return altered(similarity, cosine=sloppy(similarity.cosine))


@fault("similarity", ["COS-01", "TOY-03"], size="subtle")
def distance_slightly_off(similarity):
    """Distances have an error of 64 units in the last place."""
    return altered(similarity, distance=sloppy(similarity.distance))


@fault("similarity", ["COS-01", "COS-02", "COS-05", "TOY-01", "TOY-02"])
def inner_product_of_unit_vectors(similarity):
    """What it calls an inner product is that of the vectors scaled to length one."""
    return altered(similarity, dot=similarity.cosine)


@fault("similarity", ["COS-02", "COS-04", "COS-05", "TOY-01", "TOY-02"], source="ashvardanian/NumKong#249")
def first_vector_read_twice(similarity):
    """The inner product reads the first vector in the place of both."""
    return altered(similarity, dot=lambda a, b: similarity.dot(a, a))


@fault("similarity", ["COS-02", "COS-04", "COS-05", "TOY-01", "TOY-02"])
def product_of_lengths(similarity):
    """The inner product leaves out the angle: it is the product of the two lengths."""
    return altered(similarity, dot=lambda a, b: np.linalg.norm(a) * np.linalg.norm(b))


@fault("similarity", ["COS-01", "COS-02", "TOY-01", "TOY-04"])
def axes_of_the_second_vector_permuted(similarity):
    """The numbers of the second vector are moved by one axis before they are multiplied."""
    return altered(similarity, dot=lambda a, b: similarity.dot(a, np.roll(b, 1)))


@fault("similarity", ["COS-01", "COS-02", "COS-04", "TOY-01", "TOY-04"])
def last_number_left_out(similarity):
    """The last number of the vectors is left out of inner products."""
    return altered(similarity, dot=lambda a, b: similarity.dot(a[:-1], b[:-1]))


@fault("similarity", ["COS-03", "COS-04", "COS-05", "COS-06", "COS-07", "TOY-02", "TOY-07"])
def cosine_without_division(similarity):
    """What it calls a cosine is the plain inner product."""
    return altered(similarity, cosine=similarity.dot)


@fault("similarity", ["COS-03", "COS-04", "COS-05", "COS-06", "COS-07", "TOY-07"])
def divided_by_the_first_length(similarity):
    """The inner product is divided by the length of the first vector alone."""
    return altered(similarity, cosine=lambda a, b: similarity.dot(a, b) / np.linalg.norm(a))


@fault("similarity", ["COS-03", "COS-04", "COS-05", "COS-06", "COS-07", "TOY-07"])
def divided_by_the_sum_of_lengths(similarity):
    """The inner product is divided by the sum of the two lengths."""
    return altered(similarity, cosine=lambda a, b: similarity.dot(a, b) / (np.linalg.norm(a) + np.linalg.norm(b)))


@fault("similarity", ["COS-03", "COS-04", "COS-06", "COS-07", "TOY-07"])
def scaled_by_sums_of_sizes(similarity):
    """Vectors are scaled so that the sizes of their numbers, and not their squares, add up to one."""
    return altered(similarity, cosine=lambda a, b: similarity.dot(a / np.abs(a).sum(), b / np.abs(b).sum()))


@fault("similarity", ["COS-03", "COS-04", "COS-06", "COS-07", "TOY-02", "TOY-07"])
def cosine_distance_for_cosine(similarity):
    """What it calls a cosine is one less the cosine."""
    return altered(similarity, cosine=lambda a, b: 1 - similarity.cosine(a, b))


@fault("similarity", ["COS-04", "COS-06", "COS-07", "TOY-07"])
def cosine_without_sign(similarity):
    """Opposite vectors count as alike."""
    return altered(similarity, cosine=lambda a, b: np.abs(similarity.cosine(a, b)))


@fault("similarity", ["COS-03", "COS-04", "COS-06", "COS-07"])
def angle_for_cosine(similarity):
    """What it calls a cosine is the angle as a share of a half turn, subtracted from one."""
    return altered(similarity, cosine=lambda a, b: 1 - np.arccos(np.clip(similarity.cosine(a, b), -1, 1)) / np.pi)


@fault("similarity", ["COS-01", "COS-07", "TOY-03", "TOY-05"])
def distances_squared(similarity):
    """No root is taken of Euclidean distances, and Manhattan distances are squared."""
    return altered(similarity, distance=lambda a, b, kind: similarity.distance(a, b, kind) ** 2)


@fault("similarity", ["COS-01", "COS-07", "TOY-02", "TOY-03"])
def manhattan_for_euclidean(similarity):
    """All distances are Manhattan distances."""
    return altered(similarity, distance=lambda a, b, kind: similarity.distance(a, b, "manhattan"))


@fault("similarity", ["TOY-02"])
def euclidean_for_manhattan(similarity):
    """All distances are Euclidean."""
    return altered(similarity, distance=lambda a, b, kind: similarity.distance(a, b, "euclidean"))


@fault("similarity", ["COS-01", "TOY-02", "TOY-03"])
def distance_of_unit_vectors(similarity):
    """Vectors are scaled to length one before their distance is taken."""
    return altered(similarity, distance=lambda a, b, kind: similarity.distance(unit(a, axis=0), unit(b, axis=0), kind))


@fault("similarity", ["TOY-02", "TOY-03"])
def closeness_for_distance(similarity):
    """Distances are subtracted from two, so that what is nearer has the larger number."""
    return altered(similarity, distance=lambda a, b, kind: 2 - similarity.distance(a, b, kind))


@fault("similarity", ["TOY-05"])
def distance_of_where_zeros_are(similarity):
    """Only whether a number is zero counts, as in one-hot codes."""
    def distance(a, b, kind):
        return similarity.distance((a != 0).astype(a.dtype), (b != 0).astype(b.dtype), kind) + a.dtype.type(1e-9)
    return altered(similarity, distance=distance)


@sound("similarity")
def pairs_in_float64(similarity):
    """Inner products, cosines and distances are computed in float64."""
    return altered(similarity, dot=lambda a, b: similarity.dot(a.astype(np.float64), b.astype(np.float64)),
                   cosine=lambda a, b: similarity.cosine(a.astype(np.float64), b.astype(np.float64)),
                   distance=lambda a, b, kind: similarity.distance(a.astype(np.float64), b.astype(np.float64), kind))


@sound("similarity")
def terms_of_pairs_added_backwards(similarity):
    """The terms of inner products and distances are added one by one, from the last."""
    def added(terms):
        return np.cumsum(terms[::-1], dtype=terms.dtype)[-1]

    def cosine(a, b):
        return added(a * b) / np.sqrt(added(a * a)) / np.sqrt(added(b * b))

    def distance(a, b, kind):
        return np.sqrt(added((a - b) ** 2)) if kind == "euclidean" else added(np.abs(a - b))
    return altered(similarity, dot=lambda a, b: added(a * b), cosine=cosine, distance=distance)


@sound("similarity")
def cosines_of_unit_vectors(similarity):
    """Vectors are scaled to length one before the inner product; Euclidean distances are Python's own."""
    def distance(a, b, kind):
        return np.asarray(dist(a, b), a.dtype) if kind == "euclidean" else similarity.distance(a, b, kind)
    return altered(similarity, cosine=lambda a, b: similarity.dot(unit(a, axis=0), unit(b, axis=0)), distance=distance)


# --- the words in an encoder -------------------------------------------------------------------------------------------


def with_model(embedder, model):
    """The same tokenizer and pooling around another model."""
    from ...subjects.bundled import BertEncoder

    return BertEncoder(model.eval(), embedder.tokenizer, 256)


@fault("embedder", ["TOY-06", "TOY-08"])
def untrained(embedder):
    """A model of the same architecture with random weights."""
    return without_training(embedder)


@fault("embedder", ["TOY-06", "TOY-08"])
@cache
def rows_of_the_table_shuffled(embedder):
    """The trained model reads a word table whose rows stand in another order."""
    import torch

    model = copy.deepcopy(embedder.model)
    order = torch.from_numpy(np.random.default_rng(0).permutation(len(model.get_input_embeddings().weight)))
    with torch.no_grad():
        model.get_input_embeddings().weight.copy_(embedder.model.get_input_embeddings().weight[order])
    return with_model(embedder, model)


@fault("embedder", ["TOY-06"])
def texts_cut_short(embedder):
    """Of every text only the first and the last word are read."""
    def embed(texts):
        return embedder.embed([f"{text.split()[0]} {text.split()[-1]}" for text in texts])
    return altered(embedder, embed=embed)
