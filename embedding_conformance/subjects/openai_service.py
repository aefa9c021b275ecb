"""The scheme ``openai:``: a running service that answers ``POST /v1/embeddings`` as OpenAI's does (TEI, vLLM, Ollama, ...)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx
import numpy as np

from ..errors import UsageError, nearest
from ..evidence import ClaimViolation
from ..redaction import VARIABLE, key, redacted
from . import Remote, Subject, wire
from .reference_service import ReferenceService
from .service_client import Client, Tally
from .wire import Answer

#: texts in one request; the default limit of the service that takes the fewest
BATCH = 32
#: a text that every service embeds, and the first that it is sent
GREETING = "hello world"
#: models that one message names
MOST_MODELS = 12


class Refused(Exception):
    """The service refused a request, with a status that says that the request was at fault."""


class Posts(Protocol):
    """Whatever takes the body of a request."""

    model: str

    def post(self, body: bytes) -> tuple[int, Any, bytes]:
        ...


class Service:
    """The facets service and embedder of a running service."""

    def __init__(self, client: Client, model: str):
        self._client = client
        self.model = model

    def post(self, body: bytes) -> tuple[int, Any, bytes]:
        """POST the bytes of one request: status, headers, body of the answer."""
        if self._client.proven is None:
            begin(self._client, self.model)
        answer = self._client.embeddings(body)
        return answer.status, answer.headers, answer.body

    def embed(self, texts: list[str]) -> np.ndarray:
        """[N, d] float32"""
        return embed(self, texts)


def embed(service: Posts, texts: list[str]) -> np.ndarray:
    """[N, d] float32, asked for in batches. Raises `Refused` for a status 4xx, `ClaimViolation` for a wrong answer."""
    batches = [_embed(service, texts[start:start + BATCH]) for start in range(0, max(len(texts), 1), BATCH)]
    sizes = {batch.shape[1] for batch in batches}
    if len(sizes) > 1:
        raise ClaimViolation(f"vectors of {' and '.join(map(str, sorted(sizes)))} numbers", "one size for all texts")
    return np.concatenate(batches)


def _embed(service: Posts, texts: list[str]) -> np.ndarray:
    answer = Answer(*service.post(wire.request(texts, service.model, encoding_format="float")))
    if answer.status == 413 and len(texts) > 1:  # it takes fewer at a time
        middle = len(texts) // 2
        return np.concatenate([_embed(service, texts[:middle]), _embed(service, texts[middle:])])
    if answer.refuses:
        raise Refused(f"{answer.title}{answer.said()}")
    return wire.vectors(answer, len(texts))


class Rehearsing(ReferenceService):
    """Stands in for a service before it is asked, and counts what it would be asked."""

    def __init__(self, tally: Tally):
        self._tally = tally

    def post(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """The sound answer, counted."""
        self._tally.requests += 1
        try:
            inputs = json.loads(body)["input"]
            self._tally.texts += len(inputs) if isinstance(inputs, list) else 1
        except (ValueError, TypeError, KeyError):
            pass  # a request that is wrong on purpose
        return super().post(body)

    def embed(self, texts: list[str]) -> np.ndarray:
        """[N, d] float32, in the same batches."""
        return embed(self, texts)


def open_subject(rest: str) -> Subject:
    """Open ``URL`` or ``URL@MODEL``. Asks for the list of models; texts are sent only when the facets are used."""
    base, model = split(rest)
    client = Client(base, _key())
    model = _choose(client, base, model)
    service = Service(client, model)

    def make() -> Service:
        return service

    capabilities = frozenset({"service.post", "service.model", "embedder.embed"})
    subject = Subject(name=f"openai:{rest}", title=f"{model}, served at {base}", capabilities=capabilities,
                      makers={"service": make, "embedder": make}, facts={"url": base, "model": model})
    subject.remote = Remote(client.origin, lambda: begin(client, model), lambda: _stand_in(subject))
    return subject


def _stand_in(subject: Subject) -> tuple[Subject, Tally]:
    tally = Tally()
    rehearsing = Rehearsing(tally)
    makers: dict[str, Callable[[], Any]] = dict.fromkeys(subject.makers, lambda: rehearsing)
    return Subject(subject.name, subject.title, subject.capabilities, makers, subject.declares), tally


def split(rest: str) -> tuple[str, str]:
    """``URL@MODEL`` as the base address without a slash at its end, and the model or an empty string."""
    text = rest.strip()
    if "#" in text:
        raise UsageError(f"openai:{text}: the model stands after @: openai:{text.replace('#', '@', 1)}")
    if not text.startswith(("http://", "https://")):
        raise UsageError(f"openai:{text}: write the whole address, openai:http://{text.removeprefix('//')}")
    scheme, _, after = text.partition("://")
    host, at, model = after.partition("@")
    if at and "/" not in host and not re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(:\d+)?", host):
        raise UsageError(f"openai: an address with a name and a password would be shown; set {VARIABLE} instead")
    base = f"{scheme}://{host}".rstrip("/")
    try:
        parts = urlsplit(base)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"openai:{text}: no address: {error}") from error
    if parts.query or not parts.hostname or port == 0 or not base.isascii() or re.search(r"[\s\x00-\x1f]", base):
        raise UsageError(f"openai:{text}: no address of a service, such as http://127.0.0.1:8080/v1")
    if parts.path.endswith("/embeddings"):
        shorter = base.removesuffix("/embeddings") + (f"@{model}" if model else "")
        raise UsageError(f"openai:{text}: name the address that /embeddings stands below: openai:{shorter}")
    if at and not model:
        raise UsageError(f"openai:{text}: a model stands after @, or no @")
    return base, model


def _key() -> str:
    found = key()
    if not found.isascii() or not found.isprintable() or " " in found:
        raise UsageError(f"{VARIABLE} holds characters that no key has")
    return found


def _choose(client: Client, base: str, wanted: str) -> str:
    """The model to ask for; refuses one that is not served, and a choice among several."""
    answer = client.get("/models")
    _check_access(client, answer)
    served = _served(answer) or _tei(client, answer)
    if served is None:
        if wanted:
            return wanted
        if answer.is_html:
            raise UsageError(f"{base} answers GET /models with HTML, not JSON: is it the address of the service?")
        if answer.status == 404 and (better := _below_v1(client, base)):
            raise UsageError(f"404 for GET /models; it answers below /v1: openai:{better}")
        raise UsageError(f"{base} lists no models ({answer.title} for GET /models); name one: openai:{base}@MODEL")
    if not wanted:
        if len(served) > 1:
            raise UsageError(f"several models are served; pick one with @: {_listed(served)}")
        return served[0]
    if wanted in served:
        return wanted
    if f"{wanted}:latest" in served:  # as Ollama reads a name without a tag
        return f"{wanted}:latest"
    raise UsageError(f'model "{wanted}" is not served; served are: {_listed(served)}{nearest(wanted, served)}')


def _served(answer: Answer) -> list[str] | None:
    """The names that an answer lists; None when it is no list of models."""
    try:
        data = json.loads(answer.body)["data"] if answer.status == 200 else None
        names = [one["id"] for one in data] if isinstance(data, list) else []
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return names if names and all(isinstance(name, str) and name for name in names) else None


def _tei(client: Client, models: Answer) -> list[str] | None:
    """The one model of text-embeddings-inference, which lists none and tells its name elsewhere."""
    if models.status != 404:
        return None
    answer = client.glance("//info")
    try:
        name = json.loads(answer.body)["model_id"] if answer and answer.status == 200 else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return [name] if isinstance(name, str) and name else None


def _listed(names: list[str]) -> str:
    return ", ".join(names[:MOST_MODELS]) + (f" and {len(names) - MOST_MODELS} more" if len(names) > MOST_MODELS else "")


def begin(client: Client, model: str) -> None:
    """Send the first request, of one short text; whatever prevents all others is a refusal with one message.

    What is wrong with a successful answer is for the claims to say.
    """
    answer = client.first(wire.request([GREETING], model))
    _check_access(client, answer)
    if answer.status == 404 and (better := _below_v1(client, client.base)):
        raise UsageError(f"404 for POST /embeddings; it answers below /v1: openai:{better}@{model}")
    if answer.is_html:
        raise UsageError(f"{client.base} answers POST /embeddings with HTML, not JSON: is it the address of the service?")
    if answer.status >= 300:
        raise UsageError(f"{answer.title} for POST /embeddings with one short text and model {model}{answer.said()}")


def _check_access(client: Client, answer: Answer) -> None:
    if answer.status in (401, 403):
        advice = f"the service does not accept {VARIABLE}" if key() else f"set {VARIABLE}"
        raise UsageError(f"{answer.title}: {advice}")
    if 300 <= answer.status < 400:
        try:
            target = client.url.join(answer.headers.get("location", ""))
            place = f"{target.scheme}://{target.netloc.decode()}"
        except httpx.InvalidURL:
            place = "elsewhere"
        place = target.path if place == client.origin else place
        raise UsageError(f"it redirects to {wire.line(redacted(place))}, which was not named; not followed")


def _below_v1(client: Client, base: str) -> str | None:
    """The address below which the service answers, where a user left out its usual last part."""
    if base.endswith("/v1"):
        return None
    answer = client.glance("/v1/models")
    return f"{base}/v1" if answer and (answer.status in (401, 403) or _served(answer)) else None
