"""Measures of likeness that go wrong on whole numbers."""

from ...proof import altered, fault


@fault("similarity", ["FIELD-90"],
       source="scikit-learn/scikit-learn#7463, scikit-learn/scikit-learn#12628, scikit-learn/scikit-learn#13874")
def results_in_the_format_of_the_vectors(similarity):
    """The cosines of whole numbers are kept as whole numbers, cut off at the point."""
    return altered(similarity, matrix=lambda vectors: similarity.matrix(vectors).astype(vectors.dtype))
