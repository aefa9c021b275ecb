"""Faulty and sound indexes, and embedders that mix up their texts."""

import numpy as np

from ...proof import altered, fault, sound
from ...subjects.exact_index import ExactIndex, unit
from ..context.faults import untrained as without_training

RANKING = ["RETR-05", "RETR-06"]


def best(scores, k):
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(scores, order, axis=1)


def rescored(index, change, **replaced):
    """The index with other scores [M, N], by which it also ranks; a deleted row keeps -inf."""
    def scores(queries):
        found = index.scores(queries)
        return np.where(np.isneginf(found), found, change(found))
    return altered(index, scores=scores, search=lambda queries, k: best(scores(queries), k), **replaced)


def reordered(index, change):
    """The index with other results: `change(indices, scores)` of the right ones."""
    return altered(index, search=lambda queries, k: change(*index.search(queries, k)))


def stored(index, change):
    """The index with other vectors: `change(vectors, metric)` gives vectors and metric."""
    return altered(index, build=lambda vectors, metric: index.build(*change(vectors, metric)))


def watched(index):
    """What an index was last built from, by name, and the `build` that keeps it."""
    last = {}

    def build(vectors, metric):
        last.update(vectors=vectors, metric=metric)
        index.build(vectors, metric)
    return last, build


def asking(index, change, **replaced):
    """The index with other queries."""
    return altered(index, scores=lambda queries: index.scores(change(queries)),
                   search=lambda queries, k: index.search(change(queries), k), **replaced)


def looking_at(index, choose, **replaced):
    """The index that compares a query only with some rows, and fills up with the others: `choose(scores, k)` [M, N]."""
    def search(queries, k):
        scores = index.scores(queries)
        chosen = choose(scores, k)
        order = np.lexsort([-scores, ~chosen], axis=1)[:, :k]
        return order, np.take_along_axis(scores, order, axis=1)
    return altered(index, search=search, **replaced)


# --- rankings ---------------------------------------------------------------------------------------------------------


@fault("index", [*RANKING, "RETR-02", "RETR-07", "RETR-13", "BASE-06"],
       source="nearai/nearai#719, tencentmusic/supersonic#1644")
def smallest_first(index):
    """The smallest scores come first, as when similarities are sorted as if they were distances."""
    def search(queries, k):
        indices, scores = best(-index.scores(queries), k)
        return indices, -scores
    return altered(index, search=search)


@fault("index", [*RANKING, "RETR-11"])
def not_sorted(index):
    """The best are found by a partial sort and come in the order of the rows."""
    def change(indices, scores):
        order = np.argsort(indices, axis=1)
        return np.take_along_axis(indices, order, axis=1), np.take_along_axis(scores, order, axis=1)
    return reordered(index, change)


@fault("index", ["RETR-05"])
def by_absolute_score(index):
    """The sign of a score does not count, so that what points away comes before what is unrelated."""
    def search(queries, k):
        scores = index.scores(queries)
        order = np.argsort(-np.abs(scores), axis=1, kind="stable")[:, :k]
        return order, np.take_along_axis(scores, order, axis=1)
    return altered(index, search=search)


@fault("index", ["RETR-02", "RETR-05", "RETR-07"])
def rows_from_one(index):
    """Rows are counted from one, and the last is its own follower."""
    last, build = watched(index)

    def search(queries, k):
        indices, scores = index.search(queries, k)
        return np.minimum(indices + 1, len(last["vectors"]) - 1), scores
    return altered(index, build=build, search=search)


@fault("index", ["RETR-02", "RETR-06", "RETR-13"])
def query_counts_as_a_row(index):
    """Row numbers are those of the texts, in which the question was row zero: each is one too large, and wraps."""
    last, build = watched(index)

    def search(queries, k):
        indices, scores = index.search(queries, k)
        return (indices + 1) % len(last["vectors"]), scores
    return altered(index, build=build, search=search)


