"""Subjects: what is judged. One string names one subject, the same everywhere; `open_subject` turns it into a `Subject`.

Opening reads what is needed to know what the subject offers. The facets themselves are made when first used, so that
naming a model costs nothing until a test calls it.
"""

from __future__ import annotations

import errno
import importlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..errors import NoVerdict, UsageError, nearest, printable, showable
from ..surroundings import Surroundings

DEFAULT = ("torch", "bundled", "formulas", "tokenizers", "store", "service")
#: scheme -> module below this package that opens it, and how the rest of the string is written
ADAPTERS = {
    "torch": ("torch_stack", ""),
    "bundled": ("bundled", ""),
    "formulas": ("formulas", ""),
    "documents": ("documents_text", ""),
    "tokenizers": ("tokenizers_stack", ""),
    "service": ("reference_service", ""),
    "store": ("array_store", ""),
    "vectors": ("vectors", "PATH[@COLUMN]"),
    "python": ("python_object", "FILE.py:NAME or pkg.module:NAME"),
    "hf": ("hf", "DIR_OR_ID[@REVISION] or hf:documents"),
    "st": ("st", "DIR_OR_ID[@REVISION]"),
    "onnx": ("onnx_model", "DIR[@FILE]"),
    "openai": ("openai_service", "URL or openai:URL@MODEL"),
    "fault": ("faulty", "CHAPTER/NAME"),
}
#: endings of files of vectors
STORED = (".npy", ".npz", ".safetensors", ".parquet")
#: the declarations that a subject or `--declare` may make
DECLARATIONS: dict[str, type] = {
    "normalized": bool, "pooling": str, "max_seq_length": int, "too_long": str, "precision": str, "deterministic": bool,
    "out_of_range_below": str, "out_of_range_above": str, "trained": str, "weights": str, "contextual": bool,
    "lowercase": bool, "strip_accents": bool, "prompts": dict, "exact": bool, "recall": float, "metric": str,
    "drift": float, "tokenizer": str, "architecture": str, "model": str,
}
OUT_OF_RANGE = ("raise", "zero", "nan", "clamp", "wrap", "undefined")
#: what holds where nothing is declared
ASSUMED = {"too_long": "cut"}
#: declarations that are one of a few words
CHOICES = {
    "precision": ("float64", "float32", "float16", "bfloat16", "int8", "int4"),
    "out_of_range_below": OUT_OF_RANGE, "out_of_range_above": OUT_OF_RANGE,
    "too_long": ("cut", "error"), "metric": ("cosine", "dot", "euclidean"),
}


@dataclass(frozen=True)
class Declaration:
    """A promised property and who promised it."""

    value: Any
    origin: str


@dataclass
class LayerSource:
    """Where layers come from: one object as it is, a maker of layers from given tables, or both.

    `make(table, padding_id)` returns an object with ``table()`` and ``lookup(ids)``.
    """

    default: Callable[[], Any]
    make: Callable[..., Any] | None = None

    def altered(self, change: Callable[[Any], Any]) -> LayerSource:
        """The same source with every layer changed."""
        make = self.make
        return LayerSource(lambda: change(self.default()),
                           None if make is None else lambda *args, **kwargs: change(make(*args, **kwargs)))


@dataclass
class Dial:
    """The size of a perturbation, turned while a proof looks for the smallest one that a test still catches."""

    size: float = 0.0
    calls: int = 0

    def turn(self, size: float) -> None:
        self.size, self.calls = size, 0


@dataclass(frozen=True)
class Remote:
    """What a run does before it asks a subject on the network."""

    where: str
    #: sends the first request; raises a refusal when there is no point in sending others
    begin: Callable[[], None]
    #: a sound subject in memory that stands in for it, and the tally of what that is asked
    stand_in: Callable[[], tuple[Subject, Any]]


