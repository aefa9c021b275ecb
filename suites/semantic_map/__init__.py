"""Semantic map: principal components, straight lines and arithmetic in the space of vectors."""
