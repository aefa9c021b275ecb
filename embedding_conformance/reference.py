"""What a subject is compared with: another subject, stored vectors, or the NumPy oracle of a BERT.

A reference is not judged. What it answers about a text is asked once and remembered for the run.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from . import recordings
from .errors import NoVerdict, Refusal, UsageError, said
from .subjects import Declaration, Remote, Subject, declared, open_subject
from .subjects.pooling import POOLINGS, unit
from .texts import Text, agreement_texts, all_texts

#: what an encoder that is a reference is asked for
ENCODER = ("token_ids", "input_vectors", "hidden_states")


class Oracle:
    """A whole BERT embedder in NumPy: ids, input vectors, states, pooled vectors, all of it from arrays.

    It offers the facets encoder and embedder, so that registered faults can be applied to it.
    """

    def __init__(self, bert: Any, tokenize: Callable[[list[str]], Sequence[Any]], pooling: str, normalized: bool):
        self.bert = bert
        self.pooling = pooling
        self.normalized = normalized
        self._tokenize = tokenize
        self._ids: dict[str, np.ndarray] = {}
        self._states: dict[bytes, np.ndarray] = {}

    def token_ids(self, texts: list[str]) -> list[np.ndarray]:
        new = [text for text in dict.fromkeys(texts) if text not in self._ids]
        if new:
            self._ids.update({text: np.asarray(ids, np.int64)
                              for text, ids in zip(new, self._tokenize(new), strict=True)})
        return [self._ids[text] for text in texts]

    def input_vectors(self, texts: list[str]) -> list[np.ndarray]:
        return [self.bert.input_vectors(ids) for ids in self.token_ids(texts)]

    def hidden_states(self, texts: list[str]) -> list[np.ndarray]:
        return self.states_of(self.token_ids(texts))

    def states_of(self, ids: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The states [L, d] of each row of ids [L]."""
        new = {one.tobytes(): one for one in ids if one.tobytes() not in self._states}
        self._states.update(zip(new, self.bert.hidden_states_of(list(new.values())), strict=True))
        return [self._states[one.tobytes()].copy() for one in ids]

    def pool(self, states: Sequence[np.ndarray]) -> np.ndarray:
        """States [L, d] of N texts -> [N, d]."""
        return np.stack([POOLINGS[self.pooling](rows.astype(np.float64)) for rows in states])

    def scale(self, pooled: np.ndarray) -> np.ndarray:
        return unit(pooled) if self.normalized else pooled

    def embed(self, texts: list[str]) -> np.ndarray:
        return self.scale(self.pool(self.hidden_states(texts)))

    def weights(self) -> Any:
        return self.bert.stored

    def config(self) -> dict[str, Any]:
        return dict(self.bert.config)