@dataclass
class Subject:
    """The implementation under test, named by `name`."""

    name: str
    title: str
    capabilities: frozenset[str]
    #: facet -> function that makes the object which offers it; called once
    makers: Mapping[str, Callable[[], Any]]
    declares: dict[str, Declaration] = field(default_factory=dict)
    #: what the report says about identity: digests, versions
    facts: dict[str, str] = field(default_factory=dict)
    #: whether tests share one object; otherwise layers are built anew for each test
    shared: bool = True
    #: the facets that a fault changes: only they are judged; empty for an ordinary subject
    changed: frozenset[str] = frozenset()
    #: whether making its object takes long, so that a proof keeps it
    costly: bool = False
    #: called once everything that is declared is known, for what a subject can do only then
    completed: Callable[[Subject], None] | None = None
    #: told, during long work, what is done so far; the run shows it and knows that the subject is alive
    progress: Callable[[str], None] | None = None
    #: how much noise a proof adds to every answer of the subject; None for any other subject
    dial: Dial | None = None
    #: for a subject on the network
    remote: Remote | None = None
    #: the process as the subject's own code sees and leaves it
    surroundings: Surroundings = field(default_factory=Surroundings)

    @cached_property
    def facets(self) -> frozenset[str]:
        return frozenset(capability.partition(".")[0] for capability in self.capabilities)

    @cached_property
    def _made(self) -> dict[str, Any]:
        return {}

    @cached_property
    def memory(self) -> dict[Any, Any]:
        """What handles remember of this subject between tests, such as the states of texts."""
        return {}

    def facet(self, name: str) -> Any:
        """The object that offers a facet."""
        if name not in self._made:
            maker = self.makers[name]
            with self.surroundings:
                made = maker()
            # One object that offers several facets is made once.
            self._made.update({other: made for other, m in self.makers.items() if m is maker})
        return self._made[name]

    def new(self, name: str) -> Any:
        """The object that offers a facet, made anew where tests do not share one, so that it may be changed."""
        if self.shared:
            return self.facet(name)
        with self.surroundings:
            return self.makers[name]()

    def begin_anew(self) -> None:
        """Forget what was remembered, and what was made unless it is too costly to be made again."""
        self.memory.clear()
        if not self.costly:
            self._made.clear()

    def lacks(self, needs: list[str]) -> str:
        """The first capability that is needed and not offered, or an empty string."""
        return next((need for need in needs if need not in self.capabilities), "")

    def does_not_declare(self, requires: Mapping[str, Any]) -> str:
        """Why a required declaration does not hold, or an empty string. A list stands for any of its values, the word "any" for
        every value that promises something."""
        for key, wanted in requires.items():
            declared = self.declares.get(key)
            if declared is None and ASSUMED.get(key) == wanted:
                continue
            if declared is None:
                return ("model not present" if key == "model"
                        else f"it does not declare {key} (--declare {key}={'...' if wanted == 'any' else show(wanted)})")
            any_of = wanted if isinstance(wanted, list) else [wanted]
            if not (declared.value != "undefined" if wanted == "any" else declared.value in any_of):
                return f"it declares {key}={show(declared.value)}, and this needs {show(wanted)}"
        return ""

    def declares_other_metric(self, wanted: set[str]) -> str:
        """Why something about these metrics does not apply, or an empty string. Who declares none is held to each."""
        declared = self.declares.get("metric")
        if declared is None or wanted <= {declared.value}:
            return ""
        return f"it declares metric={declared.value}, and this needs {' and '.join(sorted(wanted))}"