@fault("index", ["RETR-06", "RETR-07", "RETR-13"])
def best_skipped(index):
    """The first result is dropped, as if the query were stored too."""
    return altered(index, search=lambda queries, k: tuple(part[:, 1:k + 1] if part.shape[1] > k else part[:, -k:]
                                                          for part in index.search(queries, k + 1)))


@fault("index", ["RETR-06", "RETR-07"])
def one_result_more(index):
    """One result more than was asked for, where there is one."""
    return altered(index, search=lambda queries, k: index.search(queries, k + 1))


@fault("index", ["RETR-03", "RETR-06", "RETR-07"])
def scores_of_the_first_rows(index):
    """Beside rank j stands the score of row j."""
    return altered(index, search=lambda queries, k: (index.search(queries, k)[0], index.scores(queries)[:, :k]))


@fault("index", ["RETR-09"], source="UKPLab/sentence-transformers#3887")
def filled_up_with_minus_one(index):
    """Beyond the number of rows the list is filled up with row -1."""
    def search(queries, k):
        indices, scores = index.search(queries, k)
        missing = ((0, 0), (0, k - indices.shape[1]))
        return np.pad(indices, missing, constant_values=-1), np.pad(scores, missing)
    return altered(index, search=search)


@fault("index", ["RETR-06", "RETR-11"], source="milvus-io/milvus#51821")
def short_rows_out_of_reach(index):
    """By inner product the graph leads from long rows to longer ones: rows shorter than most are never reached."""
    last, build = watched(index)

    def choose(scores, k):
        lengths = np.linalg.norm(last["vectors"], axis=1)
        reached = (lengths >= np.median(lengths)) | (last["metric"] != "dot")
        return np.broadcast_to(reached, scores.shape)
    return looking_at(index, choose, build=build)


@fault("index", ["RETR-09"])
def filled_up_with_the_last(index):
    """The last result stands in the place of the last two, where all rows are asked for."""
    last, build = watched(index)

    def search(queries, k):
        indices, scores = index.search(queries, k)
        if k > len(last["vectors"]):
            indices[:, -1], scores[:, -1] = indices[:, -2], scores[:, -2]
        return indices, scores
    return altered(index, build=build, search=search)


@fault("index", ["RETR-09"])
def irrelevant_left_out(index):
    """Results with a score below zero are left out."""
    def search(queries, k):
        indices, scores = index.search(queries, k)
        kept = max(int((scores >= 0).sum(axis=1).min()), 0)
        return indices[:, :kept], scores[:, :kept]
    return altered(index, search=search)


@fault("index", ["RETR-06"])
def early_end(index):
    """Only the first half of the rows is looked at, and the rest fills up."""
    return looking_at(index, lambda scores, k: np.broadcast_to(np.arange(scores.shape[1]) < (scores.shape[1] + 1) // 2,
                                                               scores.shape))


@fault("index", ["RETR-06"])
def last_row_missed(index):
    """The last row is looked at only when all others are used up."""
    return looking_at(index, lambda scores, k: np.broadcast_to(np.arange(scores.shape[1]) < scores.shape[1] - 1,
                                                               scores.shape))


@fault("index", ["RETR-06"])
def one_cluster_probed(index):
    """The rows are split by the sign of their first number, and only the query's side is looked at; the rest fills up."""
    last, build = watched(index)

    def search(queries, k):
        same_side = (last["vectors"][:, 0] >= 0) == (queries[:, :1] >= 0)
        return looking_at(index, lambda scores, k: same_side).search(queries, k)
    return altered(index, build=build, search=search)


@fault("index", ["RETR-06", "RETR-11"], source="chroma-core/chroma#1205, chroma-core/chroma#1737, chroma-core/chroma#620")
def beam_tied_to_k(index):
    """Only the first eight times k rows are looked at, so that the best shows up once k is large."""
    return looking_at(index, lambda scores, k: np.broadcast_to(np.arange(scores.shape[1]) < 8 * k, scores.shape))


