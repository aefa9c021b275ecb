"""Retrieval: the nearest stored vectors, exactly."""