def show(value: Any) -> str:
    """A declared value as it is written on the command line."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return " or ".join(map(show, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def again(declares: Mapping[str, Declaration]) -> list[str]:
    """The options that declare once more what was declared on the command line."""
    return [word for key, one in declares.items() if one.origin == "--declare"
            for word in ("--declare", f"{key}={show(one.value)}")]


def declared(values: Mapping[str, Any], origin: str) -> dict[str, Declaration]:
    """Check the names, types and words of declarations; raises `UsageError`."""
    checked = {}
    for key, value in values.items():
        if key not in DECLARATIONS:
            raise UsageError(f'{origin}: unknown declaration "{key}"{nearest(key, DECLARATIONS)}')
        wanted = DECLARATIONS[key]
        accepted = (int, float) if wanted is float else (wanted,)
        if not isinstance(value, accepted) or (wanted is not bool and isinstance(value, bool)):
            raise UsageError(f"{origin}: {key} is {value!r}, and must be {wanted.__name__}")
        if key in CHOICES and value not in CHOICES[key]:
            raise UsageError(f'{origin}: {key} is "{value}", and must be one of {", ".join(CHOICES[key])}')
        if isinstance(value, dict) and not all(isinstance(one, str) for pair in value.items() for one in pair):
            raise UsageError(f"{origin}: {key} maps words to texts, and is {value!r}")
        checked[key] = Declaration(value, origin)
    return checked


def parse_declaration(text: str) -> tuple[str, Any]:
    """``normalized=true`` as a key and a value of the type that the key wants."""
    key, equals, word = text.partition("=")
    if not equals:
        raise UsageError(f'--declare {text}: write KEY=VALUE, for example normalized=true')
    if key not in DECLARATIONS:
        raise UsageError(f'--declare: unknown declaration "{key}"{nearest(key, DECLARATIONS)}')
    if not all(map(showable, word)):
        raise UsageError(f"--declare {key}: its value holds no line breaks and control characters")
    return key, _value(text, key, word)


def _value(text: str, key: str, word: str) -> Any:
    wanted = DECLARATIONS[key]
    if wanted is bool:
        if word.lower() not in ("true", "false"):
            raise UsageError(f"--declare {text}: {key} is true or false")
        return word.lower() == "true"
    if wanted is int:
        if not word.isdecimal() or len(word) > 18:
            raise UsageError(f"--declare {text}: {key} is a whole number")
        return int(word)
    if wanted is float:
        try:
            number = float(word)
        except ValueError as error:
            raise UsageError(f"--declare {text}: {key} is a number") from error
        if not math.isfinite(number):
            raise UsageError(f"--declare {text}: {key} is a finite number")
        return number
    if wanted is dict:
        try:
            return json.loads(word)
        except (ValueError, RecursionError) as error:
            raise UsageError(f'--declare {text}: {key} is JSON, for example {key}={{"query": "query: "}}') from error
    return word


def open_subject(name: str, declare: Mapping[str, Any] | None = None, facets: frozenset[str] = frozenset()) -> Subject:
    """Open the subject that a string names. `facets` are those that the user asks for: they say what a Python object is
    that may be two things.

    Raises `UsageError` when the string or what it names is wrong, `NoVerdict` when it cannot be loaded.
    """
    if not all(map(showable, name)):
        raise UsageError(f"unknown subject {printable(name)}: a subject's name holds no line breaks and control characters")
    try:
        return _open(name, declare or {}, facets)
    except OSError as error:
        # A path that can be none: too long, through a file, in a circle. The rest could be read another time.
        kind = UsageError if error.errno in (errno.ENAMETOOLONG, errno.ENOTDIR, errno.ELOOP, errno.ENOENT) else NoVerdict
        raise kind(f"{name}: {error.strerror or error}") from error


def _open(name: str, declare: Mapping[str, Any], facets: frozenset[str]) -> Subject:
    scheme, _, rest = name.partition(":")
    if scheme not in ADAPTERS:
        from .advice import advice

        raise UsageError(f'unknown subject "{name}"{advice(name, ADAPTERS, _forms())}')
    module, form = ADAPTERS[scheme]
    if bool(rest) != bool(form):
        wanted = f"write {scheme}:{form}" if form else f"write {scheme}"
        raise UsageError(f'unknown subject "{name}": {wanted}')
    adapter = importlib.import_module(f".{module}", __package__)
    surroundings = Surroundings()
    with surroundings:
        subject: Subject = adapter.open_subject(rest, facets) if scheme == "python" else adapter.open_subject(rest)
        subject.name, subject.surroundings = name, surroundings
        subject.declares |= declared(declare, "--declare")
        if subject.completed:
            subject.completed(subject)
    exact = subject.declares.get("exact")
    if "index" in subject.facets and exact is not None and not exact.value and "recall" not in subject.declares:
        raise UsageError(f"{name} declares exact=false; an approximate index says which share of the true neighbours it finds, "
                         "for example --declare recall=0.95")
    return subject


def require_installed(module: str, extra: str, subject: str) -> None:
    """Raise `UsageError` with the command that installs what is missing."""
    import importlib.util

    if importlib.util.find_spec(module) is None:
        raise UsageError(f"{subject}: needs {module.replace('_', '-')}: pip install 'embedding-conformance[{extra}]'")


def _forms() -> list[str]:
    return [f"{scheme}:{form}" if form else scheme for scheme, (_, form) in ADAPTERS.items()]

