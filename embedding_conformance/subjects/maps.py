"""Maps, straight lines and arithmetic in the space of vectors, as the documents' experiments compute them."""

from __future__ import annotations

import numpy as np


class Maps:
    """The facet projector, in the floating format of the vectors that go in."""

    def project(self, vectors: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """[N, d] -> points [N, n], mean [d], axes [n, d]: principal components, by a singular value decomposition."""
        mean = vectors.mean(axis=0)
        centred = vectors - mean
        axes = np.linalg.svd(centred, full_matrices=False)[2][:n]
        return centred @ axes.T, mean, axes

    def interpolate(self, a: np.ndarray, b: np.ndarray, t: float) -> np.ndarray:
        """[d]: (1 - t) a + t b, scaled to length one; NaN where that sum is zero."""
        blend = (1 - t) * a + t * b
        with np.errstate(invalid="ignore"):
            scaled: np.ndarray = blend / np.linalg.norm(blend)
        return scaled

    def analogy(self, positive: np.ndarray, negative: np.ndarray, candidates: np.ndarray, exclude_inputs: bool,
                k: int) -> tuple[np.ndarray, np.ndarray]:
        """Indices and cosines [k] of the candidates [N, d] nearest to the sum of `positive` less the sum of `negative`.

        With `exclude_inputs` every candidate that is one of the inputs is left out.
        """
        wanted = positive.sum(axis=0) - negative.sum(axis=0)
        scores = candidates @ wanted / (np.linalg.norm(candidates, axis=1) * np.linalg.norm(wanted))
        if exclude_inputs:
            inputs = np.concatenate([positive, negative])
            scores[(candidates[:, None] == inputs).all(axis=2).any(axis=1)] = -np.inf
        best = np.argsort(-scores, kind="stable")[:k]
        return best, scores[best]
