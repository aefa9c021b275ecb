"""A service on loopback that misbehaves as it is told: the first part of the path says how."""

import gzip
import json
import os
import socket
import struct
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from embedding_conformance.subjects import wire
from embedding_conformance.subjects.reference_service import ReferenceService

PAGE = b"<!doctype html><title>Please log in</title>"


class Server(ThreadingHTTPServer):
    """Serves ``/HOW/v1/embeddings`` for every misbehaviour; keeps what it was asked."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.count = Counter()
        self.headers_seen = []
        self.models = {}
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def url(self, how, model=""):
        return f"openai:{self.origin}/{how}/v1" + (f"@{model}" if model else "")

    def handle_error(self, request, client_address):
        """A client that goes away is what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        how, path = self._how()
        self.server.headers_seen.append((how, dict(self.headers)))
        if hasattr(self, f"get_{how}"):
            getattr(self, f"get_{how}")()
        elif path == "/v1/models":
            names = self.server.models.get(how, ["reference"])
            self.answer(200, json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode())
        else:
            self.answer(404, b'{"error": "no such page"}')

    def do_POST(self):
        how, path = self._how()
        self.server.headers_seen.append((how, dict(self.headers)))
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.count[how] += 1
        if path != "/v1/embeddings":
            self.answer(404, b'{"error": "no such page"}')
            return
        self.first = b'"input": ["hello world"]' in body
        self.status, _, self.content = ReferenceService().post(body)
        getattr(self, f"do_{how}", self.do_well)(body)

    def _how(self):
        _, how, *rest = urlsplit(self.path).path.split("/", 2)
        return how.replace("-", "_"), f"/{''.join(rest)}"

    def answer(self, status, content, media="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def changed(self, change):
        """The sound answer with another JSON value."""
        if self.status == 200:
            value = json.loads(self.content)
            change(value)
            self.content = json.dumps(value).encode()
        self.answer(self.status, self.content)

    def each(self, change):
        """The sound answer with `change(entry)` of every entry, but for the first request of a run."""
        self.changed(lambda value: None if self.first else [change(entry) for entry in value["data"]])

    def drip(self, content):
        for place in range(len(content)):
            self.wfile.write(content[place:place + 1])
            self.wfile.flush()
            time.sleep(0.2)

    # --- well, and in ways that are to be borne ---

    def do_well(self, body):
        self.answer(self.status, self.content)

    def do_reordered(self, body):
        self.changed(lambda value: value["data"].reverse())

    def do_500_twice(self, body):
        if self.server.count["500_twice"] <= 2:
            self.answer(500, b'{"error": "warming up"}')
        else:
            self.do_well(body)

    def do_429_then_well(self, body):
        if self.server.count["429_then_well"] % 3 == 1:
            self.answer(429, b'{"error": {"message": "slow down"}}', Retry_After="0")
        else:
            self.do_well(body)

    # --- not to be reached ---

    def do_reset(self, body):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())  # the files around the socket would keep it open

    def do_slow_headers(self, body):
        self.drip(b"HTTP/1.1 200 OK\r\n" + b"X-Filler: 1\r\n" * 100)

    def do_slow_body(self, body):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.drip(b" " * 1000)

    def do_endless(self, body):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        while True:
            self.wfile.write(chunk)

    def do_gzip_bomb(self, body):
        self.answer(200, gzip.compress(gzip.compress(b" " * 50_000_000)), Content_Encoding="gzip, gzip")

    def do_content_length(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content) + 100))
        self.end_headers()
        self.wfile.write(self.content)
        self.close_connection = True

    def do_overloaded(self, body):
        self.answer(503, b'{"error": {"message": "Model is overloaded"}}', Retry_After="0")

    def do_come_back_tomorrow(self, body):
        self.answer(429, b'{"error": {"message": "quota used up"}}', Retry_After="86400")

    def do_broken(self, body):
        self.answer(500, b'{"error": "no weights"}')

    # --- not what was meant ---

    def do_redirect(self, body):
        self.answer(307, b"", Location="https://login.example.org/v1/embeddings")

    def do_html(self, body):
        self.answer(200, PAGE, "text/html")

    def get_html_models(self):
        self.answer(200, PAGE, "text/html")

    def get_tei(self):
        self.answer(404, b"")

    def get_info(self):
        """Of the origin, as text-embeddings-inference has it."""
        name = self.server.models.get("info")
        self.answer(200 if name else 404, json.dumps({"model_id": name}).encode())

    def get_locked(self):
        self.answer(401, b'{"error": {"message": "no key"}}')

    def do_not_for_embeddings(self, body):
        self.answer(400, b'{"error": {"message": "this model does not make embeddings"}}')

    # --- wrong answers ---

    def do_half_the_rows(self, body):
        self.changed(lambda value: value.update(data=value["data"][:(len(value["data"]) + 1) // 2]))

    def do_duplicate_index(self, body):
        self.each(lambda entry: entry.update(index=0))

    def do_missing_index(self, body):
        self.each(lambda entry: entry.pop("index"))

    def do_wrong_index(self, body):
        self.changed(lambda value: value.update(data=[entry | {"index": len(value["data"]) - 1 - entry["index"]}
                                                      for entry in value["data"]]))

    def do_nulls(self, body):
        self.each(lambda entry: isinstance(entry["embedding"], list) and entry["embedding"].__setitem__(3, None))

    def do_nan(self, body):
        self.each(lambda entry: isinstance(entry["embedding"], list) and entry["embedding"].__setitem__(3, float("nan")))

    def do_strings(self, body):
        self.each(lambda entry: isinstance(entry["embedding"], list) and entry.update(
            embedding=[str(number) for number in entry["embedding"]]))

    def do_always_base64(self, body):
        self.each(lambda entry: isinstance(entry["embedding"], list) and entry.update(
            embedding=wire.encode(entry["embedding"])))

    def do_half_base64(self, body):
        self.each(lambda entry: isinstance(entry["embedding"], str) and entry.update(
            embedding=wire.base64.b64encode(wire.decoded(entry["embedding"], 0, "base64").astype("<f2").tobytes()).decode()))

    def do_other_widths(self, body):
        self.each(lambda entry: entry["index"] and isinstance(entry["embedding"], list) and entry["embedding"].pop())

    def do_html_later(self, body):
        if self.first:
            self.do_well(body)
        else:
            self.do_html(body)

    def do_500_later(self, body):
        if self.first:
            self.do_well(body)
        else:
            self.do_broken(body)

    def do_hangs_later(self, body):
        """Answers the first text, and no other."""
        if self.first:
            self.do_well(body)
        else:
            time.sleep(30)

    def do_no_json_later(self, body):
        if self.first:
            self.do_well(body)
        else:
            self.answer(200, self.content[:-20])

    def do_echoes_the_key(self, body):
        """Puts what it was sent into every place of an answer."""
        sent = self.headers.get("Authorization", "")
        if self.first:
            self.do_well(body)
        else:
            self.answer(400 if self.server.count["echoes_the_key"] % 2 else 200,
                        json.dumps({"error": {"message": f"refused {sent}"}, "data": sent, "model": sent}).encode(),
                        X_Sent=sent)

    def do_dies(self, body):
        """Goes away for good after twenty requests."""
        if self.server.count["dies"] <= 20:
            self.do_well(body)
        else:
            self.do_reset(body)


def closed_port():
    """A port on which nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def unroutable():
    """A listening socket whose queue is full, so that a connection is never made; keep it as long as it is needed."""
    one = socket.socket()
    one.bind(("127.0.0.1", 0))
    one.listen(0)
    held = [one]
    for _ in range(4):
        other = socket.socket()
        other.setblocking(False)
        other.connect_ex(one.getsockname())
        held.append(other)
    return one.getsockname()[1], held

