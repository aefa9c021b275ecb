"""``python -m embedding_conformance`` is the command ``embedding-conformance``."""

import os
import sys


def main() -> None:
    """The entry point; a Ctrl-C while the command is still being loaded ends it like any other."""
    try:
        from .cli import main as command
    except KeyboardInterrupt:
        sys.exit(2)
    command()


if __name__ == "__main__":
    # `python -m` makes the working folder importable, and the caller may have a json.py there.
    if not sys.flags.safe_path and sys.path[0] == os.getcwd():
        del sys.path[0]
    main()
