"""The stages of an embedder, each measured on the subject's own previous one, and what explains a difference.

A measurement is the distance of every text's answer from what it should be, with the bound on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import bounds, diagnosis
from ...bounds import Bound
from ...evidence import ClaimViolation, Explanation
from ...handles import Embedder, Encoder
from ...reference import Reference, document_prompt
from ..encoder_input.oracle import gaps

#: texts of one batch: pooling is judged, and faults are tried, on so many
SAMPLE = 8
#: texts of more characters than these are left out of the sample, since faults are tried in NumPy: of states, of vectors
SHORT, LONG = 300, 900
#: the largest difference that is called none: what two ways to compute the same in float32 differ by, in 1 - cosine
NOTHING = 1e-9


@dataclass(frozen=True)
class Measured:
    """The distance of each text [N], the bound, and how the worst one is shown."""

    texts: list[str]
    distances: np.ndarray
    bound: Bound
    measure: str
    worst: Callable[[int], list[str]]

    def used(self) -> float:
        """The largest share of its bound that a distance uses."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.where(self.distances == 0, 0.0, self.distances / self.bound.value).max())


def texts_of(reference: Reference) -> list[str]:
    return [one.text for one in reference.texts]


def shown(reference: Reference, text: str) -> str:
    """A text as a message names it."""
    return next(one.shown() for one in reference.texts if one.text == text)


def sample(reference: Reference, first: Sequence[str] = (), limit: int = SHORT) -> list[str]:
    """Texts for one batch: up to four of those named first, and others of every length up to a limit, in the file's order."""
    short = [one.text for one in reference.texts if len(one.text) <= limit] or texts_of(reference)[:SAMPLE]
    by_length = sorted(short, key=len)
    even = [by_length[int(i)] for i in np.linspace(0, len(by_length) - 1, SAMPLE)]
    chosen = list(dict.fromkeys([*[text for text in first if text in short][:4], *even[::-1]]))[:SAMPLE]
    return [text for text in texts_of(reference) if text in chosen]


def beyond(reference: Reference) -> str:
    return f"of {len(reference.texts)} texts"


# --- precision ---------------------------------------------------------------------------------------------------------


def precision(reference: Reference, handle: Any, answer: np.ndarray) -> str:
    """The coarser of the two precisions, the subject's and the reference's; a format without a tier counts as int8."""
    stored = "float32" if reference.stored is None else str(reference.stored.dtype)
    of_reference = reference.declared("precision") or stored
    both = [name if name in bounds.TIERS else "int8" for name in (handle.precision_of(answer), of_reference)]
    return max(both, key=bounds.TIERS.__getitem__)


def whole_numbers(name: str) -> bool:
    """Whether no tier holds for every model at this precision."""
    return bounds.TIERS[name] >= bounds.TIERS["int8"]


def network_bounds(reference: Reference, handle: Any, answer: np.ndarray) -> tuple[Bound, Bound]:
    """Of direction and length, by the tier, the declared drift, or the ceiling."""
    name = precision(reference, handle, answer)
    direction, length = bounds.network(name)
    if not whole_numbers(name):
        return direction, length
    drift = handle.subject.declares.get("drift")
    if drift is not None:
        direction = Bound(float(drift.value), "the drift that is declared")
    else:
        direction = Bound(direction.value, f"the ceiling for {name} over sound exports; --declare drift=X sets your own")
    return direction, length


# --- stages ------------------------------------------------------------------------------------------------------------


def ids(encoder: Encoder, reference: Reference, found: Sequence[np.ndarray] | None = None) -> Measured:
    """0 for each text with the reference's token ids, 1 for each with others."""
    texts = texts_of(reference)
    found = encoder.token_ids(texts) if found is None else found
    expected = reference.token_ids(texts)
    distances = np.array([float(not np.array_equal(one, other)) for one, other in zip(found, expected, strict=True)])

    def worst(place: int) -> list[str]:
        return [shown(reference, texts[place]), *difference(reference, texts[place], expected[place], found[place])]
    return Measured(texts, distances, Bound(0.0, "ids are whole numbers"), "0 same ids, 1 other ids", worst)