@fault("index", ["RETR-11"], source="nmslib/hnswlib#242")
def best_missed_in_short_lists(index):
    """A single result is the second best."""
    def search(queries, k):
        indices, scores = index.search(queries, max(k, 2))
        return (indices[:, 1:], scores[:, 1:]) if k == 1 else (indices, scores)
    return altered(index, search=search)


# --- scores -----------------------------------------------------------------------------------------------------------


@fault("index", ["RETR-03", "RETR-04", "RETR-10", "BASE-06"],
       source="mem0ai/mem0#5960, langchain-ai/langchain#22209, langchain-ai/langchain#9519, langchain-ai/langchain#4086")
def cosine_without_normalising(index):
    """Inner products, whatever the metric is called."""
    return stored(index, lambda vectors, metric: (vectors, "dot" if metric == "cosine" else metric))


@fault("index", ["RETR-04", "RETR-10", "BASE-06"])
def always_normalised(index):
    """Cosines, also where inner products were asked for: the switch changes only the name."""
    return stored(index, lambda vectors, metric: (vectors, "cosine" if metric == "dot" else metric))


@fault("index", ["RETR-03", "RETR-10"])
def query_not_normalised(index):
    """Only the stored vectors are scaled to length one: every ranking by cosine is right, every score is not."""
    return stored(index, lambda vectors, metric: (unit(vectors), "dot") if metric == "cosine" else (vectors, metric))


@fault("index", ["RETR-03", "RETR-06"])
def only_the_query_normalised(index):
    """Only the queries are scaled to length one."""
    last = {}

    def build(vectors, metric):
        last["cosine"] = metric == "cosine"
        index.build(vectors, "dot" if last["cosine"] else metric)
    return asking(index, lambda queries: unit(queries) if last["cosine"] else queries, build=build)


@fault("index", ["RETR-03", "RETR-06"])
def normalised_by_column(index):
    """Columns of the stored vectors are scaled to length one instead of rows."""
    return stored(index, lambda vectors, metric: (unit(vectors.T).T if metric == "cosine" else vectors, metric))


@fault("index", ["RETR-03", "RETR-10"])
def softmax_of_scores(index):
    """Scores are turned into shares of one; the ranking stays."""
    def change(scores):
        exponential = np.exp(scores - scores.max(axis=1, keepdims=True))
        return exponential / exponential.sum(axis=1, keepdims=True)
    return rescored(index, change)


@fault("index", ["RETR-03", "RETR-06"], source="dragonflydb/dragonfly#2188")
def distance_for_score(index):
    """Scores are one less the similarity, and the ranking stays that of the similarity."""
    return reordered(index, lambda indices, scores: (indices, 1 - scores))


@fault("index", ["RETR-06", "RETR-10"])
def squared_distance(index):
    """Euclidean scores are squared distances; the ranking stays."""
    last, build = watched(index)
    return rescored(index, lambda scores: -scores**2 if last["metric"] == "euclidean" else scores, build=build)


@fault("index", ["RETR-02", "RETR-06"])
def distance_not_negated(index):
    """Euclidean scores are distances, and the largest come first."""
    last, build = watched(index)
    return rescored(index, lambda scores: -scores if last["metric"] == "euclidean" else scores, build=build)


@fault("index", ["RETR-10"])
def scores_by_rank(index):
    """Scores come in falling order and not in the order of the documents."""
    return altered(index, scores=lambda queries: -np.sort(-index.scores(queries), axis=1))


@fault("index", ["SHAPE-12"])
def scores_of_the_best_only(index):
    """Three scores instead of one for each document."""
    return altered(index, scores=lambda queries: index.search(queries, 3)[1])


@fault("index", ["SHAPE-12"])
def scores_on_their_side(index):
    """A row for each document instead of one for each query."""
    return altered(index, scores=lambda queries: index.scores(queries).T)


@fault("index", ["RETR-03", "RETR-10"], size="subtle")
def epsilon_in_the_norm(index):
    """Two thousandths are added to the length of every stored vector, against division by zero."""
    last, build = watched(index)

    def change(scores):
        lengths = np.linalg.norm(last["vectors"], axis=1)
        return scores * (lengths / (lengths + 2e-3)).astype(scores.dtype) if last["metric"] == "cosine" else scores
    return rescored(index, change, build=build)


