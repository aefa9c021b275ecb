"""Services that misbehave: each ends in the right verdict or exit code, in its time, with one message and no traceback."""

import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest

from embedding_conformance.errors import NoVerdict, UsageError
from embedding_conformance.evidence import ClaimViolation
from embedding_conformance.handles import Embedder, Service
from embedding_conformance.redaction import VARIABLE, redacted
from embedding_conformance.report import store
from embedding_conformance.subjects import limits, open_subject, reference_service, service_client, wire
from embedding_conformance.subjects.openai_service import split

from .service_server import Server, closed_port, unroutable

KEY = "sk-test/4d1b7c0a-which-nobody-may-see"


@pytest.fixture(scope="module")
def server():
    one = Server()
    yield one
    one.shutdown()
    one.server_close()


@pytest.fixture
def quick(monkeypatch):
    """A request may take two seconds."""
    monkeypatch.setattr(limits.LIMITS, "seconds", 2.0)
    monkeypatch.delenv(VARIABLE, raising=False)


def opened(name):
    subject = open_subject(name)
    subject.remote.begin()
    return subject


# --- what an address says ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rest", "base", "model"), [
    ("http://h:1/v1", "http://h:1/v1", ""), ("http://h:1/v1/", "http://h:1/v1", ""),
    ("http://h/v1@a/b:c", "http://h/v1", "a/b:c"),
    ("http://localhost:11434@bge-m3", "http://localhost:11434", "bge-m3"), ("http://[::1]:80/v1@m", "http://[::1]:80/v1", "m"),
])
def test_an_address_and_a_model(rest, base, model):
    assert split(rest) == (base, model)


@pytest.mark.parametrize(("name", "said"), [
    ("openai:h:1/v1", "write the whole address"), ("openai:http://", "no address"), ("openai:http://h:99999/v1", "no address"),
    ("openai:http://h/v1?x=1", "no address"), ("openai:http://h/v1#m", "openai:http://h/v1@m"),
    ("openai:http://h/v1@", "a model stands after @"),
    ("openai:http://h/v1/embeddings", "openai:http://h/v1"), ("openai:https://u:pw@h/v1", f"set {VARIABLE} instead"),
    ("openai:", "write openai:URL"), ("http://tei:8080/v1", "for an OpenAI-compatible service write openai:http://tei:8080/v1"),
    ("openai:http://h h/v1", "no address"),
])
def test_what_is_no_address_is_told_how_to_write_it(name, said):
    with pytest.raises(UsageError) as caught:
        open_subject(name)
    assert said in str(caught.value) and "pw" not in str(caught.value)


# --- before the first claim --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "error", "said", "seconds"), [
    ("reset", NoVerdict, "broke off its answer", 1), ("slow-headers", NoVerdict, "did not answer within 2 s", 2),
    ("slow-body", NoVerdict, "did not finish its answer within 2 s", 2), ("endless", NoVerdict, "more than 8 MiB", 2),
    ("gzip-bomb", NoVerdict, "compressed its answer (gzip, gzip), which the request forbids", 1),
    ("content-length", NoVerdict, "broke off its answer", 1),
    ("overloaded", NoVerdict, '503 after 5 tries in 0 s, Retry-After obeyed ("Model is overloaded")', 1),
    ("come-back-tomorrow", NoVerdict, '429 after 1 try in 0 s; it asks to wait 86400 s more ("quota used up")', 1),
    ("broken", NoVerdict, '500 Internal Server Error from http://127.0.0.1:PORT ("no weights") (3 tries', 1),
    ("redirect", UsageError, "it redirects to https://login.example.org, which was not named; not followed", 1),
    ("html", UsageError, "answers POST /embeddings with HTML, not JSON", 1),
    ("not-for-embeddings", UsageError, '400 Bad Request for POST /embeddings with one short text and model reference ("th', 1),
])
def test_a_service_that_cannot_be_judged(server, quick, monkeypatch, how, error, said, seconds):
    monkeypatch.setattr(service_client, "LARGEST", 8 * 2**20)
    subject = open_subject(server.url(how))
    start = time.monotonic()
    with pytest.raises(error) as caught:
        subject.remote.begin()
    assert said.replace("PORT", str(server.server_address[1])) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert time.monotonic() - start < seconds + 3


def test_nobody_listens(quick):
    with pytest.raises(NoVerdict, match=r"^no verdict: http://127.0.0.1:\d+ refused the connection \(3 tries in \d\.\d s\)$"):
        open_subject(f"openai:http://127.0.0.1:{closed_port()}/v1")
    port, held = unroutable()
    with pytest.raises(NoVerdict, match="did not answer within 2 s"):
        open_subject(f"openai:http://127.0.0.1:{port}/v1")
    assert held
    with pytest.raises(NoVerdict, match=r"no-such-host.invalid is a name that cannot be resolved \(3 tries"):
        open_subject("openai:http://no-such-host.invalid/v1")


