"""Judge embeddings against an executable specification.

The command is ``embedding-conformance``; ``embedding_conformance.plugin`` is the pytest plugin behind it. Importing this
package imports neither NumPy nor pytest.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .asked import conformance
    from .in_process import check

__all__ = ["__version__", "check", "conformance", "home", "in_checkout"]
__version__ = "0.1.0"

#: names that the hand of a scikit-learn user writes
FROM_SCIKIT_LEARN = ("parametrize_with_checks", "check_estimator", "estimator_checks_generator")

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


def __getattr__(name: str) -> Any:
    if name == "conformance":
        from .asked import conformance

        return conformance
    if name == "check":
        from .in_process import check

        return check
    hint = f'{__name__} has no "{name}"; in a test module of yours one line runs its suites: ' \
           "test_layer = embedding_conformance.conformance(Layer); anywhere else it is embedding_conformance.check(layer)"
    # `from ... import` shows what an ImportError says, and swallows an AttributeError.
    raise ImportError(hint) if name in FROM_SCIKIT_LEARN else AttributeError(hint)
