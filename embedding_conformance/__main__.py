"""``python -m embedding_conformance`` is the command ``embedding-conformance``."""

from .cli import main

main()
