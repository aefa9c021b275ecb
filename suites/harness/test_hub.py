"""Models by ID: from the hub's cache on this machine, or fetched once from a hub, here a small one on the loopback."""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from embedding_conformance.errors import NoVerdict, UsageError
from embedding_conformance.subjects import hub

from .model_folders import small_bert

pytest.importorskip("huggingface_hub")
REVISION = "5c38ec7" + 33 * "0"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = small_bert(tmp_path_factory.mktemp("model"))
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    return folder


@pytest.fixture
def served(made, monkeypatch, tmp_path):
    """A hub that serves the model org/small; yields the paths that were asked for."""
    asked = []
    names = [path.relative_to(made).as_posix() for path in sorted(made.rglob("*")) if path.is_file()]

    class Hub(BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def answer(self, body):
            path = self.path.partition("?")[0]
            asked.append(path)
            if path.startswith("/api/models/org/small/revision/"):
                data = json.dumps({"id": "org/small", "sha": REVISION, "private": False,
                                   "siblings": [{"rfilename": name} for name in names]}).encode()
            elif path == f"/api/models/org/small/tree/{REVISION}":
                data = json.dumps([{"type": "file", "path": name, "size": (made / name).stat().st_size, "oid": 40 * "0"}
                                   for name in names]).encode()
            elif path.startswith(f"/org/small/resolve/{REVISION}/") and path.split("/", 5)[5] in names:
                data = (made / path.split("/", 5)[5]).read_bytes()
            else:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("ETag", f'"{len(data)}-{hash(data) % 10**9}"')
            self.send_header("X-Repo-Commit", REVISION)
            self.end_headers()
            self.wfile.write(data if body else b"")

        def do_GET(self):
            self.answer(True)

        def do_HEAD(self):
            self.answer(False)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    yield asked
    server.shutdown()
    server.server_close()


def found(rest, scheme="hf"):
    """In a process of its own, since the library reads its settings once."""
    import subprocess

    done = subprocess.run([sys.executable, "-c", "import sys; from embedding_conformance.subjects import hub\n"
                           "from embedding_conformance.errors import Refusal\n"
                           "try: place = hub.find(*sys.argv[1:]); print('found', place.folder, place.title, place.revision)\n"
                           "except Refusal as refusal: print(type(refusal).__name__, refusal)", rest, scheme],
                          capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_model_is_fetched_once_and_without_its_pickle(served, monkeypatch):
    """The revision that the hub names is recorded; the second time nothing is asked."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    first = found("org/small")
    word, _folder, title, revision = first.split()
    assert (word, title, revision) == ("found", "org/small", REVISION)
    names = {path.rpartition("/")[2] for path in served}
    assert "model.safetensors" in names and "pytorch_model.bin" not in names
    count = len(served)
    assert found("org/small") == first and len(served) == count
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert found(f"org/small@{REVISION}") == first and len(served) == count


def test_the_command_fetches_what_it_is_given(served, command):
    """And says which revision it judged."""
    command.environment |= {key: value for key, value in os.environ.items() if key.startswith("HF_")}
    command.environment["HF_HUB_OFFLINE"] = "0"
    done = command("check", "hf:org/small", "-k", "LOOKUP-01 or POOL-08", "--report", str(command.folder / "report"))
    assert "verified=2" in done.stdout, done.stdout + done.stderr
    subject = json.loads((command.folder / "report" / "evidence.json").read_text())["subjects"][0]
    assert subject["facts"]["revision"] == REVISION
    assert any(path.endswith("model.safetensors") for path in served)


def test_offline_nothing_is_asked(served, command):
    """HF_HUB_OFFLINE=1: no verdict, and how to get the model."""
    command.environment |= {key: value for key, value in os.environ.items() if key.startswith("HF_")}
    command.environment["HF_HUB_OFFLINE"] = "1"
    done = command("check", "st:org/small@main")
    assert done.returncode == 7 and served == []
    assert "HF_HUB_OFFLINE is set; fetch it with: hf download org/small --revision main" in done.stderr


def test_a_model_that_the_hub_does_not_have(served, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    said = found("org/other")
    assert said.startswith("NoVerdict hf:org/other: there is no such folder") and "could not be fetched" in said


@pytest.mark.parametrize(("rest", "says"), [
    ("no/such/folder", "there is no folder no/such/folder; name a model directory on this machine, or an ID"),
    (__file__, "is a file"),
    ("../up", "there is no folder ../up"),
])
def test_what_is_no_id_is_a_folder_that_is_not_there(rest, says):
    with pytest.raises(UsageError, match=says):
        hub.find(rest, "hf")


def test_a_folder_has_no_revisions(made):
    with pytest.raises(UsageError, match="folders have no revisions"):
        hub.find(f"{made}@main", "hf")
    assert hub.find(str(made), "st").title == made.name


def test_offline_in_the_caller_s_own_process(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv(hub.MAY_FETCH, raising=False)
    with pytest.raises(NoVerdict, match="HF_HUB_OFFLINE is set"):
        hub.fetched("org/small", "", "hf:org/small")
