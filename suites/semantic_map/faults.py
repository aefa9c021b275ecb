"""Faulty and sound maps, lines and analogies, and encoders whose space has no meaning."""

from math import acos, sin

import numpy as np

from ...proof import altered, fault, sound
from ..context.faults import untrained as without_training
from .vectors import unit

MAP = ["MAP-01", "MAP-02", "MAP-03", "BASE-04"]
LINE = ["INTERP-01", "BASE-04"]


def mapped(projector, axes_of):
    """The projector with other axes; mean and centring stay right. `axes_of(centred, n)` gives [n, d]."""
    def project(x, n):
        mean = x.mean(axis=0)
        axes = axes_of(x - mean, n)
        return (x - mean) @ axes.T, mean, axes
    return altered(projector, project=project)


def decomposed(x):
    return np.linalg.svd(x, full_matrices=False)[2]


# --- maps -------------------------------------------------------------------------------------------------------------


@fault("projector", [*MAP, "MAP-04", "MAP-06"], source="UKPLab/sentence-transformers#2657")
def not_centred(projector):
    """The vectors are decomposed and projected as they are; the mean is returned all the same."""
    def project(x, n):
        axes = decomposed(x)[:n]
        return x @ axes.T, x.mean(axis=0), axes
    return altered(projector, project=project)


@fault("projector", ["MAP-01", "MAP-02", "MAP-03", "MAP-04"])
def centred_by_row(projector):
    """The mean of each vector is taken off its numbers, instead of the mean of each column."""
    def project(x, n):
        centred = x - x.mean(axis=1, keepdims=True)
        axes = decomposed(centred)[:n]
        return centred @ axes.T, x.mean(axis=0), axes
    return altered(projector, project=project)


@fault("projector", ["MAP-01", "MAP-03", "MAP-04"], source="UKPLab/sentence-transformers#2657")
def mean_not_subtracted(projector):
    """The axes are right, but the vectors are projected on them without the mean being taken off."""
    def project(x, n):
        _, mean, axes = projector.project(x, n)
        return x @ axes.T, mean, axes
    return altered(projector, project=project)


@fault("projector", ["MAP-02", "MAP-03", "MAP-06"])
def decomposed_before_centring(projector):
    """The axes are those of the vectors as they are; only the projection is centred."""
    def project(x, n):
        mean, axes = x.mean(axis=0), decomposed(x)[:n]
        return (x - mean) @ axes.T, mean, axes
    return altered(projector, project=project)


@fault("projector", ["MAP-01", "MAP-04"])
def mean_forgotten(projector):
    """Zeros are returned as the mean, while the points are centred."""
    def project(x, n):
        points, mean, axes = projector.project(x, n)
        return points, np.zeros_like(mean), axes
    return altered(projector, project=project)


@fault("projector", ["MAP-01"], size="subtle")
def mean_a_little_small(projector):
    """The mean is a thirty thousandth too small."""
    def project(x, n):
        _, mean, axes = projector.project(x, n)
        mean = mean * x.dtype.type(1 - 3e-5)
        return (x - mean) @ axes.T, mean, axes
    return altered(projector, project=project)


@fault("projector", ["MAP-01", "MAP-04"], size="subtle")
def another_mean_returned(projector):
    """The mean that is returned is a thirty thousandth smaller than the one that was taken off."""
    def project(x, n):
        points, mean, axes = projector.project(x, n)
        return points, mean * x.dtype.type(1 - 3e-5), axes
    return altered(projector, project=project)


@fault("projector", ["MAP-03", "MAP-04"], size="subtle")
def points_a_little_far(projector):
    """All coordinates are a ten thousandth too large."""
    def project(x, n):
        points, mean, axes = projector.project(x, n)
        return points * x.dtype.type(1 + 1e-4), mean, axes
    return altered(projector, project=project)


@fault("projector", ["MAP-02", "MAP-03"])
def last_axes(projector):
    """The axes come by rising variance, as an eigenvalue routine returns them."""
    return mapped(projector, lambda centred, n: decomposed(centred)[::-1][:n])


@fault("projector", ["MAP-02", "MAP-03"])
def random_axes(projector):
    """Some orthonormal axes, not the principal ones."""
    def axes_of(centred, n):
        square = np.random.default_rng(0).standard_normal((centred.shape[1], n))
        return np.linalg.qr(square)[0].T.astype(centred.dtype)
    return mapped(projector, axes_of)


