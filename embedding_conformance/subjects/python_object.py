"""The scheme ``python:``: an object, a class, a factory or a function of the user's own.

A class or factory with a parameter ``table`` makes a layer from every table that the checks need; one without required
parameters is called once; a function whose one required parameter is ``texts`` is an embedder. An object is recognised by
its own methods first, then as an ``nn.Embedding`` or an object of Transformers, then by the methods of other libraries.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..data import numbered_table
from ..errors import NoVerdict, Refusal, UsageError, nearest, said
from . import LayerSource, Subject, declared
from .facets import FACETS, offered, recognise
from .interfaces import TextEmbedder, instance_of, named_embedder, own_embedder, refuse_a_guess


def open_subject(rest: str, facets: frozenset[str] = frozenset()) -> Subject:
    """Load ``FILE.py:NAME`` or ``pkg.module:NAME`` and recognise what it is; `facets` are those that the user asks for."""
    place, _, name = rest.rpartition(":")
    if not place or not name.replace(".", "_").isidentifier():
        raise UsageError(f'python:{rest}: write python:FILE.py:NAME or python:pkg.module:NAME')
    shown = f"{Path(place).stem if place.endswith('.py') else place}.{name}"
    # Whatever is asked of a foreign object, its attributes included, may run code.
    subject: Subject = guarded(shown, lambda: from_object(_find(_load(place), place, name), shown, facets))
    return subject


def _find(module: Any, place: str, name: str) -> Any:
    thing = module
    for part in name.split("."):
        if not hasattr(thing, part):
            public = [word for word in dir(thing) if not word.startswith("_")]
            raise UsageError(f'{place} has no "{part}"{nearest(part, public)}')
        thing = getattr(thing, part)
    return thing


def from_object(thing: Any, name: str, facets: frozenset[str] = frozenset()) -> Subject:
    """The subject that a Python object is, whatever it is; `name` is used in messages.

    Where an object can be two things, `facets` settles which is meant.
    """
    parameters = _parameters(thing) if callable(thing) and not _speaks_for_itself(thing) else None
    if parameters is not None:
        required = _required(parameters)
        if any(p.name == "table" for p in parameters):
            return _maker_of_layers(thing, name, {p.name for p in parameters}, required)
        if required == ["texts"] and not inspect.isclass(thing):
            return _embedder(TextEmbedder(thing), name, f"{name}, a function of texts", thing)
        if required:
            raise UsageError(f"{name} needs {', '.join(required)}; name a factory without required parameters, one with a "
                             "parameter `table`, or a function of `texts`")
        thing = guarded(name, thing)
    return _from_instance(thing, name, facets)


def _from_instance(thing: Any, name: str, wanted: frozenset[str]) -> Subject:
    origin, title = type(thing), f"{name}, {type(thing).__name__}"
    if thing is None:
        raise NoVerdict(f"{name} returned None, so there is nothing to judge")
    layer = _as_layer(thing)
    if layer is None and not _own(thing):
        if "transformers" in sys.modules or "tokenizers" in sys.modules:
            from .transformers_object import recognised

            if subject := recognised(thing, name):
                return subject
        if embedder := named_embedder(thing):
            refuse_a_guess(thing, name, wanted)
            return _embedder(embedder, name, title, thing)
        if callable(thing) and _required(_parameters(thing) or []) == ["texts"]:
            return _embedder(TextEmbedder(thing), name, title, thing)
    thing = thing if layer is None else layer
    facets = recognise(thing, name)
    makers: dict[str, Callable[[], Any]] = {facet: lambda: thing for facet in facets}
    if "layer" in facets:
        source = LayerSource(lambda: thing)
        makers["layer"] = lambda: source
    if "embedder" in facets:
        embedder = own_embedder(thing)
        makers["embedder"] = lambda: embedder
    return Subject(name=name, title=title, capabilities=frozenset().union(*facets.values()), makers=makers,
                   declares=declared(_declares(thing), f"{origin.__name__}.declares"))


def _embedder(embedder: TextEmbedder, name: str, title: str, thing: Any) -> Subject:
    origin = thing.__name__ if inspect.isroutine(thing) else type(thing).__name__
    return Subject(name=name, title=title, capabilities=offered(embedder, FACETS["embedder"]),
                   makers={"embedder": lambda: embedder}, declares=declared(_declares(thing), f"{origin}.declares"))


def _maker_of_layers(make: Callable[..., Any], name: str, parameters: set[str], required: list[str]) -> Subject:
    surplus = [parameter for parameter in required if parameter not in ("table", "padding_id")]
    if surplus:
        raise UsageError(f"{name} takes a table, but also needs {', '.join(surplus)}; give these a default")

    def made(table: np.ndarray, padding_id: int | None = None) -> Any:
        arguments = {"padding_id": padding_id} if "padding_id" in parameters else {}
        layer = make(table=table, **arguments)
        return _as_layer(layer) or layer

    probe = guarded(name, made, numbered_table(6, 3))
    capabilities = offered(probe, FACETS["layer"])
    if not capabilities:
        recognise(probe, name)  # explains what is missing, or finds another facet
        raise UsageError(f"{name} takes a table, but what it makes is no layer: it offers no table and lookup")
    source = LayerSource(lambda: made(numbered_table(30, 8)), made)
    capabilities |= {"layer.with_table"} | ({"layer.padding_id"} if "padding_id" in parameters else set())
    return Subject(name=name, title=f"{name}, built from tables", capabilities=capabilities,
                   makers={"layer": lambda: source}, declares=declared(_declares(probe), f"{name}.declares"), shared=False)


def _as_layer(thing: Any) -> Any:
    """An ``nn.Embedding`` as a layer that is also a module; nothing for anything else. Does not import PyTorch."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(thing, torch.nn.Embedding):
        return None
    from .torch_stack import TorchLayer

    class EmbeddingModule(TorchLayer):
        declares: ClassVar = {"out_of_range_below": "raise", "out_of_range_above": "raise"}

        def module(self) -> Any:
            return self.embedding

    layer = EmbeddingModule(thing)
    if not thing.weight.requires_grad:  # a frozen table has no gradient to be judged
        layer.gradient = layer.step = None  # type: ignore[assignment, method-assign]
    return layer


