"""Faulty and sound indexes. An approximate one looks at a part of the rows and declares how many neighbours it finds."""

import numpy as np

from ...proof import altered, fault, sound
from ...subjects.exact_index import unit
from ..retrieval.faults import best, reordered, stored, watched

APPROXIMATE = {"exact": False, "recall": 0.9}


def missing(index, share):
    """The index that never finds a share of the rows, spread over all, unless the list would not be full without them."""
    def search(queries, k):
        scores = index.scores(queries)
        hidden = (np.arange(scores.shape[1]) * 0.6180339887 % 1 < share) & (scores.shape[1] > 300)
        order = np.lexsort([-scores, np.broadcast_to(hidden, scores.shape)], axis=1)[:, :k]
        return order, np.take_along_axis(scores, order, axis=1)
    return altered(index, search=search)


@sound("index", declares=APPROXIMATE)
def approximate(index):
    """One row of twenty is never found among many, where a recall of 0.9 was declared."""
    return missing(index, 0.05)


@fault("index", ["FIELD-45"], declares=APPROXIMATE, source="milvus-io/milvus#51821")
def recall_below_what_was_declared(index):
    """One row of four is never found, where a recall of 0.9 was declared."""
    return missing(index, 0.25)


@fault("index", ["FIELD-45"], source="chroma-core/chroma#1205")
def approximate_though_exact_was_declared(index):
    """One row of twenty is never found, where an exact search was declared."""
    return missing(index, 0.05)


@fault("index", ["FIELD-46"], declares=APPROXIMATE, source="UKPLab/sentence-transformers#3956")
def one_row_twice(index):
    """What an approximate search missed is filled up with the best once more."""
    def change(indices, scores):
        if indices.shape[1] > 2:
            indices[:, -1], scores[:, -1] = indices[:, -2], scores[:, -2]
        return indices, scores
    return reordered(missing(index, 0.05), change)


@fault("index", ["FIELD-46"], declares=APPROXIMATE, source="antgroup/vsag#1819")
def scores_of_coarse_codes(index):
    """Rows are found and scored by their codes of four bits, and not scored again."""
    def change(vectors, metric):
        step = np.abs(vectors).max(axis=1, keepdims=True) / 7
        return np.round(vectors / np.where(step == 0, 1, step)) * step, metric
    return stored(index, change)