def test_a_model_is_chosen(server, quick, monkeypatch):
    monkeypatch.setattr(server, "models", {"two": ["a", "bge-m3:latest"], "none": []})
    assert open_subject(server.url("well")).facts["model"] == "reference"
    assert open_subject(server.url("two", "bge-m3")).facts["model"] == "bge-m3:latest"
    for name, said in ((server.url("two"), "several models are served; pick one with @: a, bge-m3:latest"),
                       (server.url("two", "b"), 'model "b" is not served; served are: a, bge-m3:latest'),
                       (server.url("none"), "lists no models (200 OK for GET /models); name one: openai:http"),
                       (server.url("well")[:-3], "404 for GET /models; it answers below /v1: openai:http"),
                       (server.url("html_models"), "answers GET /models with HTML, not JSON"),
                       (server.url("locked"), f"401 Unauthorized: set {VARIABLE}")):
        with pytest.raises(UsageError) as caught:
            open_subject(name)
        assert said in str(caught.value)
    with pytest.raises(UsageError, match=r"404 for POST /embeddings; it answers below /v1: openai:\S*/well/v1@reference"):
        opened(f"{server.url('well')[:-3]}@reference")
    monkeypatch.setattr(server, "models", {"info": "BAAI/bge-m3"})
    assert open_subject(server.url("tei")).facts["model"] == "BAAI/bge-m3"
    with pytest.raises(UsageError, match='model "b" is not served; served are: BAAI/bge-m3'):
        open_subject(server.url("tei", "b"))
    monkeypatch.setenv(VARIABLE, KEY)
    with pytest.raises(UsageError, match=f"401 Unauthorized: the service does not accept {VARIABLE}"):
        open_subject(server.url("locked"))


def test_retry_after_is_seconds_or_a_date():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    later = format_datetime(now + timedelta(seconds=40), usegmt=True)
    for headers, seconds in (({"retry-after": "7"}, 7), ({"retry-after": later, "date": format_datetime(now, usegmt=True)}, 40),
                             ({"retry-after": "soon"}, None), ({}, None)):
        assert service_client.retry_after(wire.Answer(503, headers, b"")) == seconds


# --- vectors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["well", "reordered", "500-twice", "429-then-well"])
def test_vectors_in_the_order_of_the_texts(server, quick, how):
    texts = [f"text {place}" for place in range(70)]
    before = server.count[how.replace("-", "_")]
    found = Embedder(opened(server.url(how))).embed(texts)
    np.testing.assert_array_equal(found, reference_service.vectors(texts))
    assert found.dtype == np.float32
    if how == "well":
        assert server.count["well"] - before == 4  # the first request and three batches


def test_a_refusal_is_an_exception_and_a_wrong_answer_a_violation(server, quick):
    embedder = Embedder(opened(server.url("well")))
    with pytest.raises(ClaimViolation, match=r'embed raised Refused: 400 Bad Request \("input must be a text') as caught:
        embedder.embed(["a", ""])
    assert caught.value.raised
    for how, said in (("half-the-rows", "2 entries for 3 inputs"),
                      ("500-later", r'status 500 Internal Server Error \("no weights"\)'),
                      ("other-widths", r"vectors of \[24, 23, 23\] numbers"), ("html-later", "the answer is HTML")):
        with pytest.raises(ClaimViolation, match=said) as caught:
            Embedder(opened(server.url(how))).embed(["a", "b", "c"])
        assert not caught.value.raised


def test_one_request_that_hangs_is_not_a_service_that_is_gone(server, quick):
    service = Service(opened(server.url("hangs-later")))
    start = time.monotonic()
    with pytest.raises(ClaimViolation, match="did not answer within 2 s, twice; other requests are answered") as caught:
        service.vectors(["b"])
    assert caught.value.raised and time.monotonic() - start < 7


def test_what_is_meant_for_this_machine_goes_through_no_proxy(server, quick, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port()}")
    assert Embedder(opened(server.url("well"))).embed(["a"]).shape == (1, 24)


def test_requests_beyond_the_limit_are_not_sent(server, quick, monkeypatch):
    monkeypatch.setattr(limits.LIMITS, "requests", 2)
    service = Service(opened(server.url("well")))
    service.vectors(["a"])
    with pytest.raises(NoVerdict, match=r"2 requests were sent to \S+, as many as --max-requests allows"):
        service.vectors(["b"])


def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(monkeypatch):
    monkeypatch.setenv(VARIABLE, "sk-with a-blank\u00e9")
    with pytest.raises(UsageError) as caught:
        open_subject("openai:http://127.0.0.1:1/v1")
    assert "blank" not in str(caught.value)
    monkeypatch.setenv(VARIABLE, KEY)
    assert KEY not in json.dumps(redacted({"a": [KEY, f"x{KEY}y"], KEY: 1}))
    assert json.dumps(KEY).replace("/", "\\/") not in redacted(json.dumps(KEY).replace("/", "\\/"))


