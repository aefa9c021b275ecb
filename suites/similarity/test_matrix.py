"""The matrix of cosines, on the vectors of the documents' six texts and on generated ones."""

from itertools import product

import numpy as np
import pytest

from ... import bounds
from ...data import generator, pooled, texts
from . import oracle


def document_vectors():
    """[6, 384]: means over the hidden states of the six documents, not normalised; row 0 of the stored states is the query."""
    return pooled("retrieval")[1:]


def bound(matrix, vectors):
    return bounds.cosine(vectors.shape[1], matrix, vectors)


@pytest.mark.claim("SIMM-01")
@pytest.mark.parametrize(("i", "j"), list(product(range(6), range(6))))
def test_each_cell_is_a_cosine(similarity, evidence, i, j):
    """One of the 36 cells against the cosine of its two vectors."""
    vectors = document_vectors()
    matrix = similarity.matrix(vectors)
    evidence.close(matrix[i, j], oracle.cosine(vectors[i], vectors[j]), bound(matrix, vectors))


@pytest.mark.claim("SIMM-01")
def test_each_cell_of_generated_vectors_is_a_cosine(similarity, evidence, seed):
    """Seven vectors of 33 numbers, with lengths from a thousandth to a thousand."""
    lengths = 10.0 ** np.arange(-3, 4)[:, None]
    vectors = (generator(seed, "matrix").standard_normal((7, 33)) * lengths).astype(np.float32)
    matrix = similarity.matrix(vectors)
    evidence.close(matrix, oracle.cosine_matrix(vectors), bound(matrix, vectors))


@pytest.mark.claim("SIMM-02")
def test_the_matrix_is_symmetric(similarity, evidence):
    """Each cell and the one across the diagonal."""
    vectors = document_vectors()
    matrix = similarity.matrix(vectors)
    evidence.close(matrix, matrix.T, bound(matrix, vectors).scaled(2, "twice, both cells round"))


@pytest.mark.claim("SIMM-03")
def test_the_diagonal_is_one(similarity, evidence):
    """Every vector with itself."""
    vectors = document_vectors()
    matrix = similarity.matrix(vectors)
    evidence.close(np.diag(matrix), np.ones(6), bound(matrix, vectors))


@pytest.mark.claim("SIMM-04")
def test_the_cell_of_the_first_two_documents(similarity, evidence):
    """Cell [0, 1] is the cosine of D1 and D2, and is not that of D2 and D3, which is smaller by more than 0.4."""
    vectors = document_vectors()
    matrix = similarity.matrix(vectors)
    first, second = oracle.cosine(vectors[0], vectors[1]), oracle.cosine(vectors[1], vectors[2])
    evidence.close(matrix[0, 1], first, bound(matrix, vectors))
    evidence.greater(matrix[0, 1], second, (first - second) / 2, "half the distance between the two cosines")


@pytest.mark.claim("SIMM-05")
def test_the_cosine_written_out(similarity, evidence):
    """Sum of products over the product of the norms, in float64, for D1 and D2."""
    vectors = document_vectors()
    matrix = similarity.matrix(vectors)
    a, b = vectors[:2].astype(np.float64)
    manual = (a * b).sum() / (np.sqrt((a * a).sum()) * np.sqrt((b * b).sum()))
    evidence.close(matrix[0, 1], manual, bound(matrix, vectors))


@pytest.mark.claim("SIMM-06")
def test_normalising_before_makes_no_difference(similarity, evidence):
    """The matrix of the vectors and of the same vectors scaled to length one; their plain inner products do differ."""
    vectors = document_vectors()
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    raw, scaled = similarity.matrix(vectors), similarity.matrix(unit)
    evidence.close(scaled, raw, bound(raw, vectors).scaled(2, "twice, both matrices round"))
    evidence.differs(vectors @ vectors.T, unit @ unit.T, 1.0, "the vectors are about five long")


@pytest.mark.claim("SIMM-07")
@pytest.mark.parametrize("row", range(6))
def test_each_row_is_normalised_by_itself(similarity, evidence, row):
    """One document's vector ten times as long."""
    vectors = document_vectors()
    longer = vectors.copy()
    longer[row] *= 10
    matrix = similarity.matrix(vectors)
    evidence.close(similarity.matrix(longer), matrix, bound(matrix, vectors).scaled(2, "twice, both matrices round"))


@pytest.mark.claim("SIMM-08")
def test_the_matrix_is_that_of_unit_vectors(similarity, evidence):
    """Eigenvalues, largest cell and trace. An eigenvalue moves by at most the sum of the errors of a row (Gershgorin)."""
    vectors = document_vectors()
    matrix = similarity.matrix(vectors)
    one = bound(matrix, vectors)
    six = one.scaled(6, "times six, the cells of a row or of the diagonal")
    exact = matrix.astype(np.float64)
    evidence.at_most(-np.linalg.eigvalsh((exact + exact.T) / 2).min(), six, "the smallest eigenvalue, negated")
    evidence.at_most(np.abs(exact).max() - 1, one, "the largest cell, less one")
    evidence.close(np.trace(exact), 6.0, six)


@pytest.mark.claim("SIMM-09")
def test_documents_of_one_category_are_more_alike(embedder, evidence):
    """The least alike pair of one category against the most alike pair of two categories."""
    documents = texts()["retrieval"]["documents"]
    cosines = oracle.cosine_matrix(embedder.embed([document["text"] for document in documents]))
    pairs = [(documents[i]["category"] == documents[j]["category"], cosines[i, j]) for i in range(6) for j in range(i)]
    same = min(cosine for alike, cosine in pairs if alike)
    cross = max(cosine for alike, cosine in pairs if not alike)
    evidence.at_most(oracle.share(same, cross), oracle.NEARER, "the least alike of one category")


@pytest.mark.claim("BASE-01")
def test_recorded_matrix(embedder, evidence):
    """The 36 cosines of the bundled model's own embeddings against the recorded ones."""
    sentences = [document["text"] for document in texts()["retrieval"]["documents"]]

    def exact():
        from ..encoder_input.bundled_oracle import embeddings

        return {"matrix": oracle.cosine_matrix(embeddings(sentences))}

    matrix = oracle.cosine_matrix(embedder.embed(sentences)).astype(np.float32)
    evidence.baseline("bundled_matrix", {"matrix": matrix}, exact)
    names = [f"D{number}" for number in range(1, 7)]
    evidence.figure("matrix", "Cosines of the six documents", {"rows": names, "columns": names, "values": matrix})