def difference(reference: Reference, text: str, expected: np.ndarray, found: np.ndarray) -> list[str]:
    """Where two lists of ids differ; ids spell a text, so those of a user's own are counted only."""
    common = min(len(expected), len(found))
    apart = np.flatnonzero(expected[:common] != found[:common])
    place = int(apart[0]) if len(apart) else common
    lines = [f"{len(expected)} and {len(found)} ids, first different at {place}"]
    if next(one for one in reference.texts if one.text == text).own:
        return lines
    window = slice(max(0, place - 2), place + 4)
    return [*lines, f"reference  {' '.join(map(str, expected[window]))}", f"subject    {' '.join(map(str, found[window]))}"]


def same_ids(encoder: Encoder, reference: Reference) -> list[str]:
    """The texts from whose ids the reference can go on: all for an oracle, else those with the reference's own ids."""
    texts = texts_of(reference)
    if "encoder.token_ids" not in encoder.subject.capabilities:
        return texts
    found = encoder.token_ids(texts)
    if reference.is_oracle:
        assert reference.whole is not None
        positions = int(reference.whole.config()["max_position_embeddings"])
        known = int(reference.whole.config()["vocab_size"])
        chosen = [text for text, row in zip(texts, found, strict=True) if 0 < len(row) <= positions and row.max() < known]
    elif "reference.token_ids" not in reference.capabilities:
        return texts
    else:
        chosen = [text for text, row, other in zip(texts, found, reference.token_ids(texts), strict=True)
                  if np.array_equal(row, other)]
    if not chosen:
        raise ClaimViolation("no text has ids from which the reference can go on", "some texts with the reference's ids")
    return chosen


def followed(encoder: Encoder, reference: Reference, worst: Sequence[str]) -> list[str]:
    """Texts for one batch, of those from whose ids the reference can go on."""
    known = same_ids(encoder, reference)
    return [text for text in sample(reference, worst) if text in known] or sorted(known, key=len)[:SAMPLE]


def expected_states(encoder: Encoder, reference: Reference, texts: list[str]) -> list[np.ndarray]:
    """The reference's states for the subject's own ids, or for the texts where it takes no ids."""
    if reference.is_oracle and "encoder.token_ids" in encoder.subject.capabilities:
        assert reference.whole is not None
        return reference.whole.states_of([row.astype(np.int64) for row in encoder.token_ids(texts)])
    return reference.hidden_states(texts)


def inputs(encoder: Encoder, reference: Reference) -> tuple[Measured, Measured]:
    """Direction and length of what goes into the first layer, the worst token of each text."""
    texts = same_ids(encoder, reference)
    found = encoder.input_vectors(texts)
    if reference.is_oracle:
        assert reference.whole is not None
        expected = [reference.whole.bert.input_vectors(row.astype(np.int64)) for row in encoder.token_ids(texts)]
    else:
        expected = reference.input_vectors(texts)
    for text, rows, other in zip(texts, found, expected, strict=True):
        same_shape(reference, text, rows, other)
    measured = [turned(rows, other) for rows, other in zip(found, expected, strict=True)]
    limits = network_bounds(reference, encoder, found[0])

    def worst(which: int) -> Callable[[int], list[str]]:
        def lines(place: int) -> list[str]:
            token = int(measured[place][which].argmax())
            return [f"token {token} of {shown(reference, texts[place])}", *numbers(expected[place][token], found[place][token])]
        return lines
    most = [np.array([one[which].max() for one in measured]) for which in (0, 1)]
    return (Measured(texts, most[0], limits[0], "1 - cosine, worst token of a text", worst(0)),
            Measured(texts, most[1], limits[1], "relative length, worst token of a text", worst(1)))


def same_shape(reference: Reference, text: str, found: np.ndarray, expected: np.ndarray) -> None:
    if found.shape != expected.shape:
        raise ClaimViolation(f"rows of shape {list(found.shape)}", f"shape {list(expected.shape)}, as for its ids",
                             [shown(reference, text)])


def network(encoder: Encoder, reference: Reference) -> tuple[Measured, Measured]:
    """Direction and length of each text's states, pooled as the reference pools, against the reference's."""
    texts = same_ids(encoder, reference)
    found, expected = encoder.hidden_states(texts), expected_states(encoder, reference, texts)
    for text, rows, other in zip(texts, found, expected, strict=True):
        same_shape(reference, text, rows, other)
    return vectors_measured(reference, texts, reference.pool(found), reference.pool(expected),
                            network_bounds(reference, encoder, found[0]), "pooled states")