@fault("index", ["RETR-03", "RETR-06"], size="subtle", source="vespa-engine/vespa#28036")
def stored_in_half_precision(index):
    """Vectors are stored in float16."""
    return stored(index, lambda vectors, metric: (vectors.astype(np.float16).astype(vectors.dtype), metric))


@fault("index", ["RETR-04"], size="subtle")
def lengths_in_half_precision(index):
    """Directions and lengths are stored apart, the lengths in float16."""
    def change(vectors, metric):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit(vectors) * lengths.astype(np.float16).astype(vectors.dtype), metric
    return stored(index, change)


@fault("index", ["BASE-06"], size="subtle")
def computed_in_fewer_digits(index):
    """Every score is 2e-12 too large, relative to the largest, where the vectors are in float64."""
    return rescored(index, lambda scores: scores + 2e-12 * np.abs(scores[np.isfinite(scores)]).max().astype(scores.dtype))


# --- rows that go, come twice or are nothing --------------------------------------------------------------------------


@fault("index", ["RETR-12"], source="deepset-ai/haystack#6228")
def rows_move_up(index):
    """When a row is deleted, those after it move up by one and are found under their new numbers."""
    last, build = watched(index)

    def delete(row):
        left = np.delete(last["vectors"], row, axis=0)
        index.build(np.concatenate([left, left[:1]]), last["metric"])
        index.delete(len(left))
    return altered(index, build=build, delete=delete)


@fault("index", ["RETR-12"], source="milvus-io/milvus#4656")
def deleted_still_found(index):
    """Deleting does nothing."""
    return altered(index, delete=lambda row: None)


@fault("index", ["RETR-12"])
def next_row_deleted(index):
    """The row after the one that was named is deleted."""
    last, build = watched(index)
    return altered(index, build=build, delete=lambda row: index.delete((row + 1) % len(last["vectors"])))


@fault("index", ["RETR-12"])
def deleted_scores_zero(index):
    """A deleted row scores zero, and so comes before all that points away."""
    def scores(queries):
        found = index.scores(queries)
        return np.where(np.isneginf(found), 0, found)
    return altered(index, scores=scores, search=lambda queries, k: best(scores(queries), k))


@fault("index", ["RETR-12"], source="pgvector/pgvector#480, pgvector/pgvector#740")
def struck_out_after_the_ranking(index):
    """A deleted row takes a place among the best and is struck out there, so that fewer than k are left."""
    whole = ExactIndex()

    def build(vectors, metric):
        whole.build(vectors, metric)
        index.build(vectors, metric)

    def search(queries, k):
        indices, scores = whole.search(queries, k)
        gone = np.isneginf(np.take_along_axis(index.scores(queries), indices, axis=1))
        return indices, np.where(gone, -np.inf, scores)
    return altered(index, build=build, search=search)


@fault("index", ["RETR-13", "RETR-06"], source="antgroup/vsag#1819")
def duplicates_hidden(index):
    """Of equal vectors only the first is found among the best; the others come last."""
    last, build = watched(index)

    def choose(scores, k):
        firsts = np.unique(last["vectors"], axis=0, return_index=True)[1]
        return np.broadcast_to(np.isin(np.arange(scores.shape[1]), firsts), scores.shape)
    return looking_at(index, choose, build=build)


@fault("index", ["RETR-13"], source="nmslib/hnswlib#236")
def duplicates_by_one_number(index):
    """Of equal vectors all are found, and all under the number of the first."""
    last, build = watched(index)

    def search(queries, k):
        indices, scores = index.search(queries, k)
        number = np.array([int((last["vectors"] == row).all(axis=1).argmax()) for row in last["vectors"]])
        return number[indices], scores
    return altered(index, build=build, search=search)


@fault("index", ["RETR-14"], source="milvus-io/milvus#2131")
def every_query_is_the_first(index):
    """All queries of a batch get the results of the first."""
    return altered(index, search=lambda queries, k: index.search(np.repeat(queries[:1], len(queries), axis=0), k))


