"""Judge embeddings against an executable specification.

The command is ``embedding-conformance``; ``embedding_conformance.plugin`` is the pytest plugin behind it. Importing this
package imports neither NumPy nor pytest.
"""

from pathlib import Path

__version__ = "0.1.0"

# A wheel carries suites/ and fixtures/ inside the package; in a checkout, and so in an editable install, they lie beside
# it. Either way the suites are imported as embedding_conformance.suites, so that they never meet a user's own "suites".
_package = Path(__file__).resolve().parent
_home = _package if (_package / "suites").is_dir() else _package.parent
if _home != _package:
    __path__.append(str(_home))


def home() -> Path:
    """The folder that holds ``suites/`` and ``fixtures/``: the package, or the checkout that it lies in."""
    return _home


def in_checkout() -> bool:
    """Whether the package runs from a checkout (or an editable install of one) and not from an installed wheel."""
    return _home != _package
