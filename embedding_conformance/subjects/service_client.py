"""Requests to a service on the network. Each has a deadline, a largest answer, and few and patient repetitions.

Every request has a connection of its own, so that what a failing service does to one of them shows on no other. They run in
one event loop for the whole process: a deadline then holds in every phase, also where a peer sends one byte a second.
"""

from __future__ import annotations

import asyncio
import ipaddress
import shlex
import threading
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, Literal

import httpx

from .. import __version__
from ..errors import NoVerdict
from ..redaction import redacted
from .limits import LIMITS
from .wire import Answer, line

#: bytes of an answer; 32 vectors of 8,192 numbers in JSON are about 6 MB
LARGEST = 64 * 1024 * 1024
#: how long a connection may take, and an answer that needs no model
QUICK_SECONDS = 10.0
#: a refused connection may be that of a service that is just starting
CONNECTIONS = 3
#: statuses by which a service, or a gateway before it, says that the request may be sent again
LATER = (429, 502, 503, 504)
TRIES = 5
#: all waiting of a run for one service, as a multiple of what one request may take
PATIENCE = 10


class Failed(Exception):
    """A request came to no answer: the connection was "refused", the answer "broken" off or "late", or it is "unfit"."""

    def __init__(self, what: str, kind: Literal["refused", "broken", "late", "unfit"]):
        super().__init__(what)
        self.kind = kind


class NoAnswer(Exception):
    """A request came to no answer although the service is there and answers others."""


@dataclass
class Tally:
    """What a service was asked so far."""

    requests: int = 0
    texts: int = 0


