"""The subject ``service``: a sound ``/v1/embeddings`` in memory, without a network and without a model.

A vector is made from a digest of the text, so that equal texts have equal vectors and other texts have others, and it
means nothing. Claims about services are about what they answer, not about what a model has learned.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import Subject, declared
from .facets import recognise
from .wire import encode

WIDTH = 24
JSON = {"content-type": "application/json"}


class Wrong(Exception):
    """A request that cannot be answered; says why."""


class ReferenceService:
    """The facet service."""

    model = "reference"

    def post(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Answer the body of one request: status, headers, body."""
        try:
            return 200, dict(JSON), json.dumps(self._answer(_read(body))).encode()
        except Wrong as wrong:
            error = {"message": str(wrong), "type": "invalid_request_error", "code": None}
            return 400, dict(JSON), json.dumps({"error": error}).encode()

    def _answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        inputs = request.get("input")
        texts = [inputs] if isinstance(inputs, str) else inputs
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
            raise Wrong("input must be a text that is not empty, or a list of such texts")
        encoding = request.get("encoding_format", "float")
        if encoding not in ("float", "base64"):
            raise Wrong('encoding_format must be "float" or "base64"')
        size = request.get("dimensions", WIDTH)
        if type(size) is not int or not 1 <= size <= WIDTH:
            raise Wrong(f"dimensions must be a whole number from 1 to {WIDTH}")
        rows = vectors(texts)
        if size < WIDTH:
            rows = rows[:, :size] / np.linalg.norm(rows[:, :size], axis=1, keepdims=True)
        tokens = sum(len(text.split()) + 2 for text in texts)
        return {
            "object": "list",
            "data": [{"object": "embedding", "index": place,
                      "embedding": encode(row) if encoding == "base64" else [float(number) for number in row]}
                     for place, row in enumerate(rows)],
            "model": self.model,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }


def vectors(texts: list[str]) -> np.ndarray:
    """[N, WIDTH] float32, each of length one."""
    digests = [hashlib.shake_128(text.encode("utf-8", "surrogatepass")).digest(2 * WIDTH) for text in texts]
    rows = np.frombuffer(b"".join(digests), "<u2").reshape(len(texts), WIDTH) / 32767.5 - 1
    unit: np.ndarray = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _read(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Wrong(f"the request is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise Wrong("the request must be a JSON object")
    return value


def open_subject(rest: str = "") -> Subject:
    """A default subject, and the one that faults of services are made from."""
    service = ReferenceService()
    facets = recognise(service, "service")
    return Subject(name="service", title="a sound /v1/embeddings in memory, vectors from a digest of the text",
                   capabilities=frozenset().union(*facets.values()), makers=dict.fromkeys(facets, lambda: service),
                   declares=declared({"precision": "float32", "deterministic": True}, "service"))
