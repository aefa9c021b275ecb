"""Sentence vectors against the reference's: one by one, as rows of a call, and as neighbours of each other."""

import numpy as np
import pytest

from ...bounds import Bound
from ...data import generator
from ...reference import unit
from . import stages
from .test_stages import both, no_tier

#: of the rows that should be told apart: how far, in 1 - cosine, two texts must lie from each other
DISTINCT = 0.3
NEIGHBOURS = 10
#: texts whose neighbours are looked for, and cosines that are held at once
ASKED, HELD = 1_000, 2_000_000
#: the share of neighbours that sound models keep at a precision, by the reports of users and by measurement
KEPT = {"float64": 0.99, "float32": 0.99, "float16": 0.98, "bfloat16": 0.95, "int8": 0.6, "int4": 0.5}
#: one in twenty intervals misses the share that it is for
CONFIDENCE = 0.95
SHOWN = 3


@pytest.mark.claim("AGREE-08")
def test_vectors(embedder, reference, evidence):
    """All texts: the worst row by direction, and by length."""
    pair = stages.vectors(embedder, reference)
    inside = stages.at_its_stage(embedder.subject, reference)
    look = stages.explained(reference, embedder.subject, None if inside else (
        lambda: stages.look_at_vectors(embedder, reference, stages.worst_texts(pair[0]))))
    both(evidence, pair, look)
    if not inside:
        no_tier(evidence, embedder, reference, pair[0], embedder.embed(stages.texts_of(reference)),
                lambda: stages.look_at_vectors(embedder, reference))


@pytest.mark.claim("AGREE-09")
def test_width(embedder, reference, evidence):
    """As many numbers in a vector as the reference has."""
    texts = stages.texts_of(reference)
    evidence.equal(list(embedder.embed(texts).shape), list(reference.embed(texts).shape))


@pytest.mark.claim("AGREE-10")
def test_rows_belong_to_their_texts(embedder, reference, evidence, seed):
    """Distinct texts in an order drawn from the seed: no row is nearer to another text's reference than to its own."""
    texts = stages.texts_of(reference)
    vectors = unit(reference.embed(texts).astype(np.float64))
    chosen = []
    for row in generator(seed, "rows of a reference").permutation(len(texts)):
        if all(1 - vectors[row] @ vectors[other] > DISTINCT for other in chosen):
            chosen.append(row)
        if len(chosen) == 32:
            break
    found = unit(embedder.embed([texts[row] for row in chosen], fresh=True).astype(np.float64))
    expected = vectors[chosen]
    evidence.equal(list(found.shape), list(expected.shape))
    distance = 1 - found @ expected.T
    # Only a row that is another text's, as far as the distance of distinct texts can tell, is out of place.
    elsewhere = np.where(distance.argmin(axis=1) != np.arange(len(chosen)), distance.min(axis=1) < DISTINCT / 2, False)

    def worst(place):
        other = int(distance[place].argmin())
        return [f"row {place}, {stages.shown(reference, texts[chosen[place]])}",
                f"reference of row {other}: {distance[place, other]:.3g} in 1 - cosine, own: {distance[place, place]:.3g}"]
    look = stages.explained(reference, embedder.subject, None if stages.at_its_stage(embedder.subject, reference) else (
        lambda: stages.look_at_vectors(embedder, reference)))
    evidence.texts_agree(elsewhere.astype(float), Bound(0.0, f"distinct texts lie {DISTINCT} apart or more"),
                         "0 at its place, 1 the row of another text", worst, look)


def cosines(rows, part):
    """[n, N]: those of some of the rows with all of them; a row is no neighbour of its own."""
    scores = rows[part] @ rows.T
    scores[np.arange(len(part)), part] = -np.inf
    return scores


@pytest.mark.claim("AGREE-11")
def test_neighbours_are_kept(embedder, reference, evidence, seed):
    """The nearest ten of every text by the reference, and by the subject; near ties, which rounding decides, count as kept.

    Of many texts the neighbours of a part are looked for among all, drawn from the seed: the interval says how sure that is.
    """
    from scipy.stats import binomtest

    texts = list(dict.fromkeys(stages.texts_of(reference)))
    k = min(NEIGHBOURS, max(1, len(texts) // 3))
    found, expected = embedder.embed(texts), reference.embed(texts)
    name = stages.precision(reference, embedder, found)
    tie = 0.0 if stages.whole_numbers(name) else float(np.sqrt(stages.network_bounds(reference, embedder, found)[0].value))
    asked = np.sort(generator(seed, "texts whose neighbours are looked for").permutation(len(texts))[:ASKED])
    rows, others = unit(expected.astype(np.float64)), unit(found.astype(np.float64))
    keeps, firsts = [], []
    for part in np.array_split(asked, -(-len(asked) * len(texts) // HELD)):
        exact, mine = cosines(rows, part), cosines(others, part)
        near = np.argpartition(mine, -k, axis=1)[:, -k:]
        keeps.append(np.take_along_axis(exact, near, axis=1) >= (np.partition(exact, -k, axis=1)[:, -k] - tie)[:, None])
        firsts.append(exact[np.arange(len(part)), mine.argmax(axis=1)] >= exact.max(axis=1) - tie)
    kept, first = np.concatenate(keeps), np.concatenate(firsts)
    interval = binomtest(int(kept.sum()), kept.size).proportion_ci(CONFIDENCE, method="exact")
    direction, _ = stages.vectors(embedder, reference)
    evidence.figure("table", "Agreement with the reference", {
        "columns": ["worst 1 - cosine", "median", f"neighbours kept, top {k}", "first place kept"],
        "rows": [[direction.distances.max(), np.median(direction.distances),
                  f"{kept.mean():.0%} ({interval.low:.0%} to {interval.high:.0%})", f"{first.mean():.0%}"]]})
    evidence.at_most(1 - interval.high, Bound(1 - KEPT[name], f"sound models keep {KEPT[name]:.0%} and more at {name}"),
                     f"{kept.mean():.1%} of {kept.size} kept, {interval.low:.1%} to {interval.high:.1%} with {CONFIDENCE:.0%} "
                     f"confidence; first places {first.mean():.0%}")


@pytest.mark.claim("AGREE-12")
def test_share_of_stale_vectors(embedder, reference, evidence):
    """Every vector of the reference is what the subject makes of its text today; how many at most are not is in the report."""
    from scipy.stats import beta

    texts = stages.texts_of(reference)
    direction, length = stages.vectors(embedder, reference)
    stale = [direction.distances > direction.bound.value, length.distances > length.bound.value]
    count, total = int(np.logical_or(*stale).sum()), len(texts)
    most = float(beta.ppf(CONFIDENCE, count + 1, total - count)) if count < total else 1.0
    says = f"{count} of {total} differ: at most {most:.2%} of all such texts ({CONFIDENCE:.0%})"
    places = [stages.shown(reference, texts[place]) for place in np.flatnonzero(np.logical_or(*stale))[:SHOWN]]
    evidence.at_most(count, Bound(0.0, f"no row may differ by more than {direction.bound.why}"), "; ".join([says, *places]))
