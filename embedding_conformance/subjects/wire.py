"""The wire format of ``/v1/embeddings``: how a request is written, and what an answer must be to hold vectors.

Source of the format: the OpenAI API reference, "Create embeddings". Everything that an answer must not be is a
`ClaimViolation`, since it is the service that answered.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import numpy as np

from ..evidence import ClaimViolation, short
from ..redaction import redacted

FLOAT32 = np.dtype("<f4")


@dataclass(frozen=True)
class Answer:
    """What a service answered: status, headers by their names in lower case, and the bytes of the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def title(self) -> str:
        """The status with its name, such as "404 Not Found"."""
        names = {one.value: one.phrase for one in HTTPStatus}
        return f"{self.status} {names.get(self.status, '')}".strip()

    @property
    def is_html(self) -> bool:
        return "html" in self.headers.get("content-type", "").lower() or self.body.lstrip()[:1] == b"<"

    @property
    def refuses(self) -> bool:
        """Whether the service says that the request was wrong (a status 4xx, but not one that asks to come back)."""
        return 400 <= self.status < 500 and self.status not in (408, 429)

    def said(self) -> str:
        """What the service says about an error, in quotes; nothing for a page or an empty body."""
        try:
            value: Any = json.loads(self.body)
        except (ValueError, RecursionError):
            value = "" if self.is_html else self.body.decode("utf-8", "replace")
        for name in ("error", "message", "detail"):
            if isinstance(value, dict) and name in value:
                value = value[name]
        text = value if isinstance(value, str) else json.dumps(value)
        return f' ("{line(redacted(text))}")' if text.strip() else ""


def line(text: str) -> str:
    """A text in one line of at most 160 characters."""
    text = " ".join(text[:1000].split())
    return text if len(text) <= 160 else f"{text[:157]}..."


def request(inputs: Any, model: str, **options: Any) -> bytes:
    """The body of a request, as the usual clients write it: UTF-8, and escapes only for what UTF-8 cannot hold."""
    body = {"input": inputs, "model": model, **options}
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(body).encode()


def parsed(answer: Answer) -> dict[str, Any]:
    """The JSON object of a successful answer."""
    if answer.status != 200:
        raise ClaimViolation(f"status {answer.title}{answer.said()}", "status 200 and vectors")
    try:
        value = json.loads(answer.body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        if answer.is_html:
            raise ClaimViolation("the answer is HTML", "a JSON object") from error
        beginning = short(answer.body[:80])
        raise ClaimViolation(f"the answer is no JSON: {line(str(error))}", "a JSON object", [beginning]) from error
    if not isinstance(value, dict):
        raise ClaimViolation(f"the answer is {short(value)}", "a JSON object")
    return value


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def entries(value: dict[str, Any], count: int) -> list[Any]:
    """What the answer to `count` inputs holds as their embeddings, in the order of the inputs."""
    data = value.get("data")
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        said = f": {short(value['error'])}" if "error" in value else ""
        raise ClaimViolation(f"data is {short(data)}{said}", "a list of objects")
    if len(data) != count:
        raise ClaimViolation(f"{len(data)} entries for {count} inputs", f"{count} entries")
    indices = [entry.get("index") for entry in data]
    if any(type(index) is not int for index in indices) or sorted(indices) != list(range(count)):
        raise ClaimViolation(f"the indices are {short(indices)}", f"0 to {count - 1}, each once")
    ordered: list[Any] = [None] * count
    for entry in data:
        ordered[entry["index"]] = entry.get("embedding")
    return ordered


def vectors(answer: Answer, count: int, encoding: str = "float") -> np.ndarray:
    """[count, d] float32: the vectors of an answer, row i for input i. `encoding` is "float" or "base64"."""
    rows = [decoded(entry, place, encoding) for place, entry in enumerate(entries(parsed(answer), count))]
    sizes = [len(row) for row in rows]
    if not all(sizes) or len(set(sizes)) != 1:
        raise ClaimViolation(f"vectors of {short(sizes)} numbers", "one size, one number at least")
    return np.stack(rows)


def decoded(entry: Any, place: int, encoding: str) -> np.ndarray:
    """[d] float32: one embedding, a list of JSON numbers or base64 of little-endian float32."""
    if encoding == "base64":
        if not isinstance(entry, str):
            raise ClaimViolation(f"entry {place} is {line(json.dumps(entry))}", "base64 text, as was asked for")
        try:
            data = base64.b64decode(entry, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ClaimViolation(f"entry {place} is no base64: {error}", "base64 text") from error
        if len(data) % FLOAT32.itemsize:
            raise ClaimViolation(f"entry {place} holds {len(data)} bytes", "four bytes for each number")
        row = np.frombuffer(data, FLOAT32).astype(np.float32)
    else:
        if not isinstance(entry, list):
            raise ClaimViolation(f"entry {place} is {line(json.dumps(entry))}", "a list of numbers, as was asked for")
        for where, number in enumerate(entry):
            if type(number) not in (int, float):
                raise ClaimViolation(f"entry {place} holds {line(json.dumps(number))} at place {where}", "JSON numbers only")
        try:
            with np.errstate(over="ignore"):
                row = np.array(entry, dtype=np.float64).astype(np.float32)
        except OverflowError:  # a whole number beyond all floating formats
            row = np.array([np.inf], dtype=np.float32)
    if not np.isfinite(row).all():
        raise ClaimViolation(f"entry {place} holds numbers that are not finite", "finite numbers of float32")
    return row


def with_vectors(answer: Answer, change: Callable[[np.ndarray], np.ndarray]) -> Answer:
    """The answer with other vectors, [N, d] in the order in which they stand, in the form in which they came."""
    if answer.status != 200:
        return answer
    value = json.loads(answer.body)
    data = value["data"]
    encoded = [isinstance(entry["embedding"], str) for entry in data]
    rows = [decoded(entry["embedding"], 0, "base64" if text else "float") for entry, text in zip(data, encoded, strict=True)]
    if not rows:
        return answer
    for entry, text, row in zip(data, encoded, change(np.stack(rows)), strict=True):
        entry["embedding"] = encode(row) if text else [float(number) for number in np.asarray(row)]
    return Answer(answer.status, answer.headers, json.dumps(value).encode())


def encode(row: np.ndarray) -> str:
    """A vector as base64 of little-endian float32."""
    return base64.b64encode(np.asarray(row).astype(FLOAT32).tobytes()).decode()
