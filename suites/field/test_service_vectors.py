"""What a service answers to texts: as many vectors, in their places, in either form, whatever else is going on."""

import json

import numpy as np
import pytest

from ...subjects import wire
from .service_inputs import ODD, TEXTS, agree, nearest, outcome, sizes, some


@pytest.mark.claim("FIELD-70")
@pytest.mark.parametrize("count", [1, 2, 7, 16])
def test_as_many_entries_as_inputs(service, evidence, seed, count):
    """Lists of one, two, seven and sixteen texts; the indices are counted."""
    entries = wire.entries(wire.parsed(service.ask(some(seed, count))), count)
    evidence.equal(len(entries), count)


@pytest.mark.claim("FIELD-71")
@pytest.mark.parametrize("count", [2, 16])
def test_each_entry_belongs_to_the_input_of_its_index(service, evidence, seed, count):
    """Texts together, in both orders; of the vectors of the same texts alone, the nearest is the text's own."""
    texts = some(seed, count)
    alone = service.alone(texts)
    evidence.equal(nearest(service.vectors(texts), alone), list(range(count)))
    evidence.equal(nearest(service.vectors(texts[::-1]), alone[::-1]), list(range(count)))


@pytest.mark.claim("FIELD-72")
@pytest.mark.parametrize("place", [0, 4, 6])
def test_a_text_and_a_list_of_it(service, evidence, place):
    """A sentence, a single letter and Chinese, each as a string and in a list."""
    text = TEXTS[place]
    agree(evidence, service, wire.vectors(service.ask(text), 1), service.alone([text]))


@pytest.mark.claim("FIELD-73")
def test_base64_holds_the_same_numbers(service, evidence):
    """One request in both forms; a clear refusal of base64 will do, a list in its place will not."""
    answer = service.ask(list(TEXTS), encoding_format="base64")
    if answer.refuses:
        evidence.equal(outcome(answer), "refused")
        return
    found = wire.vectors(answer, len(TEXTS), "base64")
    agree(evidence, service, found, service.vectors(list(TEXTS), encoding_format="float"))


@pytest.mark.claim("FIELD-74")
@pytest.mark.parametrize("options", [{"encoding_format": "float"}, {}], ids=["float", "default"])
def test_numbers_are_numbers(service, evidence, options):
    """With `encoding_format: float` and without it, every embedding is a list that holds numbers and nothing else."""
    entries = wire.entries(wire.parsed(service.ask(list(TEXTS), **options)), len(TEXTS))
    evidence.equal([type(entry).__name__ for entry in entries], ["list"] * len(TEXTS))
    kinds = {type(number).__name__ for entry in entries for number in entry} - {"float", "int"}
    evidence.equal(", ".join(sorted(kinds)) or "numbers", "numbers")


@pytest.mark.claim("FIELD-75")
@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_no_number_is_missing(service, evidence, text):
    """Emoji, combining marks, an invisible character, Arabic, code, digits, blanks, a control character, long texts."""
    answer = service.ask([text, TEXTS[0]])
    if answer.refuses:
        evidence.equal(outcome(answer), "refused")
        return
    found = wire.vectors(answer, 2)
    evidence.equal(np.isfinite(found), np.ones_like(found, dtype=bool))


@pytest.mark.claim("FIELD-76")
def test_all_vectors_have_one_size(service, evidence, seed):
    """The vectors of a list, of a single text, of another list and of base64."""
    texts = some(seed, 16)
    first = service.vectors(texts)
    found = {"another list": service.vectors(texts[3:6]).shape[1], "a text": wire.vectors(service.ask(texts[0]), 1).shape[1]}
    base64 = service.ask(texts, encoding_format="base64")
    if not base64.refuses:
        found["base64"] = wire.vectors(base64, 16, "base64").shape[1]
    evidence.equal(found, dict.fromkeys(found, first.shape[1]))


@pytest.mark.claim("FIELD-77")
@pytest.mark.parametrize("part", [2, 3])
def test_fewer_dimensions_are_the_first_ones(service, evidence, part):
    """Half of the numbers and a third of them; a refusal will do, other vectors or all of the numbers will not."""
    whole = service.vectors(list(TEXTS))
    size = max(whole.shape[1] // part, 1)
    answer = service.ask(list(TEXTS), dimensions=size)
    if answer.refuses:
        evidence.equal(outcome(answer), "refused")
        return
    found = wire.vectors(answer, len(TEXTS))
    evidence.equal(sizes(found), sizes(whole[:, :size]))
    expected = whole[:, :size].astype(np.float64)
    lengths = np.linalg.norm(whole, axis=1)
    # Vectors of other lengths may be scaled or not; then only the direction is judged.
    wanted = np.ones(len(TEXTS)) if np.abs(lengths - 1).max() < 0.01 else np.linalg.norm(found.astype(np.float64), axis=1)
    agree(evidence, service, found, expected / np.linalg.norm(expected, axis=1, keepdims=True) * wanted[:, None])


@pytest.mark.claim("FIELD-82")
@pytest.mark.parametrize("form", ["escapes", "blanks", "keys"])
def test_the_writing_of_the_request_changes_nothing(service, evidence, form):
    """The same request in UTF-8; with every other character escaped; with line breaks; with the keys in another order."""
    texts = ["naïve café", "😀 smiles", "黄河入海流", 'a "quoted" \\ word\tand a tab']
    body = {"input": texts, "model": service.model, "encoding_format": "float"}
    written = {
        "escapes": json.dumps(body),
        "blanks": json.dumps(body, ensure_ascii=False, indent=3),
        "keys": json.dumps(dict(reversed(body.items())), ensure_ascii=False),
    }
    found = wire.vectors(service.post(written[form].encode()), len(texts))
    agree(evidence, service, found, service.vectors(texts, encoding_format="float"))


@pytest.mark.claim("FIELD-83")
def test_a_repeated_text_has_its_vector_each_time(service, evidence, seed):
    """One text at the beginning, in the middle and at the end, another twice; each against the text alone."""
    a, b, c = some(seed, 3)
    texts = [a, b, a, c, b, a]
    found = service.vectors(texts)
    agree(evidence, service, found[[2, 5, 4]], found[[0, 0, 1]])
    evidence.equal(nearest(found, service.alone([a, b, c])), [0, 1, 0, 2, 1, 0])


@pytest.mark.claim("FIELD-84")
def test_requests_at_the_same_time_do_not_mix(service, evidence, seed):
    """Eight requests with two texts each, sent together, twice; every vector is nearest to that of its own text alone."""
    texts = some(seed, 16)
    alone = service.alone(texts)
    for _ in range(2):
        answers = service.together([texts[place:place + 2] for place in range(0, 16, 2)])
        evidence.equal(nearest(np.concatenate(answers), alone), list(range(16)))