@fault("projector", ["MAP-02", "MAP-03"])
def some_coordinates(projector):
    """The first coordinates of the vectors are the map."""
    return mapped(projector, lambda centred, n: np.eye(centred.shape[1], dtype=centred.dtype)[:n])


@fault("projector", ["MAP-02", "MAP-03"])
def axes_on_their_side(projector):
    """The columns of the matrix of axes are taken for its rows."""
    return mapped(projector, lambda centred, n: np.linalg.svd(centred)[2].T[:n])


@fault("projector", ["MAP-02"])
def left_singular_vectors(projector):
    """Vectors that belong to the sentences stand for the axes."""
    def project(x, n):
        points, mean, _ = projector.project(x, n)
        left = np.linalg.svd(x - mean, full_matrices=False)[0]
        return points, mean, left.T[:n]
    return altered(projector, project=project)


@fault("projector", ["MAP-02", "SHAPE-15"])
def covariance_by_rows(projector):
    """Rows are taken for variables, as numpy.cov does unless told otherwise: axes have a number for each sentence."""
    def project(x, n):
        axes = np.linalg.eigh(np.cov(x))[1].T[::-1][:n]
        return (x - x.mean(axis=0))[:, :len(x)] @ axes.T[:x.shape[1]], x.mean(axis=0), axes
    return altered(projector, project=project)


@fault("projector", ["MAP-03", "BASE-04"])
def whitened(projector):
    """Every coordinate is divided by its spread, so that all axes look equally important."""
    def project(x, n):
        points, mean, axes = projector.project(x, n)
        return points / points.std(axis=0), mean, axes
    return altered(projector, project=project)


@fault("projector", ["MAP-02", "MAP-03", "BASE-04"])
def standardised(projector):
    """Every column is divided by its spread before the axes are found."""
    return mapped(projector, lambda centred, n: decomposed(centred / centred.std(axis=0))[:n])


@fault("projector", ["MAP-03", "MAP-04"], source="scikit-learn/scikit-learn#18941")
def signs_of_axes_alone(projector):
    """The signs of the axes are settled after the projection, and those of the points are not."""
    def project(x, n):
        points, mean, axes = projector.project(x, n)
        return points, mean, axes * np.where(np.arange(n)[:, None] == 1, -1, 1).astype(x.dtype)
    return altered(projector, project=project)


@fault("projector", ["MAP-02"], size="subtle")
def axes_turned_a_little(projector):
    """The first two axes are turned within their plane by a thirty thousandth."""
    def axes_of(centred, n):
        axes = decomposed(centred)
        turned = axes + centred.dtype.type(3e-5) * np.stack([axes[1], -axes[0], *(0 * axes[2:])])
        return turned[:n]
    return mapped(projector, axes_of)


@fault("projector", ["MAP-04"])
def fitted_again(projector):
    """The axes that are returned are those of another fit, with one more vector."""
    def project(x, n):
        points, mean, _ = projector.project(x, n)
        return points, mean, projector.project(np.concatenate([x, 3 * x[:1]]), n)[2]
    return altered(projector, project=project)


@fault("projector", ["MAP-06"], size="subtle")
def eighth_axis_left_over(projector):
    """The mean is a thirtieth too small, so that a trace of it is left along an eighth axis."""
    def project(x, n):
        mean = x.mean(axis=0) * x.dtype.type(29 / 30)
        axes = decomposed(x - mean)[:n]
        return (x - mean) @ axes.T, mean, axes
    return altered(projector, project=project)


@fault("projector", ["SHAPE-15"])
def one_axis_more(projector):
    """The map has one axis more than was asked for."""
    return altered(projector, project=lambda x, n: projector.project(x, n + 1))


@fault("projector", ["SHAPE-15"])
def points_on_their_side(projector):
    """Axes in rows and sentences in columns."""
    def project(x, n):
        points, mean, axes = projector.project(x, n)
        return points.T, mean, axes
    return altered(projector, project=project)


@fault("projector", ["BASE-04"], size="subtle")
def points_in_another_unit(projector):
    """All coordinates are 1e-11 too large, where the vectors are in float64."""
    def project(x, n):
        points, mean, axes = projector.project(x, n)
        return points * x.dtype.type(1 + 1e-11), mean, axes
    return altered(projector, project=project)