@fault("index", ["RETR-14"])
def queries_normalised_together(index):
    """By cosine the whole batch of queries is divided by one length: alone each query is right."""
    last, build = watched(index)

    def search(queries, k):
        indices, scores = index.search(queries, k)
        if last["metric"] == "cosine":
            scores = scores * (np.linalg.norm(queries, axis=1, keepdims=True) / np.linalg.norm(queries))
        return indices, scores
    return altered(index, build=build, search=search)


@fault("index", ["RETR-14"], source="unum-cloud/USearch#505")
def last_query_lost(index):
    """The last query of a batch gets the results of the one before it."""
    def search(queries, k):
        asked = np.concatenate([queries[:-1], queries[-2:-1]]) if len(queries) > 1 else queries
        return index.search(asked, k)
    return altered(index, search=search)


@fault("index", ["RETR-15"], source="vlasky/sqlite-vec#8, qdrant/qdrant-client#425")
def zero_divided_by_zero(index):
    """A vector of length zero is divided by its length, and what is not a number then counts as the best score."""
    last, build = watched(index)

    def search(queries, k):
        scores = index.scores(queries)
        zero = ~last["vectors"].any(axis=1)
        scores[:, zero] = np.nan
        order = np.argsort(scores, axis=1)[:, ::-1][:, :k]
        # Comparisons with NaN leave the heap of results out of order: what follows it is one place off.
        return order, np.take_along_axis(scores, np.roll(order, 1, axis=1) if zero.any() else order, axis=1)
    return altered(index, build=build, search=search)


@fault("index", ["RETR-15"])
def rows_after_a_zero_lost(index):
    """A row of zeros ends the normalisation: the rows after it stay as long as they were."""
    def change(vectors, metric):
        zero = np.flatnonzero(~vectors.any(axis=1))
        if metric != "cosine" or not len(zero):
            return vectors, metric
        return np.concatenate([unit(vectors[:zero[0] + 1]), vectors[zero[0] + 1:]]), "dot"
    return stored(index, change)


# --- the matrix, and texts --------------------------------------------------------------------------------------------


@fault("similarity", ["SHAPE-13"])
def matrix_of_columns(similarity):
    """The inner products of columns: a row and a column for each number of a vector."""
    return altered(similarity, matrix=lambda x: unit(x).T @ unit(x))


@fault("embedder", ["RETR-01", "RETR-08"])
def shortest_first(embedder):
    """Texts are sorted by length for the batch, and the vectors are not put back in order."""
    return altered(embedder, embed=lambda texts: embedder.embed(sorted(texts, key=len)))


@fault("embedder", ["RETR-01", "RETR-08"])
def first_text_last(embedder):
    """The question is appended to the documents: its vector comes last."""
    return altered(embedder, embed=lambda texts: np.roll(embedder.embed(texts), -1, axis=0))


@fault("embedder", ["RETR-01"])
def set_of_texts(embedder):
    """The texts go through a set, which has an order of its own."""
    return altered(embedder, embed=lambda texts: embedder.embed(sorted(set(texts))))


@fault("embedder", ["RETR-08"])
def two_documents_swapped(embedder):
    """The second and the sixth vector of a batch are exchanged."""
    def embed(texts):
        order = np.arange(len(texts))
        if len(order) > 5:
            order[[1, 5]] = order[[5, 1]]
        return embedder.embed(texts)[order]
    return altered(embedder, embed=embed)


@fault("embedder", ["RETR-08"])
def untrained(embedder):
    """A model of the same architecture with random weights, which finds D1 first by its words."""
    return without_training(embedder)


@fault("encoder", ["BASE-08"])
def states_of_the_first_token(encoder):
    """Every state is that of the first token."""
    return altered(encoder, hidden_states=lambda texts: [np.repeat(rows[:1], len(rows), axis=0)
                                                         for rows in encoder.hidden_states(texts)])