@dataclass
class Reference:
    """What tests ask of a reference. `capabilities` are those of "reference.METHOD"."""

    name: str
    title: str
    declares: dict[str, Declaration]
    facts: dict[str, str]
    capabilities: frozenset[str]
    texts: list[Text]
    #: what makes the object that answers token_ids, input_vectors, hidden_states
    encoder: Callable[[], Any] | None = None
    embedder: Callable[[], Any] | None = None
    #: the NumPy oracle with its weights, where it is a BERT: what faults are applied to for a diagnosis
    oracle: Callable[[], Oracle] | None = None
    #: what the embedder is given before each text: the declared prompt of the document role, where the oracle has none itself
    prompt: str = ""
    #: vectors that were stored beside their texts
    stored: np.ndarray | None = None
    #: for a service on the network
    remote: Remote | None = None
    _known: dict[Any, Any] = field(default_factory=dict)

    def declared(self, key: str) -> Any:
        """The value of a declaration, or None."""
        return self.declares[key].value if key in self.declares else None

    @cached_property
    def whole(self) -> Oracle | None:
        """The oracle to which faults are applied, made when first asked for."""
        return self.oracle() if self.oracle else None

    @property
    def is_oracle(self) -> bool:
        """Whether the oracle itself is the reference, so that it can go on from any ids."""
        return self.encoder is not None and self.encoder is self.oracle

    def token_ids(self, texts: list[str]) -> list[np.ndarray]:
        """[L] for each text."""
        return self._rows("token_ids", texts)

    def input_vectors(self, texts: list[str]) -> list[np.ndarray]:
        """[L, d] for each text: what goes into the first layer."""
        return self._rows("input_vectors", texts)

    def hidden_states(self, texts: list[str]) -> list[np.ndarray]:
        """[L, d] for each text: the states of the last layer."""
        return self._rows("hidden_states", texts)

    def embed(self, texts: list[str]) -> np.ndarray:
        """[N, d]"""
        if self.stored is not None:
            place = {one.text: row for row, one in enumerate(self.texts)}
            return np.asarray(self.stored[[place[text] for text in texts]])
        key = ("embed", tuple(texts))
        if key not in self._known:
            self._known[key] = self._asked([self.prompt + text for text in texts])
        found: np.ndarray = self._known[key]
        if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
            raise ValueError(f"the reference {self.name} gave {list(found.shape)} for {len(texts)} texts, or numbers that are "
                             "not finite")
        return found

    def _asked(self, texts: list[str]) -> np.ndarray:
        """The embedder's answer. Where that is a service and answers wrongly, the subject is not at fault: no verdict."""
        assert self.embedder is not None
        try:
            return np.asarray(self._made(self.embedder).embed(texts))
        except Exception as error:
            if self.remote is None or isinstance(error, Refusal):
                raise
            # A service may repeat what it was sent.
            why = type(error).__name__ if any(one.own for one in self.texts) else said(error)
            raise NoVerdict(f"the reference {self.name} gave no vectors: {why}") from error

    def pool(self, states: Sequence[np.ndarray]) -> np.ndarray:
        """States [L, d] of N texts, whosever they are, pooled as the reference pools -> [N, d] float64; else by mean."""
        pooling = POOLINGS.get(self.declared("pooling"), POOLINGS["mean"])
        return np.stack([pooling(rows.astype(np.float64)) for rows in states])

    def scale(self, pooled: np.ndarray) -> np.ndarray:
        """Pooled vectors [N, d] at length one where the reference normalises."""
        return unit(pooled) if self.declared("normalized") else pooled

    def _rows(self, method: str, texts: list[str]) -> list[np.ndarray]:
        new = [text for text in dict.fromkeys(texts) if (method, text) not in self._known]
        if new:
            assert self.encoder is not None
            answer = getattr(self._made(self.encoder), method)(list(new))
            self._known.update({(method, text): np.asarray(rows) for text, rows in zip(new, answer, strict=True)})
        return [self._known[method, text] for text in texts]

    def _made(self, make: Callable[[], Any]) -> Any:
        return self.whole if make is self.oracle else make()

    def describe(self) -> dict[str, Any]:
        """What events and reports say of it."""
        return {"name": self.name, "title": self.title, "facts": self.facts,
                "declares": {key: [one.value, one.origin] for key, one in sorted(self.declares.items())}}


def open_reference(name: str, own: list[Text]) -> Reference:
    """The reference that a string names. `own` are the texts that the user gave.

    Raises `UsageError` where it offers nothing to compare with.
    """
    scheme, _, rest = name.partition(":")
    if scheme == "vectors" and rest and (reference := _stored(name, Path(rest), own)):
        return reference
    return of_subject(open_subject(name), [*all_texts(), *own])


def of_subject(subject: Subject, texts: list[Text]) -> Reference:
    """A subject as a reference."""
    capabilities = {f"reference.{one}" for one in ENCODER if f"encoder.{one}" in subject.capabilities}
    embeds = "embedder.embed" in subject.capabilities
    capabilities |= {"reference.embed"} if embeds else set()
    if not capabilities:
        raise UsageError(f"--reference {subject.name}: it offers no encoder and no embedder to compare with")
    if "reference.hidden_states" in capabilities:
        capabilities |= _pooling(subject.declares)
    return Reference(
        name=subject.name, title=subject.title, declares=subject.declares, facts=subject.facts,
        capabilities=frozenset(capabilities), texts=texts,
        encoder=(lambda: subject.facet("encoder")) if "encoder" in subject.facets else None,
        embedder=(lambda: subject.facet("embedder")) if embeds else None,
        oracle=(lambda: own_oracle(subject)) if is_bert(subject) else None, remote=subject.remote)


def _pooling(declares: dict[str, Declaration]) -> set[str]:
    known = "pooling" in declares and declares["pooling"].value in POOLINGS
    if not known:
        return set()
    return {"reference.pool", "reference.scale"} if "normalized" in declares else {"reference.pool"}


def _stored(name: str, path: Path, own: list[Text]) -> Reference | None:
    """A recording, or plain vectors with as many texts beside them; None for what the adapter of vectors must open."""
    if recordings.is_recording(path):
        found = recordings.read(path)
        about = found.about
        declares = {key: Declaration(value, origin) for key, (value, origin) in about.get("declares", {}).items()}
        facts = {"recorded": f"{about.get('subject', '?')} at {about.get('started', '?')}",
                 "sha256": about["sha256"][recordings.VECTORS]}
        title = f"{len(found.texts)} recorded vectors of {about.get('subject', '?')}, sha256 {facts['sha256'][:12]}"
        return _of_vectors(name, title, declares, facts, found.vectors, found.texts)
    if path.suffix == ".npy" and path.is_file():
        if not own:
            raise UsageError(f"--reference {name}: name the texts of these vectors, in their order: --texts FILE")
        vectors = np.load(path, mmap_mode="r", allow_pickle=False)
        if vectors.ndim != 2 or len(vectors) != len(own):
            raise UsageError(f"--reference {name}: its shape is {list(vectors.shape)}, and --texts gives {len(own)} texts")
        digest = recordings.sha256(path)
        return _of_vectors(name, f"{len(vectors)} stored vectors, sha256 {digest[:12]}", {}, {"sha256": digest}, vectors, own)
    return None


