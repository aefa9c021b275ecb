"""What likeness is taken of: whole numbers, such as quantised vectors are, as well as fractions."""

import numpy as np
import pytest

from ...evidence import ClaimViolation

HALF = "half of what the exact values differ by"


def answered(measure, *vectors):
    """The answer, or None where whole numbers are refused."""
    try:
        return measure(*vectors)
    except ClaimViolation as violation:
        if not violation.raised:
            raise
        return None


@pytest.mark.claim("FIELD-90")
def test_a_matrix_of_whole_numbers(similarity, evidence):
    """The cosines of (3, 4) with (4, 3), (0, 1) and (1, 0), 0.96, 0.8 and 0.6, fall; or whole numbers are refused."""
    vectors = np.array([[3, 4], [4, 3], [0, 1], [1, 0]])
    matrix = answered(similarity.matrix, vectors)
    if matrix is None:
        evidence.refuses(lambda: similarity.matrix(vectors))
        return
    evidence.greater(matrix[0, 1], matrix[0, 2], 0.08, HALF)
    evidence.greater(matrix[0, 2], matrix[0, 3], 0.1, HALF)
    evidence.greater(matrix[0, 0], matrix[0, 1], 0.02, HALF)