# --- lines ------------------------------------------------------------------------------------------------------------


@fault("projector", [*LINE, "INTERP-05"])
def blend_not_scaled(projector):
    """The blend is returned as it is, shorter than one between the ends."""
    return altered(projector, interpolate=lambda a, b, t: (1 - t) * a + t * b)


@fault("projector", ["INTERP-01", "INTERP-02", "INTERP-03", "BASE-04"])
def ends_swapped(projector):
    """t and 1 - t are confused."""
    return altered(projector, interpolate=lambda a, b, t: projector.interpolate(b, a, t))


@fault("projector", ["INTERP-01", "INTERP-02", "INTERP-03", "INTERP-06"])
def never_moves(projector):
    """The point stays at the first vector."""
    return altered(projector, interpolate=lambda a, b, t: projector.interpolate(a, b, 0))


def arc(a, b, t):
    angle = acos(min(1.0, float(a @ b)))
    return (sin((1 - t) * angle) * a + sin(t * angle) * b) / sin(angle)


@fault("projector", [*LINE, "INTERP-06"])
def on_the_arc(projector):
    """Equal steps of t are equal steps of angle."""
    def interpolate(a, b, t):
        return arc(unit(a[None])[0], unit(b[None])[0], t).astype(a.dtype)
    return altered(projector, interpolate=interpolate)


@fault("projector", [*LINE, "INTERP-03"])
def slow_at_the_start(projector):
    """t is squared, so that the ends are right and the middle is not half way."""
    return altered(projector, interpolate=lambda a, b, t: projector.interpolate(a, b, t * t))


@fault("projector", LINE)
def eased(projector):
    """The point starts and stops gently; ends and middle are right."""
    return altered(projector, interpolate=lambda a, b, t: projector.interpolate(a, b, t * t * (3 - 2 * t)))


@fault("projector", ["INTERP-01"])
def line_between_directions(projector):
    """Both vectors are scaled to length one before they are blended."""
    return altered(projector, interpolate=lambda a, b, t: projector.interpolate(unit(a[None])[0], unit(b[None])[0], t))


@fault("projector", ["INTERP-01", "INTERP-02", "INTERP-03"])
def wanders(projector):
    """The point takes a detour that is different at every t."""
    def interpolate(a, b, t):
        noise = np.random.default_rng(int(t * 1000)).standard_normal(len(a)).astype(a.dtype)
        return projector.interpolate(a + noise / 20, b + noise / 20, t)
    return altered(projector, interpolate=interpolate)


@fault("projector", ["INTERP-01", "INTERP-05", "INTERP-07"], size="subtle")
def epsilon_in_the_length(projector):
    """Half a thousandth is added to the length, against division by zero."""
    def interpolate(a, b, t):
        blend = (1 - t) * a + t * b
        return blend / (np.linalg.norm(blend) + a.dtype.type(5e-4))
    return altered(projector, interpolate=interpolate)


@fault("projector", ["INTERP-01", "INTERP-02"], size="subtle")
def t_starts_late(projector):
    """The way begins and ends a two hundred thousandth inside."""
    return altered(projector, interpolate=lambda a, b, t: projector.interpolate(a, b, 5e-6 + t * (1 - 1e-5)))


@fault("projector", ["INTERP-03"], size="subtle")
def t_too_large(projector):
    """t is half a thousandth too large, so that the middle is past the middle."""
    return altered(projector, interpolate=lambda a, b, t: projector.interpolate(a, b, t * (1 + 1e-3)))


@fault("projector", ["INTERP-04"])
def scaled_in_place(projector):
    """At its start the point is the first vector itself, which is then scaled in place."""
    def interpolate(a, b, t):
        current = a if t == 0 else (1 - t) * a + t * b
        current /= np.linalg.norm(current)
        return current
    return altered(projector, interpolate=interpolate)


@fault("projector", ["INTERP-04"])
def target_weighted_in_place(projector):
    """The second vector is multiplied by t in place."""
    def interpolate(a, b, t):
        b *= b.dtype.type(t)
        blend = (1 - t) * a + b
        return blend / np.linalg.norm(blend)
    return altered(projector, interpolate=interpolate)