def _of_vectors(name: str, title: str, declares: dict[str, Declaration], facts: dict[str, str], vectors: np.ndarray,
                texts: list[Text]) -> Reference:
    # A text that stands there twice is asked once; its first row speaks for it.
    first = {one.text: row for row, one in reversed(list(enumerate(texts)))}
    rows = sorted(first.values())
    kept = np.asarray(vectors)[rows]
    if kept.dtype.kind not in "fV" or not np.isfinite(kept).all():
        raise UsageError(f"--reference {name}: its vectors are not finite floating-point numbers")
    return Reference(name=name, title=title, declares=declares, facts=facts, capabilities=frozenset({"reference.embed"}),
                     texts=[texts[row] for row in rows], stored=kept)


# --- the oracle as a reference -----------------------------------------------------------------------------------------


def is_bert(subject: Subject) -> bool:
    """Whether the NumPy BERT computes what this subject should compute, from the subject's own arrays."""
    declares = subject.declares.get("architecture")
    return (declares is not None and declares.value == "bert"
            and {"encoder.weights", "encoder.config", "encoder.token_ids"} <= subject.capabilities)


def document_prompt(subject: Subject) -> str:
    """What `embed` puts before each text: the declared prompt of the document role, or nothing."""
    declares = subject.declares.get("prompts")
    return "" if declares is None else str(declares.value.get("document", ""))


_defaults: dict[int, tuple[Subject, Reference]] = {}


def default_reference(subject: Subject, texts: Sequence[Text]) -> Reference | None:
    """The oracle for a subject for which none is named; None where there is no independent computation of it.

    A model that is the bundled one, as its weights say, is compared with the published files where these are installed.
    """
    from .subjects.bundled import PACKAGE, SHA256

    if not is_bert(subject):
        return None
    if id(subject) not in _defaults:
        weights = subject.declares.get("weights")
        known = weights is not None and weights.value == SHA256 and find_spec(PACKAGE) is not None
        found = _bundled() if known else _own(subject)
        if prompt := document_prompt(subject):
            found = replace(found, prompt=prompt, _known={})
        found.texts = list(texts)
        _defaults[id(subject)] = subject, found  # holding the subject keeps its id from being given to another
    return _defaults[id(subject)][1]


def _own(subject: Subject) -> Reference:
    """The oracle of a model of the user's, from that model's own arrays."""
    capabilities = {"reference.input_vectors", "reference.hidden_states"} | _pooling(subject.declares)
    if "reference.scale" in capabilities:
        capabilities |= {"reference.embed"}

    @cache
    def oracle() -> Oracle:
        return own_oracle(subject)

    return Reference(name=f"oracle of {subject.name}", title="NumPy float64 from its own weights and token ids",
                     declares=subject.declares | declared({"precision": "float64"}, "the oracle"), facts={},
                     capabilities=frozenset(capabilities), texts=list(agreement_texts()), encoder=oracle, embedder=oracle,
                     oracle=oracle)


def own_oracle(subject: Subject) -> Oracle:
    """The oracle with a subject's own weights, configuration and token ids."""
    encoder = subject.facet("encoder")
    return Oracle(_bert(encoder.weights(), encoder.config()), encoder.token_ids, *_finish(subject.declares))


@cache
def _bundled() -> Reference:
    """The oracle of the bundled model, from the published files and nothing of the subject's."""
    from .subjects import bundled

    subject = bundled.open_subject()

    @cache
    def oracle() -> Oracle:
        found = importlib.import_module("embedding_conformance.suites.encoder_input.bundled_oracle")
        return Oracle(found.bert(), found.token_ids, *_finish(subject.declares))

    return Reference(name="oracle of bundled", title="NumPy float64 from the published files",
                     declares=subject.declares | declared({"precision": "float64"}, "the oracle"), facts=subject.facts,
                     capabilities=frozenset({f"reference.{one}" for one in (*ENCODER, "embed", "pool", "scale")}),
                     texts=list(agreement_texts()), encoder=oracle, embedder=oracle, oracle=oracle)


def _finish(declares: dict[str, Declaration]) -> tuple[str, bool]:
    pooling = declares["pooling"].value if "pooling" in declares else "mean"
    return pooling if pooling in POOLINGS else "mean", bool("normalized" in declares and declares["normalized"].value)


def _bert(weights: Any, config: dict[str, Any]) -> Any:
    return importlib.import_module("embedding_conformance.suites.encoder_input.oracle").Bert(weights, config)