@fault("index", ["FIELD-46"], declares=APPROXIMATE)
def lists_of_parts_appended(index):
    """The two halves of the rows are searched apart, and their lists stand one behind the other."""
    def search(queries, k):
        scores = index.scores(queries)
        half = scores.shape[1] // 2
        if k < 2 or half < k:
            return best(scores, k)
        first, second = best(scores[:, :half], k // 2), best(scores[:, half:], k - k // 2)
        return np.concatenate([first[0], second[0] + half], axis=1), np.concatenate([first[1], second[1]], axis=1)
    return altered(index, search=search)


@fault("index", ["FIELD-47"], source="volcengine/OpenViking#204")
def walks_from_a_random_row(index):
    """A search starts at a random row each time, and misses others every time."""
    random = np.random.default_rng(11)

    def search(queries, k):
        scores = index.scores(queries)
        hidden = random.random(scores.shape) < 0.2
        order = np.lexsort([-scores, hidden], axis=1)[:, :k]
        return order, np.take_along_axis(scores, order, axis=1)
    return altered(index, search=search)


@fault("index", ["FIELD-47"], source="nmslib/hnswlib#209")
def search_wears_the_index_out(index):
    """Every search marks what it has seen, and the next one does not come back to it."""
    seen = set()

    def build(vectors, metric):
        seen.clear()
        index.build(vectors, metric)

    def search(queries, k):
        scores = index.scores(queries)
        order = np.lexsort([-scores, np.broadcast_to(np.isin(np.arange(scores.shape[1]), list(seen)), scores.shape)], axis=1)
        seen.update(order[:, 0].tolist())
        return order[:, :k], np.take_along_axis(scores, order[:, :k], axis=1)
    return altered(index, build=build, search=search)


def cut(vectors, step):
    """Only whole steps of columns, where there is one."""
    width = vectors.shape[1] // step * step
    return vectors[:, :width] if width else vectors


@fault("index", ["FIELD-48"], source="ZJULearning/nsg#45")
def tail_of_eight_left_out(index):
    """Numbers are taken eight at a time, and what is left over at the end is not looked at."""
    return altered(index, build=lambda vectors, metric: index.build(cut(vectors, 8), metric),
                   search=lambda queries, k: index.search(cut(queries, 8), k))


@fault("index", ["FIELD-48"], source="cmuparlay/ParlayANN#10")
def tail_read_twice(index):
    """The last numbers are taken once more where the width is no multiple of four."""
    def longer(vectors):
        rest = vectors.shape[1] % 4
        return np.concatenate([vectors, vectors[:, -rest:]], axis=1) if rest and vectors.shape[1] > 4 else vectors
    return altered(index, build=lambda vectors, metric: index.build(longer(vectors), metric),
                   search=lambda queries, k: index.search(longer(queries), k))


def in_place(array):
    """Rows scaled to length one where they are, as faiss.normalize_L2 does."""
    if array.flags.writeable:
        array[...] = unit(array)


@fault("index", ["FIELD-49"], source="facebookresearch/faiss#1335")
def vectors_normalised_in_place(index):
    """By cosine the vectors are scaled to length one in the array that was given."""
    def build(vectors, metric):
        index.build(vectors, metric)
        if metric == "cosine":
            in_place(vectors)
    return altered(index, build=build)


@fault("index", ["FIELD-49"], source="facebookresearch/faiss#1335")
def queries_normalised_in_place(index):
    """The queries are scaled to length one in the array that was given."""
    def search(queries, k):
        found = index.search(queries, k)
        in_place(queries)
        return found
    return altered(index, search=search)


@fault("index", ["FIELD-49"])
def a_view_of_the_vectors(index):
    """The array that was given is kept and read in every search."""
    last = {}

    def build(vectors, metric):
        last.update(vectors=vectors, metric=metric)
        index.build(vectors, metric)

    def search(queries, k):
        index.build(last["vectors"], last["metric"])
        return index.search(queries, k)
    return altered(index, build=build, search=search)


@fault("index", ["FIELD-50"], source="facebookresearch/faiss#1808")
def another_method_for_many(index):
    """From twenty queries on the first of every block of 128 stands for all of them."""
    def search(queries, k):
        if len(queries) < 20:
            return index.search(queries, k)
        return index.search(queries[np.arange(len(queries)) // 128 * 128], k)
    return altered(index, search=search)


@fault("index", ["FIELD-50"])
def last_block_lost(index):
    """Queries are taken in blocks of 64, and the last block of several is answered as the one before."""
    def search(queries, k):
        count = len(queries)
        places = np.arange(count)
        return index.search(queries[np.where(places >= count // 64 * 64, places - 64, places) if count > 64 else places], k)
    return altered(index, search=search)


@fault("index", ["FIELD-51"], source="rohitg00/agentmemory#1179")
def old_rows_stay(index):
    """Vectors of the same width are added to what was there, and the old ones are found under their numbers."""
    last = {}

    def build(vectors, metric):
        old = last.get("vectors", vectors)
        same = old.shape[1] == vectors.shape[1] and len(old) >= len(vectors)
        index.build(old[:len(vectors)] if same else vectors, metric)
        last["vectors"] = old if same else vectors
    return altered(index, build=build)


@fault("index", ["FIELD-51"], raises=True)
def width_of_the_first_build(index):
    """The width is fixed by the first vectors."""
    last = {}

    def build(vectors, metric):
        if last.setdefault("width", vectors.shape[1]) != vectors.shape[1]:
            raise ValueError("vectors have another width")
        index.build(vectors, metric)
    return altered(index, build=build)


@fault("index", ["FIELD-52"], source="nmslib/nmslib#230")
def memory_read_by_rows(index):
    """Vectors are read in the order in which they lie in memory, as if that were by rows."""
    def build(vectors, metric):
        index.build(vectors.ravel(order="K").reshape(vectors.shape), metric)
    return altered(index, build=build)


@fault("index", ["FIELD-52"], source="facebookresearch/faiss#459", raises=True)
def refuses_what_is_not_contiguous(index):
    """Queries that do not lie by rows without gaps are refused."""
    def search(queries, k):
        if not queries.flags.c_contiguous:
            raise ValueError("array is not C-contiguous")
        return index.search(queries, k)
    return altered(index, search=search)


@fault("index", ["FIELD-53"], source="unum-cloud/USearch#320")
def short_vectors_count_as_zero(index):
    """Vectors shorter than a millionth are taken for zero, whose cosine is zero."""
    def change(vectors, metric):
        short = np.linalg.norm(vectors, axis=1, keepdims=True) < 1e-6
        return np.where(short, 0, vectors).astype(vectors.dtype) if metric == "cosine" else vectors, metric
    return stored(index, change)


@fault("index", ["FIELD-53"], source="unum-cloud/USearch#320")
def epsilon_added_to_lengths(index):
    """A hundred-millionth is added to every length."""
    def change(vectors, metric):
        if metric != "cosine":
            return vectors, metric
        return vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + np.float32(1e-8)), "dot"
    made = stored(index, change)
    return altered(made, search=lambda queries, k: made.search(unit(queries), k))


@fault("index", ["FIELD-54"])
def nothing_found_in_one(index):
    """A graph of a single row has no edges to walk, and nothing is found."""
    last, build = watched(index)

    def search(queries, k):
        indices, scores = index.search(queries, k)
        return (indices[:, :0], scores[:, :0]) if len(last["vectors"]) == 1 else (indices, scores)
    return altered(index, build=build, search=search)


@fault("index", ["FIELD-54"], source="UKPLab/sentence-transformers#3887")
def one_row_repeated(index):
    """One row is returned as often as results were asked for."""
    def search(queries, k):
        indices, scores = index.search(queries, k)
        return (np.repeat(indices, k, axis=1), np.repeat(scores, k, axis=1)) if indices.shape[1] == 1 else (indices, scores)
    return altered(index, search=search)
