"""One-hot: the code that a lookup makes superfluous, and the dense vectors in its place."""