def vectors(embedder: Embedder, reference: Reference) -> tuple[Measured, Measured]:
    """Direction and length of each text's vector against the reference's."""
    texts = texts_of(reference)
    found, expected = embedder.embed(texts), reference.embed(texts)
    if found.shape != expected.shape:
        raise ClaimViolation(f"vectors of {found.shape[1]} numbers", f"vectors of {expected.shape[1]} numbers")
    limits = network_bounds(reference, embedder, found)
    return vectors_measured(reference, texts, in_one_unit(found, expected), expected, limits, "vectors")


def in_one_unit(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Vectors of whole numbers count steps, and do not say how large one is: the median text has the reference's length."""
    if found.dtype.kind not in "iu":
        return found
    lengths, wanted = (np.linalg.norm(rows.astype(np.float64), axis=1) for rows in (found, expected))
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.median(wanted / lengths)
    return found * step if np.isfinite(step) else found


def vectors_measured(reference: Reference, texts: list[str], found: np.ndarray, expected: np.ndarray,
                     limits: tuple[Bound, Bound], what: str) -> tuple[Measured, Measured]:
    def worst(place: int) -> list[str]:
        return [shown(reference, texts[place]), *numbers(expected[place], found[place])]
    direction, length = turned(found, expected)
    return (Measured(texts, direction, limits[0], f"1 - cosine of the {what}", worst),
            Measured(texts, length, limits[1], f"relative length of the {what}", worst))


def turned(found: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1 - cosine and relative length row by row; a row of zeros has neither, and counts as 1."""
    direction, length = gaps(found, expected)
    return np.nan_to_num(direction, nan=1.0), np.nan_to_num(length, nan=1.0, posinf=1.0)


def numbers(expected: np.ndarray, found: np.ndarray) -> list[str]:
    """The first numbers of two rows."""
    return [f"{name:<10} {' '.join(f'{value:.4f}' for value in row[:4])} ..."
            for name, row in (("reference", expected), ("subject", found))]


@dataclass(frozen=True)
class Finish:
    """The last two stages on one batch: vectors [N, d] of the subject, its states, and what the reference makes of these."""

    texts: list[str]
    states: list[np.ndarray]
    found: np.ndarray
    pooled: np.ndarray
    #: relative error of each pooled row that rounding explains
    error: np.ndarray
    why: str


def finish(encoder: Encoder, embedder: Embedder, reference: Reference) -> Finish:
    """Ask the subject for the states and the vectors of one batch, in one call each, so that both saw the same batch."""
    memory = encoder.subject.memory
    if "agreement" in memory:
        encoder.calls += 1  # two tests ask for the same
        found: Finish = memory["agreement"]
        return found
    memory["agreement"] = asked = _finish(encoder, embedder, reference)
    return asked


def _finish(encoder: Encoder, embedder: Embedder, reference: Reference) -> Finish:
    texts = sample(reference)
    prompt = document_prompt(embedder.subject)
    states = encoder.hidden_states([prompt + text for text in texts], fresh=True)
    found = embedder.embed(texts, fresh=True)
    if any(rows.shape[1] != found.shape[1] for rows in states):
        raise ClaimViolation(f"vectors of {found.shape[1]} numbers", f"as wide as its states, {states[0].shape[1]}")
    pooled = reference.pool(states)
    name = handle_format(embedder, found, states[0])
    u = bounds.UNIT_ROUNDOFF[name]
    inner = min(u, bounds.UNIT_ROUNDOFF["float32"])
    longest = max(map(len, states))
    sizes = np.linalg.norm(np.stack([np.abs(rows.astype(np.float64)).mean(axis=0) for rows in states]), axis=1)
    lengths = np.linalg.norm(pooled, axis=1)
    # Adding up in float32, and one rounding each of the states, of the mean and of the quotient.
    error = (bounds.gamma(longest + found.shape[1] + 2, inner) + 3 * u) * sizes / np.where(lengths == 0, 1, lengths)
    return Finish(texts, states, found, pooled, error, f"rounding of a mean over up to {longest} states in {name}")


def handle_format(embedder: Embedder, *answers: np.ndarray) -> str:
    """The coarsest floating format among the declared precision and the answers' own."""
    declared = embedder.subject.declares.get("precision")
    names = [str(answer.dtype) for answer in answers] + ([str(declared.value)] if declared else [])
    known = [name for name in names if name in bounds.UNIT_ROUNDOFF]
    return max(known, key=bounds.UNIT_ROUNDOFF.__getitem__, default="float32")


def pooling(reference: Reference, last: Finish) -> Measured:
    """Direction of each vector against the subject's own states as the reference pools them."""
    direction, _ = turned(last.found, last.pooled)
    # A relative error r turns a vector by r at most, which is r^2 / 2 in 1 - cosine.
    bound = Bound(last.error**2 / 2, last.why)
    return Measured(last.texts, direction, bound, "1 - cosine of the vector and its own states, pooled as the reference pools",
                    lambda place: [shown(reference, last.texts[place]),
                                   *numbers(reference.scale(last.pooled)[place], last.found[place])])


def scaling(reference: Reference, last: Finish) -> Measured:
    """Length of each vector against that which the reference gives it."""
    expected = np.linalg.norm(reference.scale(last.pooled), axis=1)
    found = np.linalg.norm(last.found.astype(np.float64), axis=1)
    distances = np.abs(found - expected) / np.where(expected == 0, 1, expected)
    return Measured(last.texts, distances, Bound(last.error, last.why), "relative length of the vector",
                    lambda place: [shown(reference, last.texts[place]), f"reference  {expected[place]:.6g}",
                                   f"subject    {found[place]:.6g}"])


# --- what explains a difference ----------------------------------------------------------------------------------------


def explained(reference: Reference, subject: Any,
              look: Callable[[], diagnosis.Diagnosis] | None) -> Callable[[], Explanation]:
    """An explanation to be asked for when a stage differs."""
    def explain() -> Explanation:
        if "agreement stages" not in subject.memory:
            subject.memory["agreement stages"] = stages_of(subject, reference)
        return Explanation(str(look()) if look else "", subject.memory["agreement stages"])
    return explain


def at_its_stage(subject: Any, reference: Reference) -> bool:
    """Whether a difference of vectors is explained by the stage where it begins, since both can be looked into."""
    return "encoder.hidden_states" in subject.capabilities and "reference.hidden_states" in reference.capabilities


def look_at_ids(encoder: Encoder, reference: Reference) -> diagnosis.Diagnosis:
    texts = texts_of(reference)
    found = encoder.token_ids(texts)
    whole = reference.whole or TokensOnly(reference)
    plain = reference.token_ids(texts)
    attempts = diagnosis.tried(whole, ["ids"], lambda broken: broken.token_ids(texts))
    return diagnosis.explain(diagnosis.ids_apart(found, plain), attempts,
                             lambda answer: diagnosis.ids_apart(found, answer), diagnosis.ids_apart)


class TokensOnly:
    """A reference of which only the ids are needed, in the place of a whole one."""

    def __init__(self, reference: Reference):
        self.token_ids = reference.token_ids


def look_at_inputs(encoder: Encoder, reference: Reference, worst: Sequence[str]) -> diagnosis.Diagnosis:
    assert reference.whole is not None
    texts = followed(encoder, reference, worst)
    found = encoder.input_vectors(texts)
    plain = reference.whole.input_vectors(texts)
    attempts = diagnosis.tried(reference.whole, ["input"], lambda broken: broken.input_vectors(texts))
    attempts += exchanged(reference.whole, texts, found)
    return diagnosis.explain(diagnosis.lists_apart(found, plain), attempts,
                             lambda answer: diagnosis.lists_apart(found, answer), diagnosis.lists_apart)


def exchanged(whole: Any, texts: list[str], found: list[np.ndarray]) -> list[tuple[str, Any]]:
    """The input vectors with other words' rows, where the vectors of a few ids are explained by the rows of others."""
    from .faults import swapped

    other: dict[int, int] = {}
    table = whole.weights()["embeddings.word_embeddings.weight"]
    expected = whole.input_vectors(texts)
    if any(rows.shape != wanted.shape for rows, wanted in zip(found, expected, strict=True)):
        return []
    distances = [turned(rows, wanted)[0] for rows, wanted in zip(found, expected, strict=True)]
    # What rounding does to all tokens alike is no exchange.
    threshold = max(NOTHING, max(one.max() for one in distances) / diagnosis.CLOSER)
    for ids_, rows, apart in zip(whole.token_ids(texts), found, distances, strict=True):
        _, position, kind = whole.bert.input_rows(ids_)
        for place in np.flatnonzero(apart > threshold):
            if int(ids_[place]) not in other:
                if len(other) == 4:
                    return []  # not a few rows
                every = whole.bert.normalize(table + (position + kind)[place], "embeddings.LayerNorm")
                other[int(ids_[place])] = int(((every - rows[place]) ** 2).sum(axis=1).argmin())
    pairs = {(min(pair), max(pair)) for pair in other.items() if pair[0] != pair[1]}
    return [(f"agreement/vocabulary-rows-swapped (ids {one} and {two})", swapped(whole, one, two).input_vectors(texts))
            for one, two in sorted(pairs)]


def look_at_states(encoder: Encoder, reference: Reference, worst: Sequence[str] = ()) -> diagnosis.Diagnosis:
    """Faults of the layers, on one batch that the subject is asked for afresh."""
    assert reference.whole is not None
    texts = followed(encoder, reference, worst)
    found = reference.pool(encoder.hidden_states(texts, fresh=True))
    plain = reference.pool(reference.whole.hidden_states(texts))
    attempts = diagnosis.tried(
        reference.whole, ["states", "batch", "input"], lambda broken: reference.pool(broken.hidden_states(texts)),
        closer(reference.whole, texts, found, plain, lambda broken, few: reference.pool(broken.hidden_states(few))))
    return diagnosis.explain(diagnosis.apart(found, plain), attempts,
                             lambda answer: diagnosis.apart(found, answer), diagnosis.apart)


def look_at_pooling(reference: Reference, last: Finish, seams: Sequence[str] = ("pooling", "rows")) -> diagnosis.Diagnosis:
    """Faults of pooling on the subject's own states, so that what the network lost does not blur them."""
    own = OwnStates(reference, last)

    def ask(broken: Any) -> np.ndarray:
        found: np.ndarray = broken.embed(last.texts)
        return found

    attempts = diagnosis.tried(own, seams, ask)
    if reference.whole is not None:
        # What a batch pools of its padding is not among the subject's states; the reference stands in for it.
        names = {name for name, _ in attempts}
        attempts += [one for one in diagnosis.tried(reference.whole, seams, ask) if one[0] not in names]
    plain = reference.scale(last.pooled)
    return diagnosis.explain(diagnosis.apart(last.found, plain), attempts,
                             lambda answer: diagnosis.apart(last.found, answer), diagnosis.apart)


class OwnStates:
    """The subject's own states with the reference's pooling behind them, for faults of pooling to be applied to."""

    def __init__(self, reference: Reference, last: Finish):
        self._states = dict(zip(last.texts, last.states, strict=True))
        self.pooling = reference.declared("pooling")
        self.normalized = bool(reference.declared("normalized"))
        self.token_ids = None

    def hidden_states(self, texts: list[str]) -> list[np.ndarray]:
        return [self._states[text].copy() for text in texts]


def look_at_vectors(embedder: Embedder, reference: Reference, worst: Sequence[str] = ()) -> diagnosis.Diagnosis:
    """Faults of every stage, on one batch; without a model to apply them to, those that a text or a row shows."""
    texts = sample(reference, worst, LONG)
    plain = reference.embed(texts)
    found = in_one_unit(embedder.embed(texts, fresh=True), plain).astype(np.float64)
    whole = reference.whole
    if whole is None:
        attempts = black_box(reference, texts, plain)
    else:
        def ask(broken: Any, chosen: list[str]) -> np.ndarray:
            return whole.scale(whole.pool(broken.hidden_states(chosen)))

        attempts = diagnosis.tried(whole, ["ids", "input", "states", "batch"], lambda broken: ask(broken, texts),
                                   closer(whole, texts, found, plain, ask))
        attempts += diagnosis.tried(whole, ["pooling", "length", "rows"], lambda broken: broken.embed(texts))
    return diagnosis.explain(diagnosis.apart(found, plain), attempts,
                             lambda answer: diagnosis.apart(found, answer), diagnosis.apart)


def closer(whole: Any, texts: list[str], found: np.ndarray, plain: np.ndarray,
           ask: Callable[[Any, list[str]], np.ndarray]) -> Callable[[Any], bool]:
    """Whether a variant of a fault comes closer than no fault on one text, the shorter one that differs most.

    Where only longer texts differ, every variant is promising.
    """
    shorter = sorted(range(len(texts)), key=lambda row: len(texts[row]))[:1 + len(texts) // 2]
    distances = [diagnosis.apart(found[row:row + 1], plain[row:row + 1]) for row in shorter]
    row = shorter[int(np.argmax(distances))]

    def promising(broken: Any) -> bool:
        return max(distances) < NOTHING or diagnosis.apart(found[row:row + 1], ask(broken, [texts[row]])) < max(distances) / 2
    return promising


def black_box(reference: Reference, texts: list[str], plain: np.ndarray) -> list[tuple[str, Any]]:
    """Faults applied to the texts and to the rows of a reference that cannot be looked into."""
    attempts = diagnosis.tried(RowsOnly(texts, plain), ["rows"], lambda broken: broken.embed(texts))
    if reference.stored is None:
        from .faults import PREFIXES

        changes = {f"agreement/stray-prefix ({prefix!r})": [prefix + text for text in texts]
                   for prefix in ("query: ", *PREFIXES)}
        changes |= {"lower case": [text.lower() for text in texts]}
        changes |= {f"cut at {count} words": [" ".join(text.split()[:count]) for text in texts] for count in (16, 32, 64, 128)}
        attempts += [(name, reference.embed(changed)) for name, changed in changes.items() if changed != texts]
    return attempts


class RowsOnly:
    """Rows of texts, as an embedder whose states are those rows, for faults of order to be applied to."""

    pooling, normalized, token_ids = "mean", False, None

    def __init__(self, texts: list[str], rows: np.ndarray):
        self._rows = dict(zip(texts, rows, strict=True))

    def hidden_states(self, texts: list[str]) -> list[np.ndarray]:
        return [self._rows[text][None].copy() for text in texts]

    def embed(self, texts: list[str]) -> np.ndarray:
        return np.stack([self._rows[text] for text in texts])


def worst_texts(measured: Measured, count: int = 4) -> list[str]:
    """The texts that differ most, those first."""
    return [measured.texts[place] for place in np.argsort(-measured.distances, kind="stable")[:count]]


# --- all stages in a line ----------------------------------------------------------------------------------------------


def stages_of(subject: Any, reference: Reference) -> str:
    """What was found at every stage that both offer, in one line."""
    parts = []
    for names, needed, say in (
            ("encoder.token_ids", "reference.token_ids", _say_ids),
            ("encoder.input_vectors", "reference.input_vectors", _say_inputs),
            ("encoder.hidden_states", "reference.hidden_states", _say_network),
            ("encoder.hidden_states embedder.embed", "reference.pool reference.scale", _say_finish),
            ("embedder.embed", "reference.embed", _say_vectors)):
        if set(names.split()) <= subject.capabilities and set(needed.split()) <= reference.capabilities:
            try:
                parts += say(Encoder(subject), Embedder(subject), reference)
            except ClaimViolation as violation:
                parts.append(f"{needed.partition('.')[2]}: {violation.measured.partition(':')[0]}")
    return " | ".join(parts)


def _say_ids(encoder: Encoder, embedder: Embedder, reference: Reference) -> list[str]:
    distances = ids(encoder, reference).distances
    other = int(distances.sum())
    total = len(distances)
    return [f"TOKEN IDS DIFFER ({other} of {total})" if other else f"token ids equal ({total} of {total})"]


def _say_inputs(encoder: Encoder, embedder: Embedder, reference: Reference) -> list[str]:
    return [_say("input", *inputs(encoder, reference))]


def _say_network(encoder: Encoder, embedder: Embedder, reference: Reference) -> list[str]:
    return [_say("network", *network(encoder, reference))]


def _say_finish(encoder: Encoder, embedder: Embedder, reference: Reference) -> list[str]:
    last = finish(encoder, embedder, reference)
    return ["POOLED DIFFERS" if pooling(reference, last).used() > 1 else "pooled equal",
            "LENGTH DIFFERS" if scaling(reference, last).used() > 1 else "normalised equal"]


def _say_vectors(encoder: Encoder, embedder: Embedder, reference: Reference) -> list[str]:
    return [_say("vectors", *vectors(embedder, reference))]


def _say(name: str, direction: Measured, length: Measured) -> str:
    worst = f"{direction.distances.max():.2g} of {np.max(direction.bound.value):.2g}"
    if direction.used() > 1:
        return f"{name.upper()} DIFFERS, {worst}"
    return f"{name.upper()} LENGTH DIFFERS" if length.used() > 1 else f"{name} {worst}"
