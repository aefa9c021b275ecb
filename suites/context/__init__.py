"""Context: one lookup vector, many hidden states."""