def _declares(thing: Any) -> dict[str, Any]:
    value = getattr(thing, "declares", {})
    if not isinstance(value, dict):
        raise UsageError(f"{type(thing).__name__}.declares must be a dictionary, not {type(value).__name__}")
    return value


def _own(thing: Any) -> bool:
    """Whether an object offers a facet by methods of its own."""
    return any(offered(thing, facet) for facet in FACETS.values())


def _speaks_for_itself(thing: Any) -> bool:
    """A callable object that is known without being called is judged as it is (every PyTorch module is callable)."""
    if inspect.isclass(thing) or inspect.isroutine(thing):
        return False
    torch = sys.modules.get("torch")
    return bool(_own(thing) or named_embedder(thing) or (torch is not None and isinstance(thing, torch.nn.Module))
                or instance_of(thing, "transformers", "Pipeline", "PreTrainedTokenizerBase"))


def _required(parameters: list[inspect.Parameter]) -> list[str]:
    return [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _parameters(thing: Any) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return []


def _load(place: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    if place.endswith(".py"):
        path = Path(place).resolve()
        if not path.is_file():
            raise UsageError(f"python:{place}: there is no such file (looked in {path.parent})")
        if str(path.parent) not in sys.path:
            sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(path.stem, module)
        guarded(place, spec.loader.exec_module, module)
        return module
    try:
        return guarded(place, importlib.import_module, place)
    except ModuleNotFoundError as error:
        if error.name and (place == error.name or place.startswith(f"{error.name}.")):
            raise UsageError(f'python:{place}: there is no module "{error.name}" (the working folder is importable)') \
                from error
        raise NoVerdict(f"{place} could not be loaded: {error}") from error


def guarded(name: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call the user's code; what it raises becomes one line that says where."""
    try:
        return function(*args)
    except ModuleNotFoundError as error:
        if function is importlib.import_module:
            raise
        raise NoVerdict(f"{name} raised {type(error).__name__}: {said(error)}{_line(error)}") from error
    except Refusal:
        raise
    except BaseException as error:
        raise NoVerdict(f"{name} raised {type(error).__name__}: {said(error)}{_line(error)}") from error


def _line(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.lineno:
        return f" ({Path(error.filename or '?').name}:{error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent != Path(__file__).parent
           and not frame.filename.startswith("<frozen")]
    return f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""


