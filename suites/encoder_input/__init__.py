"""Encoder input: from token ids to the first layer, and the oracle of the whole encoder."""
