"""Inner products, cosines and distances with exact sums."""

from math import fsum, nan, sqrt

import numpy as np

from ...bounds import TIERS, Bound

#: of a share of distances; in a model that says nothing chance puts it on either side of 1, seldom by more than a tenth
NEARER = Bound(0.95, "a twentieth nearer; untrained models are on either side of 1")


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Of two vectors [d]: the products round, their sum is exact until it is rounded once (`math.fsum`)."""
    return fsum((a.astype(np.float64) * b.astype(np.float64)).tolist())


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """Of two vectors [d]; NaN where one of them has no direction, so that a subject which answers zeros is refuted."""
    return of_squares(dot(a, b), dot(a, a), dot(b, b))


def of_squares(product: float, first: float, second: float) -> float:
    """The cosine from an inner product and the squares of both lengths."""
    lengths = sqrt(first * second)
    return product / lengths if lengths else nan


def distance(a: np.ndarray, b: np.ndarray, kind: str) -> float:
    """Of two vectors [d], "euclidean" or "manhattan"."""
    differences = (a.astype(np.float64) - b.astype(np.float64)).tolist()
    return sqrt(fsum(x * x for x in differences)) if kind == "euclidean" else fsum(map(abs, differences))


def share(near: float, far: float) -> float:
    """From two cosines: 1 - cosine of the near one, as a share of that of the far one; 1 where no distance is left.

    Nobody promises how far apart a model puts texts: where its cosines are all above 0.8, differences of cosines are small
    and say as much. Shares do not change when 1 - cosine is multiplied throughout.
    """
    return 1.0 if 1 - far <= TIERS["float32"] else (1 - near) / (1 - far)


def cosine_matrix(vectors: np.ndarray) -> np.ndarray:
    """[N, d] -> [N, N]"""
    squares = [dot(a, a) for a in vectors]
    return np.array([[of_squares(dot(a, b), *pair) for b, *pair in zip(vectors, [first] * len(vectors), squares, strict=True)]
                     for a, first in zip(vectors, squares, strict=True)])