@fault("projector", ["INTERP-07"])
def some_direction_half_way(projector):
    """Where the sum is zero, the first vector is returned as if it were the answer."""
    def interpolate(a, b, t):
        blend = (1 - t) * a + t * b
        return blend / np.linalg.norm(blend) if blend.any() else a
    return altered(projector, interpolate=interpolate)


@fault("projector", ["INTERP-07"])
def no_direction_near_the_middle(projector):
    """A blend shorter than a fifth counts as zero."""
    def interpolate(a, b, t):
        blend = (1 - t) * a + t * b
        return projector.interpolate(a, b, t) if np.linalg.norm(blend) > 0.2 else 0 * a
    return altered(projector, interpolate=interpolate)


# --- analogies --------------------------------------------------------------------------------------------------------


def asked(projector, change):
    """The projector with other inputs: `change(positive, negative)` gives them."""
    def analogy(positive, negative, candidates, exclude_inputs, k):
        return best(*change(positive, negative), candidates, k, excluded(positive, negative, candidates, exclude_inputs))
    return altered(projector, analogy=analogy)


def excluded(positive, negative, candidates, exclude_inputs=True):
    """[N]: which candidates are inputs."""
    inputs = np.concatenate([positive, negative])
    return (candidates[:, None] == inputs).all(axis=2).any(axis=1) & exclude_inputs


def best(positive, negative, candidates, k, out, fill=-np.inf):
    scores = cosines(candidates, positive.sum(axis=0) - negative.sum(axis=0))
    scores[out] = fill
    order = np.argsort(-scores, kind="stable")[:k]
    return order, scores[order]


def cosines(candidates, wanted):
    return candidates @ wanted / (np.linalg.norm(candidates, axis=1) * np.linalg.norm(wanted))


ALL_SCORES = ["ANALOGY-03", "ANALOGY-04", "ANALOGY-05", "BASE-05"]


@fault("projector", [*ALL_SCORES, "ANALOGY-07"])
def subtraction_forgotten(projector):
    """All inputs are added."""
    return asked(projector, lambda positive, negative: (np.concatenate([positive, negative]), negative[:0]))


@fault("projector", [*ALL_SCORES, "ANALOGY-07"])
def negatives_ignored(projector):
    """What should be subtracted is left out."""
    return asked(projector, lambda positive, negative: (positive, negative[:0]))


@fault("projector", [*ALL_SCORES, "ANALOGY-07"])
def signs_swapped(projector):
    """What should be added is subtracted, and the other way round."""
    return asked(projector, lambda positive, negative: (negative, positive))


@fault("projector", ["ANALOGY-03", "ANALOGY-05", "BASE-05"])
def man_and_woman_swapped(projector):
    """The last input to add and the first to subtract change places."""
    def change(positive, negative):
        if not len(negative):
            return positive, negative
        return (np.concatenate([positive[:-1], negative[:1]]), np.concatenate([positive[-1:], negative[1:]]))
    return asked(projector, change)


@fault("projector", ["ANALOGY-03", "ANALOGY-07"])
def inputs_scaled_first(projector):
    """Every input is scaled to length one before it is added; between words of length one that changes nothing."""
    return asked(projector, lambda positive, negative: (unit(positive), unit(negative) if len(negative) else negative))


@fault("projector", ["ANALOGY-03", "ANALOGY-05", "ANALOGY-07", "BASE-05"])
def scores_not_normalised(projector):
    """The sum is not scaled to length one: the ranking of equally long words is right, every score is not."""
    def analogy(positive, negative, candidates, exclude_inputs, k):
        indices, scores = projector.analogy(positive, negative, candidates, exclude_inputs, k)
        return indices, scores * np.linalg.norm(positive.sum(axis=0) - negative.sum(axis=0))
    return altered(projector, analogy=analogy)


@fault("projector", ["ANALOGY-03"])
def long_candidates_first(projector):
    """The candidates are not scaled to length one."""
    def analogy(positive, negative, candidates, exclude_inputs, k):
        wanted = positive.sum(axis=0) - negative.sum(axis=0)
        scores = candidates @ wanted / np.linalg.norm(wanted)
        scores[excluded(positive, negative, candidates, exclude_inputs)] = -np.inf
        order = np.argsort(-scores, kind="stable")[:k]
        return order, scores[order]
    return altered(projector, analogy=analogy)


