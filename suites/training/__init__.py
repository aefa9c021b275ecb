"""Training: how a table is changed by gradients, and what becomes of it."""
