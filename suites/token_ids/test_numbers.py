"""What the number of a token means: nothing."""

import numpy as np
import pytest

from ... import bounds
from ...data import TABLE_SIZES, designed_ids, generated_ids, generator, numbered_table, texts
from ...subjects.torch_stack import to_numpy
from .reading import content_ids, entries

CAT, DOG, FISH = 3, 4, 27


@pytest.mark.claim("IDSEM-01")
@pytest.mark.parametrize("relabel", ["reversed", "generated"])
def test_relabelled_ids_find_the_moved_rows(layer, evidence, seed, relabel):
    """Ids renamed by a permutation and rows moved the same way, on tables of many sizes."""
    for rows, width in TABLE_SIZES:
        renamed = np.arange(rows)[::-1] if relabel == "reversed" else generator(seed, f"renamed {rows}").permutation(rows)
        table = numbered_table(rows, width)
        moved = np.empty_like(table)
        moved[renamed] = table
        for ids in (designed_ids(rows), generated_ids(rows, seed)):
            evidence.equal(layer.with_table(moved).lookup(renamed[ids]), layer.with_table(table).lookup(ids), given=ids)


@pytest.mark.claim("IDSEM-02")
def test_differences_of_ids_follow_the_order_of_the_vocabulary(tokenizer_maker, evidence):
    """Cat to dog and cat to fish, in the documents' vocabulary and in the one with dog and fish exchanged."""
    for order, differences in (("ids", [1, 24]), ("reordered", [24, 1])):
        tokenizer = tokenizer_maker.with_vocabulary("character", entries(texts()["vocabulary"][order]))
        ids = np.array(content_ids(tokenizer, "猫狗鱼"))
        evidence.equal(np.abs(ids[1:] - ids[:1]), np.array(differences))


def distances(made):
    """How far the vectors of dog and fish are from that of cat, in float64."""
    rows = made.lookup(np.array([CAT, DOG, FISH])).astype(np.float64)
    return np.linalg.norm(rows[1:] - rows[0], axis=1)


@pytest.mark.claim("IDSEM-03")
def test_a_map_of_the_number_itself_is_bound_to_its_differences(layer, evidence, seed):
    """An affine map of the id puts fish 24 times as far from cat as dog; rows of a table lie where they are put."""
    slope, start = generator(seed, "affine map").integers(1, 10, size=(2, 8)).astype(np.float64)
    cat, dog, fish = (slope * number + start for number in (CAT, DOG, FISH))
    ratio = np.linalg.norm(fish - cat) / np.linalg.norm(dog - cat)
    # The numbers are small and whole: only two roots and a quotient round.
    evidence.close(ratio, 24.0, bounds.dot(4, slope, scale=24.0))
    for near, far in ((DOG, FISH), (FISH, DOG)):
        table = generator(seed, "table").integers(-9, 10, size=(30, 8)).astype(np.float32)
        table[near] = table[CAT] + np.eye(8, dtype=np.float32)[0]
        table[far] = table[CAT] + 8 * np.eye(8, dtype=np.float32)[1]
        to_dog, to_fish = distances(layer.with_table(table))
        near_by, far_off = (to_dog, to_fish) if near == DOG else (to_fish, to_dog)
        evidence.greater(far_off, near_by, 3.5, "half of what the rows that were given differ by, 8 less 1")


@pytest.mark.claim("IDSEM-04")
def test_another_order_of_the_vocabulary_leaves_distances_as_they_were(layer, evidence, seed):
    """Dog and fish exchange ids and rows: the nearer id becomes the farther one, and no distance of vectors changes."""
    table = generator(seed, "order of a vocabulary").standard_normal((30, 8)).astype(np.float32)
    exchanged = table.copy()
    exchanged[[DOG, FISH]] = table[[FISH, DOG]]
    ids = texts()["vocabulary"]["ids"], texts()["vocabulary"]["reordered"]
    evidence.equal([abs(order["猫"] - order["狗"]) < abs(order["猫"] - order["鱼"]) for order in ids], [True, False])
    before, after = (made.lookup(np.array([order[w] for w in "猫狗鱼"])).astype(np.float64)
                     for made, order in zip((layer.with_table(table), layer.with_table(exchanged)), ids, strict=True))
    for first, second in ((0, 1), (0, 2), (1, 2)):
        evidence.equal(np.linalg.norm(after[first] - after[second]), np.linalg.norm(before[first] - before[second]))


@pytest.mark.claim("IDSEM-06")
def test_integers_go_into_a_lookup_and_not_into_a_product(module, evidence):
    """The layer takes three integer ids; a product of integers with its table is refused until they are cast."""
    import torch

    embedding = module.embedding()
    ids = torch.tensor(texts()["order"]["ids"])
    rows = module.call("forward", embedding, ids)
    evidence.equal([list(rows.shape), torch.is_floating_point(rows)], [[3, embedding.embedding_dim], True])
    one_hot = torch.nn.functional.one_hot(ids, embedding.num_embeddings)
    evidence.refuses(lambda: module.call("the product", torch.matmul, one_hot, embedding.weight), (RuntimeError,))
    cast = one_hot.to(embedding.weight.dtype) @ embedding.weight
    evidence.equal(to_numpy(rows), to_numpy(cast))


@pytest.mark.claim("IDSEM-07")
@pytest.mark.parametrize("text, ids", [("猫吃鱼", [3, 15, 27]), ("鱼吃猫", [27, 15, 3]), ("狗", [4]), ("猫猫", [3, 3])])
def test_ids_are_places_in_the_vocabulary(tokenizer_maker, evidence, text, ids):
    """The documents' sentence, its reversal, one word and a repeated one, with 30 entries in a given order."""
    tokenizer = tokenizer_maker.with_vocabulary("character", entries(texts()["vocabulary"]["ids"]))
    evidence.equal(content_ids(tokenizer, text), ids)


@pytest.mark.claim("IDSEM-08")
def test_vectors_can_be_reckoned_with(layer, evidence):
    """Looked-up vectors are floating-point numbers, and their sums, differences and products are those of the rows."""
    for made in layer.over():
        ids = designed_ids(made.shape[0])
        vectors, rows = made.lookup(ids), made.table()[ids]
        evidence.equal(vectors.dtype.kind in "fV", True)
        # The arithmetic is the reader's, in float64: products of large half-precision numbers would overflow.
        vectors, rows = vectors.astype(np.float64), rows.astype(np.float64)
        for first, second in ((0, 1), (2, 4), (1, 6)):
            evidence.equal(vectors[first] + vectors[second], rows[first] + rows[second])
            evidence.equal(vectors[first] - vectors[second], rows[first] - rows[second])
            evidence.equal(vectors[first] * vectors[second], rows[first] * rows[second])