@fault("projector", ["ANALOGY-04", "BASE-05"], source="sajari/word2vec#6")
def inputs_not_excluded(projector):
    """Inputs may come out although they are to be excluded."""
    return altered(projector, analogy=lambda p, n, candidates, exclude_inputs, k:
                   projector.analogy(p, n, candidates, False, k))


@fault("projector", ["ANALOGY-04"])
def only_the_first_excluded(projector):
    """Of the inputs to add only the first is excluded."""
    def analogy(positive, negative, candidates, exclude_inputs, k):
        return best(positive, negative, candidates, k, excluded(positive[:1], negative, candidates, exclude_inputs))
    return altered(projector, analogy=analogy)


@fault("projector", ["ANALOGY-04"])
def subtracted_not_excluded(projector):
    """What is subtracted may come out."""
    def analogy(positive, negative, candidates, exclude_inputs, k):
        return best(positive, negative, candidates, k, excluded(positive, negative[:0], candidates, exclude_inputs))
    return altered(projector, analogy=analogy)


@fault("projector", ["ANALOGY-04"])
def always_excluded(projector):
    """Inputs never come out, also where they are not to be excluded."""
    return altered(projector, analogy=lambda p, n, candidates, exclude_inputs, k:
                   best(p, n, candidates, k, excluded(p, n, candidates), fill=-2.0))


@fault("projector", ["ANALOGY-04"])
def excluded_score_zero(projector):
    """An excluded input scores zero, and so comes before all that points away."""
    def analogy(positive, negative, candidates, exclude_inputs, k):
        return best(positive, negative, candidates, k, excluded(positive, negative, candidates, exclude_inputs), fill=0.0)
    return altered(projector, analogy=analogy)


@fault("projector", ["ANALOGY-04", "ANALOGY-05"])
def numbered_without_the_excluded(projector):
    """Indices count the candidates that are left, and not all."""
    def analogy(positive, negative, candidates, exclude_inputs, k):
        left = candidates[~excluded(positive, negative, candidates, exclude_inputs)]
        return projector.analogy(positive, negative, left, False, k)
    return altered(projector, analogy=analogy)


@fault("projector", ["ANALOGY-03", "ANALOGY-04", "ANALOGY-05", "ANALOGY-08"])
def least_similar_first(projector):
    """The ranking is upside down."""
    def analogy(positive, negative, candidates, exclude_inputs, k):
        scores = cosines(candidates, positive.sum(axis=0) - negative.sum(axis=0))
        scores[excluded(positive, negative, candidates, exclude_inputs)] = np.inf
        order = np.argsort(scores, kind="stable")[:k]
        return order, scores[order]
    return altered(projector, analogy=analogy)


@fault("projector", ["ANALOGY-05"])
def best_not_sorted(projector):
    """The best are found by a partial sort, and come in the order of the candidates."""
    def analogy(positive, negative, candidates, exclude_inputs, k):
        indices, scores = projector.analogy(positive, negative, candidates, exclude_inputs, k)
        order = np.argsort(indices)
        return indices[order], scores[order]
    return altered(projector, analogy=analogy)


@fault("projector", ["ANALOGY-05"])
def one_result_more(projector):
    """One word more than was asked for."""
    return altered(projector, analogy=lambda p, n, candidates, exclude_inputs, k:
                   projector.analogy(p, n, candidates, exclude_inputs, k + 1))


@fault("projector", ["ANALOGY-05"])
def scores_of_the_head(projector):
    """The scores are those of the first candidates, and not of the best."""
    def analogy(positive, negative, candidates, exclude_inputs, k):
        indices, _ = projector.analogy(positive, negative, candidates, exclude_inputs, k)
        return indices, cosines(candidates, positive.sum(axis=0) - negative.sum(axis=0))[:k]
    return altered(projector, analogy=analogy)


@fault("projector", ["ANALOGY-08"])
def counted_from_one(projector):
    """Indices count from one, and the last is its own follower."""
    def analogy(positive, negative, candidates, exclude_inputs, k):
        indices, scores = projector.analogy(positive, negative, candidates, exclude_inputs, k)
        return np.minimum(indices + 1, len(candidates) - 1), scores
    return altered(projector, analogy=analogy)