@fault("encoder", ["BASE-08"])
def states_too_long(encoder):
    """Every state is a hundredth too long; no cosine shows it."""
    return altered(encoder, hidden_states=lambda texts: [rows * np.float32(1.01)
                                                         for rows in encoder.hidden_states(texts)])


@fault("encoder", ["BASE-08"], size="subtle")
def slightly_other_weights(encoder):
    """Every state is off by two parts in a thousand, 2e-6 in 1 - cosine: a nearby revision."""
    def hidden_states(texts):
        generator = np.random.default_rng(0)
        return [rows * (1 + np.float32(2e-3) * generator.standard_normal(rows.shape, dtype=np.float32))
                for rows in encoder.hidden_states(texts)]
    return altered(encoder, hidden_states=hidden_states)


# --- sound variants ---------------------------------------------------------------------------------------------------


@sound("index")
def in_float64(index):
    """Stored, compared and returned in float64."""
    double = ExactIndex()
    return altered(index, build=lambda vectors, metric: double.build(vectors.astype(np.float64), metric),
                   search=double.search, scores=double.scores, delete=double.delete)


@sound("index")
def ties_from_the_end(index):
    """Of rows with equal scores the last comes first."""
    def search(queries, k):
        scores = index.scores(queries)
        order = scores.shape[1] - 1 - np.argsort(-scores[:, ::-1], axis=1, kind="stable")[:, :k]
        return order, np.take_along_axis(scores, order, axis=1)
    return altered(index, search=search)


@sound("index")
def partial_sort_first(index):
    """The best are found by a partial sort and then sorted."""
    def search(queries, k):
        scores = index.scores(queries)
        k = min(k, scores.shape[1])
        head = np.argpartition(-scores, k - 1, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(scores, head, axis=1), axis=1)
        head = np.take_along_axis(head, order, axis=1)
        return head, np.take_along_axis(scores, head, axis=1)
    return altered(index, search=search)


class BlockedIndex(ExactIndex):
    """Scores in blocks of columns, added one after the other; distances from inner products."""

    def scores(self, queries):
        rows = self._rows
        asked = unit(queries) if self._metric == "cosine" else queries
        products = np.zeros((len(queries), len(rows)), rows.dtype)
        for start in range(0, rows.shape[1], 5):
            products += asked[:, start:start + 5] @ rows[:, start:start + 5].T
        if self._metric == "euclidean":
            squares = (asked**2).sum(axis=1)[:, None] + (rows**2).sum(axis=1) - 2 * products
            products = -np.sqrt(np.maximum(squares, 0))
        products[:, self._deleted] = -np.inf
        return products


@sound("index")
def blocked_products(index):
    """Inner products are added in blocks, and distances are computed from them."""
    blocked = BlockedIndex()
    return altered(index, build=blocked.build, search=blocked.search, scores=blocked.scores, delete=blocked.delete)


@sound("index")
def one_query_at_a_time(index):
    """Every query is a matrix-vector product of its own."""
    return altered(index, search=lambda queries, k: tuple(np.concatenate(parts) for parts in zip(
        *(index.search(query[None], k) for query in queries), strict=True)))


@sound("index")
def divided_after(index):
    """Cosines are inner products divided by both lengths afterwards."""
    last = {}

    def build(vectors, metric):
        last["lengths"] = np.linalg.norm(vectors, axis=1) if metric == "cosine" else None
        index.build(vectors, "dot" if metric == "cosine" else metric)

    def scores(queries):
        found = index.scores(queries)
        if last["lengths"] is None:
            return found
        product = np.outer(np.linalg.norm(queries, axis=1), last["lengths"])
        return np.where(product == 0, np.minimum(found, 0), found / np.where(product == 0, 1, product))
    return altered(index, build=build, scores=scores, search=lambda queries, k: best(scores(queries), k))


@sound("embedder")
def asked_twice(embedder):
    """Every text is embedded twice, and the second vectors are returned."""
    def embed(texts):
        embedder.embed(texts)
        return embedder.embed(texts)
    return altered(embedder, embed=embed)
