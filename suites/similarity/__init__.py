"""Similarity: the matrix of cosines."""