@fault("projector", ["ANALOGY-08"])
def candidates_sorted(projector):
    """The candidates are sorted and stripped of duplicates, as numpy.unique does, and then numbered."""
    def analogy(positive, negative, candidates, exclude_inputs, k):
        kept = np.unique(candidates, axis=0)
        return projector.analogy(positive, negative, kept, exclude_inputs, k)
    return altered(projector, analogy=analogy)


@fault("projector", ["ANALOGY-03"], size="subtle")
def epsilon_in_the_sum(projector):
    """A thousandth is added to the length of the sum."""
    def analogy(positive, negative, candidates, exclude_inputs, k):
        indices, scores = projector.analogy(positive, negative, candidates, exclude_inputs, k)
        length = np.linalg.norm(positive.sum(axis=0) - negative.sum(axis=0))
        return indices, scores * (length / (length + scores.dtype.type(1e-3)))
    return altered(projector, analogy=analogy)


@fault("projector", ["ANALOGY-07"], size="subtle")
def nearly_one(projector):
    """Scores are rounded to four decimals downwards."""
    def analogy(positive, negative, candidates, exclude_inputs, k):
        indices, scores = projector.analogy(positive, negative, candidates, exclude_inputs, k)
        return indices, scores * scores.dtype.type(1 - 5e-5)
    return altered(projector, analogy=analogy)


@fault("projector", ["BASE-05"], size="subtle")
def scores_off_in_the_last_digits(projector):
    """Every score is 5e-12 too large, where the vectors are in float64."""
    def analogy(positive, negative, candidates, exclude_inputs, k):
        indices, scores = projector.analogy(positive, negative, candidates, exclude_inputs, k)
        return indices, scores + scores.dtype.type(5e-12)
    return altered(projector, analogy=analogy)


# --- neighbours -------------------------------------------------------------------------------------------------------


@fault("index", ["MAP-05"])
def searched_in_three_dimensions(index):
    """Vectors and queries are projected on three principal axes before the search."""
    kept = {}

    def build(x, metric):
        kept["mean"], kept["axes"] = x.mean(axis=0), decomposed(x - x.mean(axis=0))[:3]
        index.build((x - kept["mean"]) @ kept["axes"].T, metric)
    return altered(index, build=build, search=lambda q, k: index.search((q - kept["mean"]) @ kept["axes"].T, k))


@fault("index", ["MAP-05", "MAP-07"])
def nearest_is_farthest(index):
    """The smallest scores come first."""
    def search(queries, k):
        scores = index.scores(queries)
        order = np.argsort(scores, axis=1, kind="stable")[:, :k]
        return order, np.take_along_axis(scores, order, axis=1)
    return altered(index, search=search)


@fault("index", ["MAP-07"])
def itself_left_out(index):
    """The best result is dropped, on the belief that it is the query itself."""
    def search(queries, k):
        indices, scores = index.search(queries, k + 1)
        return indices[:, 1:], scores[:, 1:]
    return altered(index, search=search)


# --- encoders ---------------------------------------------------------------------------------------------------------


@fault("embedder", ["MAP-08", "MAP-09", "ANALOGY-01", "ANALOGY-02", "BASE-07", "BASE-09"])
def untrained(embedder):
    """A model of the same architecture with random weights."""
    return without_training(embedder)


@fault("embedder", ["MAP-08", "ANALOGY-06", "BASE-07", "BASE-09"])
def looked_up_rows(embedder):
    """The mean of the looked-up rows stands for the text; no layer is run."""
    return altered(embedder, embed=lambda texts: unit(np.stack([rows.mean(axis=0) for rows
                                                                in embedder.input_embeddings(texts)])))


@fault("embedder", ["ANALOGY-01", "ANALOGY-02", "MAP-08", "MAP-09", "BASE-07", "BASE-09"])
def neighbours_swapped(embedder):
    """Every second vector changes places with the one after it: king is man, and so on."""
    def embed(texts):
        order = np.arange(len(texts))
        order[1:-1] = order[1:-1].reshape(-1, 2)[:, ::-1].ravel() if len(texts) % 2 == 0 else order[1:-1]
        return embedder.embed(texts)[order]
    return altered(embedder, embed=embed)


@fault("embedder", ["ANALOGY-06"])
def table_row_of_the_word(embedder):
    """A text of one word has the row of the table as its vector."""
    return altered(embedder, embed=lambda texts: unit(np.stack([rows[1] for rows in embedder.input_embeddings(texts)])))


