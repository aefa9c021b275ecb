"""A product of one-hot codes with a table is a lookup in it."""

import operator

import numpy as np
import pytest

from ...bounds import Bound
from ...data import designed_ids, generated_ids, texts
from ...subjects.torch_stack import to_numpy
from . import oracle

EXACT = Bound(0.0, "every term of the product is 0 x or 1 x, so that nothing is rounded")
#: beside usual sizes a square table, on which rows and columns can be mistaken for each other
SIZES = ((30, 8), (5, 5), (1, 4), (769, 16))


@pytest.mark.claim("ONEHOT-07")
def test_a_lookup_is_a_product_with_one_code(layer, evidence):
    """Single ids one after the other, among them the first and the last."""
    for made in layer.over(SIZES):
        for row in (0, made.shape[0] // 3, made.shape[0] - 1):
            evidence.close(made.lookup(np.array(row)), oracle.product(np.array(row), made.table()), EXACT)


@pytest.mark.claim("ONEHOT-08")
def test_a_lookup_of_a_batch_is_a_product_with_its_codes(layer, evidence):
    """The documents' batch of two sequences of four on six rows, with a repeated id and the padding id."""
    for made in layer.over(((6, 3),)):
        ids = np.array(texts()["seeded"]["ids"])
        evidence.equal(list(oracle.one_hot(ids, made.shape[0]).shape), [2, 4, made.shape[0]])
        evidence.close(made.lookup(ids), oracle.product(ids, made.table()), EXACT)


@pytest.mark.claim("ONEHOT-08")
def test_a_lookup_of_other_batches_is_a_product_with_their_codes(layer, evidence, seed):
    """Designed ids, and some drawn from the run's seed, on several tables."""
    for made in layer.over(SIZES):
        rows = made.shape[0]
        for ids in (designed_ids(rows).reshape(2, 4), generated_ids(rows, seed)[:, :3]):
            evidence.close(made.lookup(ids), oracle.product(ids, made.table()), EXACT)


@pytest.mark.claim("ONEHOT-10")
def test_a_lookup_multiplies_nothing_and_needs_no_memory_for_the_vocabulary(module, evidence):
    """Operations and bytes of the same ids in a table of 30 rows and in one of 250,037."""
    import torch

    embedding, ids = module.embedding(), torch.from_numpy(designed_ids(30))
    output = len(ids) * 4 * embedding.weight.element_size()
    found = []
    for rows in (30, 250_037):
        table = {"weight": torch.zeros(rows, 4, dtype=embedding.weight.dtype)}
        found.append(oracle.cost(lambda table=table: module.call("forward", torch.func.functional_call, embedding, table,
                                                                 (ids,))))
    (small_products, small_bytes), (large_products, large_bytes) = found
    evidence.equal([small_products, large_products], [0, 0])
    evidence.equal(large_bytes, small_bytes)
    evidence.equal(small_bytes >= output, True)  # the counter sees at least the output itself


@pytest.mark.claim("ONEHOT-11")
def test_codes_are_whole_numbers_and_must_be_cast(module, evidence):
    """PyTorch refuses the product of its own codes with the table, and takes it once they have the table's format."""
    import torch

    embedding, ids = module.embedding(), torch.tensor([2, 0, 2])
    codes = torch.nn.functional.one_hot(ids, len(embedding.weight))
    evidence.equal(str(codes.dtype), "torch.int64")
    evidence.refuses(lambda: module.call("matmul", operator.matmul, codes, embedding.weight), (RuntimeError,))
    with torch.no_grad():
        product, looked_up = codes.to(embedding.weight.dtype) @ embedding.weight, embedding(ids)
    evidence.close(to_numpy(looked_up), to_numpy(product), EXACT)
