"""The numbers of the documents' map and analogy, recorded: on stored vectors, and on the bundled model's own."""

import numpy as np
import pytest

from ... import bounds
from ...data import pooled, texts
from . import oracle
from .vectors import unit

GRID = (0, 0.25, 0.5, 0.75, 1)
INPUTS = [0, 3], [2]  # king and woman, man


def upright(points):
    """Axes have no sign: each is turned so that the coordinate farthest from zero is positive."""
    farthest = np.take_along_axis(points, np.abs(points).argmax(axis=0)[None], axis=0)
    return points * np.sign(farthest)


def path(interpolate, vectors):
    """[5, 8]: the scores of all sentences on the way from the first to the second."""
    return np.stack([vectors @ interpolate(vectors[0], vectors[1], t) for t in GRID])


def map_of(vectors):
    """The oracle's numbers: points [8, 3], scores along the way [5, 8], and the four nearest at its start."""
    parts = oracle.components(vectors)
    scores = path(oracle.interpolated, vectors)
    return {"points": upright((vectors - parts.mean) @ parts.axes[:3].T), "scores": scores,
            "nearest": np.argsort(-scores[0])[:4]}


def analogy_of(vectors):
    """The oracle's numbers: scores of the fourteen words and the best six without the inputs."""
    scores = oracle.analogy_scores(*(vectors[rows] for rows in INPUTS), vectors)
    left = np.where(np.isin(np.arange(14), np.concatenate(INPUTS)), -np.inf, scores)
    return {"scores": scores, "best": np.argsort(-left)[:6]}


def stored(name, count):
    """[count, 384] float64: the stored vectors of a list of texts, scaled to length one."""
    return unit(pooled(name)[:count].astype(np.float64))


@pytest.mark.claim("BASE-04")
def test_recorded_map(projector, evidence):
    """The points of the eight sentences, up to the signs of the axes; the first is where the moving point starts."""
    vectors = stored("map", 8)
    points, _, axes = projector.project(vectors, 3)
    exact = oracle.components(vectors)
    angles = np.array([exact.turned(range(i, i + 1), vectors, points, axes).value for i in range(3)])
    lengths = np.linalg.norm(vectors - exact.mean, axis=1)[:, None]
    coordinate = bounds.dot(384 + 8 + 2, vectors, points, axes, scale=2.0)
    evidence.baseline("formulas_map", {"points": upright(points).astype(np.float64)},
                      lambda: {"points": map_of(vectors)["points"]},
                      {"points": bounds.Bound(lengths * angles + coordinate.value, f"{coordinate.why}; and of the axes")})
    shares = (points[:, :2].astype(np.float64) ** 2).sum(axis=0) / (lengths**2).sum()
    evidence.figure("map", "Map of the eight sentences",
                    {"points": points[:, :2], "labels": texts()["map"], "explained": shares})


@pytest.mark.claim("BASE-04")
def test_recorded_way(projector, evidence):
    """The scores of the eight sentences at five places between the first two, and the four nearest at the start."""
    vectors = stored("map", 8)
    scores = path(projector.interpolate, vectors).astype(np.float64)
    arrays = {"scores": scores, "nearest": np.argsort(-scores[0])[:4]}
    one = projector.interpolate(vectors[0], vectors[1], 0.5)
    evidence.baseline("formulas_way", arrays, lambda: {key: map_of(vectors)[key] for key in arrays},
                      {"scores": bounds.cosine(384, vectors, one).scaled(2, "twice, the moving point rounds too")})
    way = np.linspace(0, 1, 21)
    moving = np.stack([projector.interpolate(vectors[0], vectors[1], t) for t in way])
    evidence.figure("curve", "From the first sentence to the second: cosines with four sentences", {
        "x": way, "x_name": "share of the way",
        "lines": {texts()["map"][row]: moving @ vectors[row] for row in range(4)}})


@pytest.mark.claim("BASE-05")
def test_recorded_analogy(projector, evidence):
    """The scores of the fourteen words, and the six best without the inputs."""
    vectors = stored("words", 14)
    positive, negative = (vectors[rows] for rows in INPUTS)
    indices, scores = projector.analogy(positive, negative, vectors, exclude_inputs=False, k=14)
    best, _ = projector.analogy(positive, negative, vectors, exclude_inputs=True, k=6)
    arrays = {"scores": scores[np.argsort(indices)].astype(np.float64), "best": best.astype(np.int64)}
    evidence.baseline("formulas_analogy", arrays, lambda: analogy_of(vectors),
                      {"scores": oracle.analogy_bound(positive, negative, vectors, scores)})
    evidence.figure("bars", "king - man + woman: cosines of all words, inputs included",
                    {"labels": [texts()["words"][row] for row in indices], "values": scores})


def recorded(evidence, name, numbers, vectors, sentences):
    """Numbers of the bundled model's own vectors, in float32, against those of the oracle's vectors."""
    def exact():
        from ..encoder_input.bundled_oracle import embeddings

        return numbers(embeddings(sentences))

    found = {key: array.astype(np.float32 if array.dtype.kind == "f" else np.int64)
             for key, array in numbers(unit(vectors.astype(np.float64))).items()}
    evidence.baseline(name, found, exact)


@pytest.mark.claim("BASE-07")
def test_recorded_map_of_the_model(embedder, evidence):
    """Points, scores along the way and nearest sentences of the model's own vectors."""
    sentences = texts()["map"]
    recorded(evidence, "bundled_map", map_of, embedder.embed(sentences), sentences)


@pytest.mark.claim("BASE-09")
def test_recorded_analogy_of_the_model(embedder, evidence):
    """Scores and ranking of the words by the model's own vectors."""
    names = texts()["words"]
    evidence.equal([names[row] for rows in INPUTS for row in rows], ["king", "woman", "man"])
    recorded(evidence, "bundled_analogy", analogy_of, embedder.embed(names), names)
