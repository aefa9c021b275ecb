"""Faulty and sound matrices of cosines, and encoders without meaning."""

import numpy as np

from ...proof import altered, fault, sound

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
