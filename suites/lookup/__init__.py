"""Lookup: the layer as a table that is read by row."""