class Client:
    """Sends requests to one base address, such as ``http://127.0.0.1:8080/v1``, and to no other."""

    def __init__(self, base: str, key: str):
        self.url = httpx.URL(base)
        self.base = base
        self.origin = f"{self.url.scheme}://{self.url.netloc.decode()}"
        self._key = key
        self._waited = 0.0
        self._lock = threading.Lock()
        self.tally = Tally()
        #: why the service is taken for gone; nothing is sent any more
        self.gone = ""
        #: a request that was answered, to ask later whether the service is still there
        self.proven: bytes | None = None

    def get(self, path: str) -> Answer:
        """An answer that needs no model, from below the base address."""
        return self._persistent("GET", self.base + path, None, min(QUICK_SECONDS, LIMITS.seconds))

    def glance(self, path: str) -> Answer | None:
        """The same for a question that nothing depends on: one try, and no answer is None. A path that begins with two slashes
        is one of the origin.
        """
        url = self.origin + path[1:] if path.startswith("//") else self.base + path
        try:
            return self._send("GET", url, None, min(QUICK_SECONDS, LIMITS.seconds))
        except Failed:
            return None

    def embeddings(self, body: bytes) -> Answer:
        """POST a body to ``/embeddings``. Raises `NoVerdict` when the service is gone and `NoAnswer` when it is not."""
        try:
            return self._patient("POST", f"{self.base}/embeddings", body, LIMITS.seconds)
        except Failed as failed:
            return self._explain(failed, body)

    def first(self, body: bytes) -> Answer:
        """The first request: one that any service of this kind answers. It comes before `embeddings`."""
        answer = self._persistent("POST", f"{self.base}/embeddings", body, LIMITS.seconds)
        self.proven = body
        return answer

    def _explain(self, failed: Failed, body: bytes) -> Answer:
        """After a failure: is it the service that is gone, a moment in which it was busy, or this request, so that it fails
        again while another one is answered?"""
        assert self.proven is not None
        try:
            alive = self._patient("POST", f"{self.base}/embeddings", self.proven, LIMITS.seconds).status < 500
        except Failed as again:
            raise self._lost(f"{self.origin} {again}") from None
        if not alive:
            raise self._lost(f"{self.origin} {failed}")
        try:
            return self._patient("POST", f"{self.base}/embeddings", body, LIMITS.seconds)
        except Failed as again:
            raise NoAnswer(f"{again}, twice; other requests are answered") from None

    def _lost(self, why: str) -> NoVerdict:
        """A new exception each time: one that is raised again drags along where it was raised before."""
        self.gone = self.gone or why
        return Unreachable(self.gone, self.base)

    def _persistent(self, method: str, url: str, body: bytes | None, seconds: float) -> Answer:
        """Also repeats what a service that is just starting does: an internal error, a connection that it breaks off."""
        start = time.monotonic()
        why = ""
        for attempt in range(CONNECTIONS):
            if attempt:
                self._wait(_backoff(attempt - 1))
            try:
                answer = self._patient(method, url, body, seconds)
            except Failed as failed:
                why = f"{self.origin} {failed}"
                if failed.kind != "broken":
                    raise self._lost(why) from None
                continue
            if answer.status < 500 or method == "GET":
                return answer
            why = f"{answer.title} from {self.origin}{answer.said()}"
        raise self._lost(f"{why} ({CONNECTIONS} tries in {time.monotonic() - start:.1f} s)")

    def _patient(self, method: str, url: str, body: bytes | None, seconds: float) -> Answer:
        """Repeat while the service asks for it, and a few times while it refuses the connection."""
        start, waited, obeyed, attempt = time.monotonic(), 0.0, "", 0
        while True:
            if self.gone:
                raise self._lost(self.gone)
            attempt += 1
            try:
                answer = self._send(method, url, body, seconds)
            except Failed as failed:
                if failed.kind != "refused":
                    raise
                if attempt >= CONNECTIONS:
                    took = time.monotonic() - start
                    raise self._lost(f"{self.origin} {failed} ({attempt} tries in {took:.1f} s)") from None
                pause = _backoff(attempt - 1)
            else:
                if answer.status not in LATER:
                    return answer
                asked = retry_after(answer)
                pause = _backoff(attempt - 1) if asked is None else asked
                so_far = f"{answer.status} after {attempt} {'try' if attempt == 1 else 'tries'} in {waited:.0f} s{obeyed}"
                if waited + pause > LIMITS.seconds:
                    raise self._lost(f"{so_far}; it asks to wait {pause:.0f} s more{answer.said()}")
                if attempt >= TRIES:
                    raise self._lost(f"{so_far}{answer.said()}")
                obeyed = obeyed if asked is None else ", Retry-After obeyed"
            waited += pause
            self._wait(pause)

    def _wait(self, seconds: float) -> None:
        with self._lock:
            self._waited += seconds
            if self._waited > PATIENCE * LIMITS.seconds:
                raise self._lost(f"{self.origin} was waited for {self._waited:.0f} s in all")
        time.sleep(seconds)

    def _send(self, method: str, url: str, body: bytes | None, seconds: float) -> Answer:
        if body is not None:
            with self._lock:
                self.tally.requests += 1
                if LIMITS.requests is not None and self.tally.requests > LIMITS.requests:
                    raise self._lost(f"{LIMITS.requests} requests were sent to {self.origin}, as many as --max-requests "
                                     "allows; some had to be repeated")
        # Whom the name means is up to this machine; what is meant for this machine goes through no proxy.
        headers = {"User-Agent": f"embedding-conformance/{__version__}", "Accept": "application/json",
                   "Accept-Encoding": "identity"}
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        headers |= {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return _run(_exchange(method, url, body, headers, seconds, proxies=not _loopback(self.url.host)))


class Unreachable(NoVerdict):
    """The service is not there, or does not answer."""

    reason = "unreachable"

    def __init__(self, why: str, base: str):
        super().__init__(redacted(f"no verdict: {why}"))
        self.hint = f"curl -sS {shlex.quote(f'{base}/models')}"


async def _exchange(method: str, url: str, body: bytes | None, headers: dict[str, str], seconds: float, *,
                    proxies: bool) -> Answer:
    waiting = f"did not answer within {seconds:g} s"
    received = bytearray()
    try:
        async with (asyncio.timeout(seconds),
                    httpx.AsyncClient(timeout=httpx.Timeout(seconds, connect=min(QUICK_SECONDS, seconds)), trust_env=proxies,
                                      verify=_certificates() if url.startswith("https:") else False,
                                      follow_redirects=False) as client,
                    client.stream(method, url, content=body, headers=headers) as response):
            encoding = response.headers.get("content-encoding", "identity")
            if encoding != "identity":
                raise Failed(f"compressed its answer ({line(encoding)}), which the request forbids", "unfit")
            waiting = f"did not finish its answer within {seconds:g} s"
            async for chunk in response.aiter_raw():
                received += chunk
                if len(received) > LARGEST:
                    raise Failed(f"answered with more than {LARGEST // 2**20} MiB", "unfit")
            return Answer(response.status_code, {name.lower(): value for name, value in response.headers.items()},
                          bytes(received))
    except httpx.ConnectTimeout as error:
        raise Failed(f"did not answer within {min(QUICK_SECONDS, seconds):g} s", "late") from error
    except (TimeoutError, httpx.TimeoutException) as error:
        raise Failed(waiting, "late") from error
    except httpx.ConnectError as error:
        raise Failed(_unconnected(error), "refused") from error
    except httpx.HTTPError as error:
        # What a peer sent stands in the message, and a peer may send what it was sent.
        raise Failed(f"broke off its answer ({line(redacted(str(error))) or type(error).__name__})", "broken") from error
    except (OSError, ImportError, ValueError, httpx.InvalidURL) as error:  # certificates or proxies of the environment
        raise Failed(f"cannot be asked ({type(error).__name__}: {line(redacted(str(error)))})", "unfit") from error


def _unconnected(error: httpx.ConnectError) -> str:
    text = line(str(error))
    if "Connection refused" in text or "All connection attempts failed" in text:
        return "refused the connection"
    if "Name or service not known" in text or "getaddrinfo" in text or "name resolution" in text or "nodename" in text:
        return "is a name that cannot be resolved"
    return f"cannot be connected to ({text})"


def retry_after(answer: Answer) -> float | None:
    """The seconds that a service asks to wait, as a number or until a date (RFC 9110, section 10.2.3); None if it does not."""
    value = answer.headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        until = parsedate_to_datetime(value)
        now = parsedate_to_datetime(answer.headers["date"]) if "date" in answer.headers else datetime.now(UTC)
        return max((until - now).total_seconds(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


def _backoff(attempt: int) -> float:
    """1, 2, 4, 8 seconds where a request may take a minute, and in proportion where it may take less."""
    return float(2**attempt * min(LIMITS.seconds / 60, 1))


def _loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
        return address.is_loopback or address.is_unspecified
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


@cache
def _certificates() -> Any:
    return httpx.create_ssl_context()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="embedding-conformance-requests", daemon=True).start()
    return loop


def _run(work: Coroutine[Any, Any, Answer]) -> Answer:
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()
