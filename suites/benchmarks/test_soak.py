"""Nothing grows: the same check again and again in one process, on an object and on one live service.

What is kept is counted, not timed, so the machine may be as busy as it likes.
"""

import gc
import os
import tempfile
import threading
import time
from collections import deque
from pathlib import Path

import pytest

import embedding_conformance
from suites.harness.service_server import Server

from .measure import Layer

TIMES, SECONDS = 30, 120
#: what the allocator may keep: after the first rounds memory is reused, and pages come and go
PAGES = 16 * 2**20


def held():
    """Bytes of memory, threads and files of this process, and entries in the folder for temporary files."""
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resident, threading.active_count(), len(os.listdir("/proc/self/fd")), len(os.listdir(tempfile.gettempdir()))


def timeless(evidence):
    """The evidence without the clock."""
    footer = {key: value for key, value in evidence["footer"].items() if key not in ("seconds", "finished")}
    results = [{key: value for key, value in result.items() if key != "seconds"} for result in evidence["results"]]
    return {key: value for key, value in evidence.items() if key not in ("started", "footer", "results")} | {
        "footer": footer, "results": results}


@pytest.fixture(autouse=True)
def private_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def soak(subject, enough, **options):
    """Check again until it is enough; the numbers after the third and after the last round, and how many rounds there were."""
    first = timeless(embedding_conformance.check(subject, **options).evidence)
    rounds, start, early = 1, time.monotonic(), None
    while not enough(rounds, time.monotonic() - start):
        again = timeless(embedding_conformance.check(subject, **options).evidence)
        assert again == first
        rounds += 1
        if rounds == 3:
            early = held()
    return early, held(), rounds


def judge(measured, what, early, late, rounds):
    measured.add(what, f"{rounds} rounds", 0.0, to="after three rounds", ratio=late[0] / early[0], peak=late[0])
    assert late[1:] == early[1:], ("threads, files, temporary files", early[1:], late[1:])
    assert late[0] - early[0] <= PAGES, (early[0], late[0])


@pytest.mark.benchmark(group="soak")
def test_an_object_checked_thirty_times(benchmark, measured):
    """The same evidence but for times, and nothing kept."""
    judge(measured, "memory, an object", *soak(Layer, lambda rounds, _: rounds >= TIMES))
    benchmark.pedantic(embedding_conformance.check, args=(Layer,), kwargs={"keyword": "LOOKUP-01"}, rounds=1)


@pytest.mark.benchmark(group="soak")
def test_a_live_service_for_two_minutes(benchmark, measured):
    """One service that stays up is asked for two minutes: the same evidence, and no connection left open."""
    server = Server()
    server.headers_seen = deque(maxlen=100)  # what is counted is not what the server of the tests remembers
    try:
        judge(measured, "memory, a service", *soak(server.url("well"), lambda _, seconds: seconds >= SECONDS))
        benchmark.pedantic(embedding_conformance.check, args=(server.url("well"),), kwargs={"keyword": "FIELD-70"}, rounds=1)
    finally:
        server.shutdown()
        server.server_close()
