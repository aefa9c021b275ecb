"""Tied weights: one table that is read at the input and at the output."""