def test_no_answer_breaks_the_reader(quick):
    """Answers with parts replaced at random are either vectors or violations."""
    draw = np.random.default_rng(5)
    parts = [None, True, -1, 0.5, 10**400, 1e999, "", "AAAA", "\ud800", [], [[]], {}, {"index": 0}, [1, "x"]]
    sound = reference_service.ReferenceService().post(wire.request(["a", "b"], "m"))[2]
    for _ in range(400):
        value = json.loads(sound)
        for _ in range(draw.integers(1, 3)):
            place = value
            while isinstance(place, (dict, list)) and place:
                key = draw.choice(list(place)) if isinstance(place, dict) else int(draw.integers(len(place)))
                if draw.random() < 0.4 or not isinstance(place[key], (dict, list)):
                    place[key] = parts[draw.integers(len(parts))]
                    break
                place = place[key]
        body = json.dumps(value).encode()
        body = body[:draw.integers(len(body))] if draw.random() < 0.1 else body
        for encoding in ("float", "base64"):
            try:
                found = wire.vectors(wire.Answer(200, {}, body), 2, encoding)
            except ClaimViolation:
                continue
            assert found.dtype == np.float32 and np.isfinite(found).all() and found.shape[0] == 2


# --- whole runs --------------------------------------------------------------------------------------------------------


def last_line(done):
    return done.stdout.rstrip().splitlines()[-1]


def test_wrong_answers_refute_the_claims_about_them(server, command):
    """All at once, since each run costs the start of two processes."""
    expected = {
        "well": "", "reordered": "", "half-the-rows": "FIELD-70", "duplicate-index": "FIELD-70", "missing-index": "FIELD-70",
        "wrong-index": "FIELD-71", "nulls": "FIELD-75", "nan": "FIELD-85", "strings": "FIELD-74", "always-base64": "FIELD-74",
        "half-base64": "FIELD-73", "other-widths": "FIELD-76", "html-later": "FIELD-85", "500-later": "FIELD-70",
        "no-json-later": "FIELD-85",
    }
    names = {how: server.url(how) for how in expected}
    selected = ["FIELD-70", "FIELD-71", "FIELD-73", "FIELD-74", "FIELD-75", "FIELD-76", "FIELD-85"]
    done = command("check", *names.values(), "-k", " or ".join(selected))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    found = store.load(command.folder / "embedding-conformance-report" / "evidence.json")
    verdicts = {claim["id"]: {name: one["verdict"] for name, one in claim["subjects"].items()} for claim in found["claims"]}
    failed = {how: [claim for claim in selected if verdicts[claim][name] in ("refuted", "blocked", "error")]
              for how, name in names.items()}
    for how, claim in expected.items():
        assert (claim in failed[how]) if claim else not failed[how], (how, failed[how])
    assert not [one for verdict in verdicts.values() for one in verdict.values() if one == "error"]
    assert not found["reconciliation"]["lost"]


def test_a_service_that_dies_loses_the_claims_that_are_left(server, command):
    server.count["dies"] = 0
    done = command("check", server.url("dies"), "-k", "FIELD-70 or FIELD-79 or FIELD-84",
                   "--facet", "service", "--timeout", "20", "--report", "r")
    assert done.returncode == 7, done.stdout + done.stderr
    assert "broke off its answer" in done.stdout and "Traceback" not in done.stdout + done.stderr
    found = store.load(command.folder / "r" / "evidence.json")
    counted = found["reconciliation"]
    assert counted["lost"] and counted["reported"] and counted["collected"] == counted["reported"] + len(counted["lost"])
    assert last_line(done).startswith("verdict=inconclusive")


def test_a_service_that_is_not_there_ends_a_run_without_a_verdict(command):
    done = command("check", f"openai:http://127.0.0.1:{closed_port()}/v1@bge-m3", "--timeout", "5")
    assert done.returncode == 7
    lines = done.stderr.splitlines()
    assert lines[0].startswith("embedding-conformance: no verdict: http://127.0.0.1:")
    assert "  Nothing was judged. Whether its embeddings are right is unknown." in lines
    assert lines[-2].startswith("  The same from a shell:  curl -sS http://127.0.0.1:") and lines[-2].endswith("/v1/models")
    assert last_line(done).startswith("verdict=inconclusive claims=0 verified=0 refuted=0 error=0")
    assert " reason=unreachable " in last_line(done)


