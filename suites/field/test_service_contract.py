"""What a service says around the vectors: errors, names, counts, and the form of its answers."""

import json

import pytest

from ...subjects import wire
from .service_inputs import TEXTS, outcome, some

#: requests that are wrong, by what is wrong with them; "MODEL" stands for the model's name
WRONG = {
    "no JSON": '{"input": "hello", "model": "MODEL"',
    "no object": '["hello"]',
    "no input": '{"model": "MODEL"}',
    "null": '{"input": null, "model": "MODEL"}',
    "a number": '{"input": 7, "model": "MODEL"}',
    "an object": '{"input": {"text": "hello"}, "model": "MODEL"}',
    "a number among texts": '{"input": ["hello", 7.5], "model": "MODEL"}',
    "a list of lists of texts": '{"input": [["hello"], ["world"]], "model": "MODEL"}',
}
#: inputs that a service may refuse or answer, with the number of vectors that are due then
EMPTY = {"no text": ([], 0), "an empty text": ([""], 1), "an empty string": ("", 1), "blanks": (["   "], 1),
         "an empty text among others": (["hello", "", "world"], 3), "half of a pair": (["smile \ud83d"], 1)}


@pytest.mark.claim("FIELD-78")
@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_request_is_refused(service, evidence, case):
    """Broken JSON, another structure, no input, inputs of other kinds."""
    body = WRONG[case].replace('"MODEL"', json.dumps(service.model))
    evidence.equal(outcome(service.post(body.encode())), "refused")


@pytest.mark.claim("FIELD-79")
@pytest.mark.parametrize("case", EMPTY)
def test_an_empty_input_is_refused_or_answered(service, evidence, case):
    """An empty list, an empty string, blanks, an empty text among others, and half of a pair of escapes."""
    inputs, count = EMPTY[case]
    answer = service.ask(inputs)
    if answer.refuses:
        evidence.equal(outcome(answer), "refused")
        return
    entries = wire.entries(wire.parsed(answer), count)
    if entries:
        wire.vectors(answer, count)
    evidence.equal(len(entries), count)


@pytest.mark.claim("FIELD-80")
def test_an_answer_says_what_it_is(service, evidence, seed):
    """The words list and embedding, and a name of a model that is the same for other texts and for a single one."""
    names = []
    for inputs in (some(seed, 3), TEXTS[1], list(TEXTS)):
        value = wire.parsed(service.ask(inputs))
        wire.entries(value, 1 if isinstance(inputs, str) else len(inputs))
        evidence.equal([value.get("object"), *{entry.get("object") for entry in value["data"]}], ["list", "embedding"])
        names.append(value.get("model"))
    evidence.equal([type(name).__name__ for name in names], ["str"] * 3)
    evidence.equal(names, [names[0]] * 3)
    evidence.equal(bool(names[0]), True)


@pytest.mark.claim("FIELD-81")
def test_tokens_are_counted(service, evidence):
    """A long text, a short one and both; a service that counts nothing at all will do."""
    long, short = TEXTS[2], TEXTS[3]
    usages = [wire.parsed(service.ask(inputs)).get("usage") for inputs in ([long], [short], [long, short])]
    if all(usage is None for usage in usages):
        evidence.equal(usages, [None] * 3)
        return
    evidence.equal([type(usage).__name__ for usage in usages], ["dict"] * 3)
    counts = [[usage.get("prompt_tokens"), usage.get("total_tokens")] for usage in usages]
    evidence.equal([type(count).__name__ for pair in counts for count in pair], ["int"] * 6)
    for prompt, total in counts:
        evidence.greater(prompt, 0, 1, "every text has a token")
        evidence.greater(total, prompt, 0, "the total includes the prompt")
    for one in (0, 1):
        evidence.greater(counts[2][0], counts[one][0], 1, "the other text has a token, too")


@pytest.mark.claim("FIELD-85")
def test_an_answer_is_json_and_says_so(service, evidence):
    """The bytes are read strictly, without words such as NaN, and the media type is one of JSON."""
    for inputs, encoding in ((list(TEXTS), "float"), (TEXTS[6], "float")):
        answer = service.ask(inputs, encoding_format=encoding)
        evidence.equal(isinstance(wire.parsed(answer), dict), True)
        media = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        evidence.equal(media if media.endswith("+json") else media.replace("text/json", "application/json"),
                       media if media.endswith("+json") else "application/json")
