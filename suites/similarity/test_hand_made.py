"""Hand-made vectors of cat, dog, fish and book, and the same words in a trained encoder."""

from itertools import pairwise

import numpy as np
import pytest

from ... import bounds
from ...data import texts
from . import oracle

WORDS = ("cat", "dog", "fish", "book")
HALF = "half of what the exact values differ by"


def vectors(dtype="float64"):
    """[4, 3]: cat, dog, fish, book along the named features."""
    return np.array([texts()["hand_made"][word] for word in WORDS], dtype)


def distance_bound(found, kind, exact, *arrays):
    """Of a distance of vectors of three numbers; two terms more, because the differences round as well."""
    if kind == "manhattan":
        return bounds.sum(5, found, *arrays, scale=exact)
    return bounds.norm(5, found, *arrays).scaled(exact, "times the distance")


@pytest.mark.claim("TOY-01")
@pytest.mark.parametrize("word", WORDS)
def test_an_axis_reads_off_its_feature(similarity, evidence, word):
    """The inner products of one word's vector with the three unit vectors along the axes are its three numbers."""
    numbers = np.array(texts()["hand_made"][word])
    found = np.array([similarity.dot(numbers, axis) for axis in np.eye(3)])
    evidence.close(found, numbers, bounds.dot(3, found, numbers, scale=np.abs(numbers)))


@pytest.mark.claim("TOY-04")
@pytest.mark.parametrize(("feature", "ranks"), [("animality", [2, 2, 1, 0]), ("cuteness", [3, 2, 1, 0]),
                                                ("aquatic", [1, 0, 2, 0])])
def test_the_order_along_a_feature(similarity, evidence, feature, ranks):
    """How many other sizes lie below those of cat, dog, fish and book along one axis."""
    axis = np.eye(3)[texts()["hand_made"]["features"].index(feature)]
    sizes = [float(similarity.dot(vector, axis)) for vector in vectors()]
    evidence.equal([sorted(set(sizes)).index(size) for size in sizes], ranks)


@pytest.mark.claim("TOY-02")
def test_closeness_by_inner_product_and_euclidean_distance(similarity, evidence):
    """Cat with dog, fish and book: 1.37, 0.79, 0.08, and 0.14, 1.04, 1.14 apart."""
    cat, *others = vectors()
    for measure, exact in ((similarity.dot, oracle.dot),
                           (lambda a, b: -similarity.distance(a, b, "euclidean"),
                            lambda a, b: -oracle.distance(a, b, "euclidean"))):
        for nearer, farther in pairwise(others):
            margin = (exact(cat, nearer) - exact(cat, farther)) / 2
            evidence.greater(measure(cat, nearer), measure(cat, farther), margin, HALF)


@pytest.mark.claim("TOY-02")
def test_closeness_by_cosine_and_manhattan_distance(similarity, evidence):
    """Dog stays nearest. By cosine book (0.66) comes before fish (0.59); by Manhattan distance the two tie at 1.7."""
    cat, dog, fish, book = vectors()
    exact = [oracle.cosine(cat, other) for other in (dog, book, fish)]
    cosines = [similarity.cosine(cat, other) for other in (dog, book, fish)]
    for i in range(2):
        evidence.greater(cosines[i], cosines[i + 1], (exact[i] - exact[i + 1]) / 2, HALF)
    near, fishes, books = (similarity.distance(cat, other, "manhattan") for other in (dog, fish, book))
    bound = distance_bound(fishes, "manhattan", 1.7, cat)
    evidence.close(fishes, books, bound.scaled(2, "twice, both round"))
    evidence.greater(fishes, near, 0.75, HALF)


@pytest.mark.claim("TOY-03")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_distances_grow_as_likeness_falls(similarity, evidence, dtype):
    """Distances of cat from dog, fish and book against exact sums, and each larger than the one before."""
    cat, *others = vectors(dtype)
    exact = [oracle.distance(cat, other, "euclidean") for other in others]
    found = [similarity.distance(cat, other, "euclidean") for other in others]
    for one, expected in zip(found, exact, strict=True):
        evidence.close(one, expected, distance_bound(one, "euclidean", expected, cat))
    for i in range(2):
        evidence.greater(found[i + 1], found[i], (exact[i + 1] - exact[i]) / 2, HALF)


@pytest.mark.claim("TOY-05")
@pytest.mark.parametrize("kind", ["euclidean", "manhattan"])
def test_dense_vectors_separate_what_one_hot_codes_cannot(similarity, evidence, kind):
    """Cat is eight times as far from book as from dog, and in one-hot codes exactly as far."""
    for rows, ratio in ((vectors(), oracle.distance(*vectors()[[0, 3]], kind) / oracle.distance(*vectors()[:2], kind)),
                        (np.eye(4), 1.0)):
        near, far = similarity.distance(rows[0], rows[1], kind), similarity.distance(rows[0], rows[3], kind)
        bound = distance_bound(far, kind, 1.0, rows).scaled(2 * ratio, "relative, of both distances")
        evidence.close(far / near, ratio, bound)


@pytest.mark.claim("TOY-07")
@pytest.mark.parametrize(("first", "second", "value"), [
    ("cat", "dog", 0.9947629497253666), ("cat", "fish", -0.17931269988756746), ("dog", "fish", -0.19173498971878394)])
def test_cosines_of_the_visible_numbers(similarity, evidence, first, second, value):
    """The four numbers that are printed of each row, two words at a time, against the recorded cosine and exact sums."""
    a, b = (np.array(texts()["visible"][word]) for word in (first, second))
    found = similarity.cosine(a, b)
    evidence.close(found, value, bounds.cosine(5, found, a))  # one term more: the recorded value is rounded
    evidence.close(found, oracle.cosine(a, b), bounds.cosine(4, found, a))


def cosines_with_cat(embedder):
    """[10, 3]: cosines of the sentence about a cat with those about a dog, a fish and a book, in ten carriers."""
    sentences = [carrier.format(word) for carrier in texts()["carriers"] for word in WORDS]
    rows = embedder.embed(sentences).reshape(len(texts()["carriers"]), len(WORDS), -1)
    return np.array([[oracle.cosine(row[0], other) for other in row[1:]] for row in rows])


@pytest.mark.claim("TOY-06")
def test_an_encoder_finds_cat_closer_to_dog_than_to_fish(embedder, evidence):
    """In each of ten carrier sentences."""
    for carrier, (dog, fish, _) in zip(texts()["carriers"], cosines_with_cat(embedder), strict=True):
        evidence.at_most(oracle.share(dog, fish), oracle.NEARER, carrier)


@pytest.mark.claim("TOY-08")
def test_an_encoder_orders_dog_fish_and_book(embedder, evidence):
    """Mean cosines over ten carrier sentences."""
    dog, fish, book = cosines_with_cat(embedder).mean(axis=0)
    bound = bounds.Bound(0.97, "nearer in the mean of ten; of six untrained models none had both below 1.01")
    evidence.at_most(oracle.share(dog, fish), bound, "dog, as a share of fish")
    evidence.at_most(oracle.share(fish, book), bound, "fish, as a share of book")