def test_the_number_of_requests_is_said_before_the_first_and_can_be_limited(server, command):
    before = server.count["well"]
    done = command("check", server.url("well"), "-k", "FIELD-70", "--max-requests", "3")
    assert done.returncode == 4 and server.count["well"] == before
    assert done.stderr == (f"embedding-conformance: {server.url('well')}: the claims that are selected need 5 requests with 27 "
                           "texts, and --max-requests allows 3: allow more, or select fewer with -k or --facet\n")
    done = command("check", server.url("well"), "-k", "FIELD-70", "--max-requests", "5")
    assert server.count["well"] - before == 5
    assert "  requests   5 with 27 texts go to http://127.0.0.1:" in done.stdout
    assert done.stdout.index("  requests   5") < done.stdout.index("  field ")
    assert command("check", server.url("well"), "-k", "FIELD-70", "-n", "2").returncode == 4


SAME_AND_OPPOSITE = """
from embedding_conformance.subjects.reference_service import vectors
def same(texts): return vectors(texts)
def opposite(texts): return -vectors(texts)
"""


def test_a_service_is_a_reference_and_is_judged_by_one(server, command):
    """What it will be asked is said first, and is not too little: all of it where the subject differs, and it is asked why."""
    command.write("mine.py", SAME_AND_OPPOSITE)
    for how, function, code, asked in (("agrees", "same", 0, 13), ("differs", "opposite", 1, 26)):
        done = command("check", f"python:mine.py:{function}", "--reference", server.url(how), "-k", "AGREE",
                       "--max-requests", "26")
        assert done.returncode == code, done.stdout + done.stderr
        assert (" refuted=0 error=0 " in last_line(done)) == (code == 0) and " lost=0 " in last_line(done)
        assert f"  requests   26 with 483 texts go to {server.origin}, the reference, at most\n" in done.stdout
        assert server.count[how] == asked
    done = command("check", server.url("judged"), "--reference", "python:mine.py:same", "-k", "AGREE")
    assert done.returncode == 0 and " verified=5 " in last_line(done), done.stdout + done.stderr
    assert command("check", server.url("judged"), "--reference", "python:mine.py:opposite", "-k", "AGREE").returncode == 1


def test_a_reference_on_the_network_is_asked_only_within_its_limits(server, command):
    command.write("mine.py", SAME_AND_OPPOSITE)
    start = "check", "python:mine.py:same", "--reference", server.url("limited"), "-k", "AGREE"
    done = command(*start, "--max-requests", "25")
    assert done.returncode == 4 and not server.count["limited"]
    assert f"--reference {server.url('limited')}: the claims that are selected need 26 requests with 483" in done.stderr
    assert "leave out -n" in command(*start, "-n", "2").stderr


@pytest.mark.parametrize(("how", "code", "says"), [
    ("half-the-rows", 7, "gave no vectors: 16 entries for 32 inputs (bound: 32 entries)"),
    ("500-later", 7, 'gave no vectors: status 500 Internal Server Error ("no weights")'),
    ("redirect", 4, "it redirects to https://login.example.org, which was not named; not followed"),
    ("broken", 7, '500 Internal Server Error from http://127.0.0.1')])
def test_a_reference_that_answers_wrongly_refutes_nobody(server, command, how, code, says):
    command.write("mine.py", SAME_AND_OPPOSITE)
    done = command("check", "python:mine.py:same", "--reference", server.url(how), "-k", "AGREE", "--timeout", "30")
    assert done.returncode == code and " verified=0 refuted=0 " in last_line(done), done.stdout + done.stderr
    assert says in done.stdout + done.stderr and "Exit" not in done.stderr


def test_a_service_is_recorded_once_it_is_said_how_much_it_is_asked(server, command):
    done = command("record", server.url("recorded"), "-o", "monday")
    assert done.returncode == 0 and done.stdout.startswith("requests 13 with 379 texts go to http://127.0.0.1:"), done.stdout
    assert server.count["recorded"] == 13
    assert "it redirects to https://login.example.org" in command("record", server.url("redirect"), "-o", "other").stderr


def test_the_key_is_sent_to_the_service_and_shown_nowhere(server, command):
    command.environment[VARIABLE] = KEY
    server.headers_seen.clear()
    done = command("check", server.url("echoes-the-key"), "--facet", "service", "-v", "--declare", f"weights={KEY}")
    assert done.returncode == 1, done.stdout + done.stderr
    assert all(headers["Authorization"] == f"Bearer {KEY}" for _, headers in server.headers_seen)
    assert f"refused Bearer [{VARIABLE}]" in done.stdout
    written = [path for path in command.folder.rglob("*") if path.is_file()]
    assert {"evidence.json", "events.jsonl", "index.html", "junit.xml", "summary.md"} <= {path.name for path in written}
    for text in (done.stdout, done.stderr, *(path.read_text(encoding="utf-8") for path in written)):
        for form in (KEY, KEY.replace("/", "\\/"), "which-nobody-may-see"):
            assert form not in text
