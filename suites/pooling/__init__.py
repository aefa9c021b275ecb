"""Pooling: from the states of tokens to one vector a text, and its length."""