@fault("embedder", ["BASE-07", "BASE-09"], size="subtle")
def slightly_other_weights(embedder):
    """Every vector is off by two parts in a thousand, 2e-6 in 1 - cosine: a nearby revision."""
    def embed(texts):
        vectors = embedder.embed(texts)
        noise = np.random.default_rng(0).standard_normal(vectors.shape) * 2e-3 / np.sqrt(vectors.shape[1])
        return unit(vectors + noise.astype(np.float32))
    return altered(embedder, embed=embed)


# --- sound variants ---------------------------------------------------------------------------------------------------


@sound("projector", source="scikit-learn/scikit-learn#18941")
def other_signs(projector):
    """Every second axis points the other way, and its points with it."""
    def project(x, n):
        points, mean, axes = projector.project(x, n)
        signs = (-1.0) ** np.arange(n, dtype=x.dtype)
        return points * signs, mean, axes * signs[:, None]
    return altered(projector, project=project)


@sound("projector")
def eigenvectors_of_the_covariance(projector):
    """The axes are eigenvectors of the covariance, in the format of the vectors."""
    return mapped(projector, lambda centred, n: np.linalg.eigh(centred.T @ centred)[1].T[::-1][:n])


@sound("projector")
def eigenvectors_of_inner_products(projector):
    """The points come from the inner products of the centred vectors in float64, and the axes from the points."""
    def project(x, n):
        mean = x.astype(np.float64).mean(axis=0)
        centred = x - mean
        squares, left = np.linalg.eigh(centred @ centred.T)
        points = left[:, ::-1][:, :n] * np.sqrt(np.maximum(squares[::-1][:n], 0))
        axes = decomposed(centred)[:n]
        points = points * np.sign((points * (centred @ axes.T)).sum(axis=0))
        return points.astype(x.dtype), mean.astype(x.dtype), axes.astype(x.dtype)
    return altered(projector, project=project)


@sound("projector")
def map_in_pytorch(projector):
    """Decomposed by PyTorch."""
    def axes_of(centred, n):
        import torch

        return torch.linalg.svd(torch.tensor(centred), full_matrices=False)[2].numpy()[:n]
    return mapped(projector, axes_of)


@sound("projector")
def in_float64(projector):
    """All is computed and returned in float64."""
    def doubled(method):
        return lambda *args: method(*(a.astype(np.float64) if isinstance(a, np.ndarray) else a for a in args))
    return altered(projector, project=doubled(projector.project), interpolate=doubled(projector.interpolate),
                   analogy=doubled(projector.analogy))


@sound("projector")
def start_and_step(projector):
    """The line is the first vector and t times the way to the second; the ends stay exact."""
    def interpolate(a, b, t):
        blend = a + a.dtype.type(t) * (b - a) if t != 1 else b
        with np.errstate(invalid="ignore"):
            return blend / np.linalg.norm(blend)
    return altered(projector, interpolate=interpolate)


@sound("projector")
def refuses_opposite_vectors(projector):
    """Raises where there is no direction."""
    def interpolate(a, b, t):
        found = projector.interpolate(a, b, t)
        if not np.isfinite(found).all():
            raise ValueError("no direction")
        return found
    return altered(projector, interpolate=interpolate)


@sound("projector")
def zeros_without_direction(projector):
    """Zeros where there is no direction."""
    return altered(projector, interpolate=lambda a, b, t: np.nan_to_num(projector.interpolate(a, b, t)))


@sound("projector")
def mean_of_the_inputs(projector):
    """The mean of the inputs instead of their sum, and partial sorting first; equal scores from the last candidate."""
    def analogy(positive, negative, candidates, exclude_inputs, k):
        wanted = np.concatenate([positive, -negative]).mean(axis=0)
        scores = unit(candidates) @ (wanted / np.linalg.norm(wanted))
        scores[excluded(positive, negative, candidates, exclude_inputs)] = -np.inf
        head = np.argpartition(-scores, k - 1)[:k]
        order = head[np.argsort(-scores[head], kind="stable")]
        return order, scores[order]
    return altered(projector, analogy=analogy)


@sound("embedder")
def one_text_at_a_time(embedder):
    """Every text in a batch of its own."""
    return altered(embedder, embed=lambda texts: np.concatenate([embedder.embed([text]) for text in texts]))
