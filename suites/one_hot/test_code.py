"""One-hot codes themselves."""

import numpy as np
import pytest

from ...data import designed_ids, generator, texts
from . import oracle

#: one word, the documents' four, an odd size, one beyond what a byte holds, and the documents' fifty thousand
VOCABULARIES = (1, 4, 33, 257, 50_000)


def values(codes):
    """The codes as float64: a code may be stored as whole, floating or truth values."""
    return codes.astype(np.float64)


def codes_of_words(encodings, rows=4):
    """[rows, rows] float64: the codes of all words of a vocabulary."""
    return values(encodings.one_hot(np.arange(rows), rows))


def others(pairs):
    """[N, N] -> [N, N - 1]: every row without the word itself."""
    return pairs[~np.eye(len(pairs), dtype=bool)].reshape(len(pairs), -1)


def squared_distances(codes):
    """[N, V] -> [N, N]: exact for small whole numbers."""
    products = oracle.gram(codes)
    lengths = products.diagonal()
    return lengths[:, None] + lengths - 2 * products


@pytest.mark.claim("ONEHOT-01")
@pytest.mark.parametrize("rows", [4, 33])
def test_word_k_has_row_k_of_the_identity(encodings, evidence, rows):
    """All words of the documents' vocabulary, and of a larger one."""
    evidence.equal(codes_of_words(encodings, rows), np.eye(rows))


@pytest.mark.claim("ONEHOT-02")
@pytest.mark.parametrize("rows", VOCABULARIES)
def test_a_code_is_as_long_as_the_vocabulary(encodings, evidence, rows):
    """The code of one word alone."""
    evidence.equal(list(encodings.one_hot(np.array(rows // 2), rows).shape), [rows])


@pytest.mark.claim("ONEHOT-03")
@pytest.mark.parametrize("rows", VOCABULARIES)
def test_a_code_holds_a_single_one(encodings, evidence, rows):
    """Numbers other than zero and the largest number, for ids that include the first and the last."""
    codes = values(encodings.one_hot(designed_ids(rows), rows))
    evidence.equal(np.count_nonzero(codes, axis=1).tolist(), [1] * len(codes))
    evidence.equal(codes.max(axis=1), np.ones(len(codes)))
    evidence.equal(int((codes == 0).sum()), len(codes) * (rows - 1))


@pytest.mark.claim("ONEHOT-04")
@pytest.mark.parametrize("rows", [4, 33])
def test_different_words_are_orthogonal(encodings, evidence, rows):
    """All inner products: one on the diagonal, zero elsewhere."""
    evidence.equal(oracle.gram(codes_of_words(encodings, rows)), np.eye(rows))


@pytest.mark.claim("ONEHOT-05")
def test_all_words_are_equally_far_apart(encodings, evidence):
    """Cat and dog against cat and book; Euclidean distances are the root of two, Manhattan distances two."""
    codes = codes_of_words(encodings)
    cat, dog, _, book = codes
    evidence.equal(float(np.sqrt(((cat - dog) ** 2).sum())), float(np.sqrt(((cat - book) ** 2).sum())))
    evidence.equal(others(squared_distances(codes)), np.full((4, 3), 2.0))
    evidence.equal(others(np.abs(codes[:, None] - codes).sum(axis=-1)), np.full((4, 3), 2.0))


@pytest.mark.claim("ONEHOT-06")
@pytest.mark.parametrize("rows", [4, 33])
def test_no_word_is_more_alike_than_another(encodings, evidence, rows):
    """For every word, all others have the same inner product, cosine and distance."""
    codes = codes_of_words(encodings, rows)
    products = oracle.gram(codes)
    lengths = products.diagonal()
    evidence.equal(bool((lengths > 0).all()), True)
    for measure in (products, products / np.sqrt(np.outer(lengths, lengths)), squared_distances(codes)):
        found = others(measure)
        evidence.equal(found, np.broadcast_to(found[:, :1], found.shape))


@pytest.mark.claim("ONEHOT-09")
@pytest.mark.parametrize("ids", [*texts()["seeded"]["ids"], [0, 0, 0, 0]])
def test_the_width_is_the_number_of_rows(encodings, evidence, seed, ids):
    """Batches that lack the largest id of six: their codes can still be multiplied with the table of six rows."""
    table = generator(seed, "one-hot table").standard_normal((6, 3))
    codes = values(encodings.one_hot(np.array(ids), 6))
    evidence.equal(list(codes.shape), [4, 6])
    evidence.equal(codes @ table, table[ids])


@pytest.mark.claim("ONEHOT-12")
def test_a_code_grows_with_the_vocabulary(encodings, evidence):
    """Bytes of one code for vocabularies a hundred and a thousand times as large: so many times as many."""
    small, middle, large = (encodings.one_hot(np.array(1), rows).nbytes for rows in (50, 5_000, 50_000))
    evidence.equal([middle / small, large / small], [100.0, 1000.0])
