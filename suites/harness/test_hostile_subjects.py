"""Subjects that misbehave: each costs its own verdict, and nobody else's; nothing is lost without a word."""

import os
import re
import warnings

import numpy as np
import pytest

from embedding_conformance import events
from embedding_conformance.errors import NoVerdict
from embedding_conformance.evidence import ClaimViolation
from embedding_conformance.handles import Embedder, Encoder, Layer
from embedding_conformance.subjects import Subject
from embedding_conformance.subjects.python_object import from_object
from embedding_conformance.surroundings import Surroundings

from .runs import LAYER, alive, evidence_of, last_line, verdicts

EMBEDDER = """
import zlib

def vector(text):
    drawn = np.random.default_rng(zlib.crc32(text.encode())).normal(size=8)
    return drawn / np.linalg.norm(drawn)

class Embedder:
    declares = {"normalized": True}
    buffer = np.empty((1000, 8))
    def embed(self, texts):
        return np.array([vector(text) for text in texts])
"""
ROWS, VECTORS = "return self.w[ids]", "return np.array([vector(text) for text in texts])"
#: what `lookup` does -> the verdict on LOOKUP-01, and what is said
LOOKUPS = {
    "Sound": (ROWS, "verified", ""),
    "Generator": ("return (row for row in self.w[ids])", "verified", ""),
    "ReadOnly": ("out = self.w[ids].copy(); out.flags.writeable = False; return out", "verified", ""),
    "ChangesIds": ("out = self.w[ids]; ids[...] = 0; return out", "verified", ""),
    "Prints": (f"print('x' * 1_000_000); os.write(1, b'y' * 1_000_000); os.write(2, b'z' * 1_000_000); {ROWS}", "verified", ""),
    "NoStreams": (f"sys.stdout = sys.stderr = None; {ROWS}", "verified", ""),
    "Endless": ("import itertools; return (self.w[0] for _ in itertools.count())", "refuted", "returned shape"),
    "Nothing": ("return None", "refuted", "returned None"),
    "Records": ("return np.zeros(np.shape(ids), dtype=[('a', 'f4')])", "refuted", "an array of [('a', '<f4')]"),
    "Complex": ("return self.w[ids].astype(complex)", "refuted", "an array of complex128"),
    "Objects": ("return self.w[ids].astype(object)", "refuted", "an array of object"),
    "Wide": ("return np.broadcast_to(np.float32(0), (*np.shape(ids), 10 ** 15))", "refuted", "returned shape"),
    "Double": ("return self.w[ids].astype(np.float64)", "refuted", "dtype float64"),
    "NotFinite": ("return self.w[ids] * np.nan", "refuted", "not finite"),
    "Noise": ("return self.w[ids] + np.random.normal(size=self.w.shape[1]).astype(np.float32)", "refuted", "numbers differ"),
    "NoRepr": ("class X:\n            def __repr__(self): raise RuntimeError\n        return X()", "refuted",
               "a X whose repr raises RuntimeError"),
    "Converts": ("class X:\n            def __array__(self, *a, **k): sys.exit(0)\n        return X()", "refuted",
                 "returned <mine.Converts"),
    "Detach": ("class X:\n            detach = property(lambda self: {}['x'])\n        return X()", "refuted",
               "returned <mine.Detach"),
    "Exits": ("sys.exit(0)", "refuted", "raised SystemExit: 0"),
    "Interrupts": ("raise KeyboardInterrupt", "refuted", "raised KeyboardInterrupt"),
    "Skips": ("import pytest; pytest.skip('not today')", "refuted", "raised Skipped: not today"),
    "EndsTheSession": ("import pytest; pytest.exit('enough', returncode=0)", "refuted", "raised Exit"),
    "NoMessage": ("class X(Exception):\n            def __str__(self): raise RuntimeError\n        raise X", "refuted",
                  "its message cannot be read"),
    "HalfACharacter": ("raise ValueError('a\\udc80b')", "refuted", "ValueError: a\\udc80b"),
    "Commands": ("raise ValueError('\\x1b[2J\\x07red')", "refuted", "ValueError: \\x1b[2J\\x07red"),
    "Long": ("raise ValueError('x' * 1_000_000)", "refuted", "xxx..."),
    "Terabytes": ("np.ones(10 ** 14)", "refuted", "raised MemoryError"),
    "Recursion": ("return self.lookup(ids)", "refuted", "raised RecursionError"),
}
#: what `embed` does -> the verdict on SHAPE-11, and what is said
EMBEDS = {
    "Generates": ("return (vector(text) for text in texts)", "verified", ""),
    "Lists": ("return [list(vector(text)) for text in texts]", "verified", ""),
    "ChangesTexts": (f"kept = list(texts); texts.clear(); texts = kept; {VECTORS}", "verified", ""),
    "Reuses": ("self.buffer[:len(texts)] = [vector(text) for text in texts]; return self.buffer[:len(texts)]", "verified", ""),
    "Varies": (f"{VECTORS} + np.random.normal(size=(len(texts), 8)) * 1e-3", "refuted", ""),
    "TooFew": (f"{VECTORS}[1:]", "refuted", "returned shape [6, 8]"),
    "Flat": (f"{VECTORS}[0]", "refuted", "returned shape [8]"),
    "Words": ("return ['x' for _ in texts]", "refuted", "returned ['x', 'x'"),
    "Dictionary": ("return {'data': []}", "refuted", "returned {'data': []}"),
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory, run_in):
    """All of them in one run, each of which would spoil the others' if it could."""
    command = run_in(tmp_path_factory.mktemp("judged"))
    code = LAYER + EMBEDDER
    for name, (body, _, _) in LOOKUPS.items():
        code += f"class {name}(Layer):\n    def lookup(self, ids):\n        {body}\n"
    for name, (body, _, _) in EMBEDS.items():
        code += f"class {name}(Embedder):\n    def embed(self, texts):\n        {body}\n"
    command.write("mine.py", code)
    done = command("check", *(f"python:mine.py:{name}" for name in [*LOOKUPS, *EMBEDS]), "-k", "LOOKUP-01 or SHAPE-11", "-v")
    return command, done


def own(judged, claim_id, name):
    claim = next(claim for claim in evidence_of(judged[0])["claims"] if claim["id"] == claim_id)
    return claim["subjects"][f"python:mine.py:{name}"]


@pytest.mark.parametrize("name", LOOKUPS)
def test_a_layer_that_misbehaves_gets_its_own_verdict(judged, name):
    _, verdict, said = LOOKUPS[name]
    found = own(judged, "LOOKUP-01", name)
    assert found["verdict"] == verdict and said in found["reason"], found


@pytest.mark.parametrize("name", EMBEDS)
def test_an_embedder_that_misbehaves_gets_its_own_verdict(judged, name):
    _, verdict, said = EMBEDS[name]
    found = own(judged, "SHAPE-11", name)
    assert found["verdict"] == verdict and said in found["reason"], found


def test_nothing_of_theirs_is_lost_or_reaches_the_terminal(judged):
    command, done = judged
    counted = evidence_of(command)["reconciliation"]
    assert done.returncode == 1 and counted["collected"] == counted["reported"] > 60
    assert len(done.stdout) < 30_000 and "\x1b" not in done.stdout and "Traceback" not in done.stdout + done.stderr
    assert " at 0x" not in (command.folder / "embedding-conformance-report" / "evidence.json").read_text(encoding="utf-8")


DEATHS = {
    "os.kill(os.getpid(), signal.SIGKILL)": "was ended by SIGKILL (as the kernel does where memory is short) in this test",
    "os.closerange(3, 512)": "ended with exit code",
    "signal.alarm(1); time.sleep(60)": "was ended by SIGALRM in this test",
}


def test_each_death_costs_the_test_that_it_happened_in(command):
    code = LAYER + "import signal\n"
    for number, what in enumerate(DEATHS):
        code += f"class Dies{number}(Layer):\n    def lookup(self, ids):\n        if np.ndim(ids) == 2:\n            {what}\n"
        code += f"        {ROWS}\n"
    command.write("mine.py", code)
    done = command("check", *(f"python:mine.py:Dies{number}" for number in range(3)), "-k", "LOOKUP-01 or LOOKUP-04")
    counted = evidence_of(command)["reconciliation"]
    assert done.returncode == 7 and counted["collected"] == counted["reported"] + 3, done.stdout
    assert verdicts(command)["LOOKUP-04"] == "verified" and verdicts(command)["LOOKUP-01"] == "error"
    for one, said in zip(sorted(counted["lost"], key=lambda one: one["subject"]), DEATHS.values(), strict=True):
        assert said in one["why"] and "LOOKUP-01" in one["nodeid"]


def test_a_subject_that_eats_all_memory_ends_in_a_verdict(command):
    """Its process may hold little more than it does already; what it takes, it keeps."""
    command.write("mine.py", LAYER + "import resource\nkept = []\nclass Hoards(Layer):\n    def lookup(self, ids):\n"
                  "        pages = int(open('/proc/self/statm').read().split()[0])\n"
                  "        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2 ** 28,) * 2)\n"
                  "        while True: kept.append(bytearray(2 ** 22))\n")
    done = command("check", "python:mine.py:Hoards", "-k", "LOOKUP-01")
    assert done.returncode in (1, 7) and last_line(done).startswith("verdict="), done.stdout + done.stderr
    counted = evidence_of(command)["reconciliation"]
    assert counted["collected"] == counted["reported"] + len(counted["lost"])
    assert "Traceback" not in done.stdout + done.stderr


def test_pytest_out_of_memory_costs_one_test(command):
    """Where pytest itself can allocate no more it breaks; that is no fault of the harness, and the rest goes on."""
    command.write("mine.py", LAYER + "import json\ndumps = json.dumps\ndef once(*args, **options):\n    json.dumps = dumps\n"
                  "    raise MemoryError\nclass Hoards(Layer):\n    def lookup(self, ids):\n"
                  f"        if np.ndim(ids) == 2: json.dumps = once\n        {ROWS}\n")
    done = command("check", "python:mine.py:Hoards", "-k", "LOOKUP-01 or LOOKUP-04")
    counted = evidence_of(command)["reconciliation"]
    assert done.returncode == 7 and [one["why"] for one in counted["lost"]] == ["the process ran out of memory in this test"]
    assert verdicts(command)["LOOKUP-04"] == "verified"


def test_the_kernel_is_asked_to_end_the_child_where_memory_is_short(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(events.Path, "write_text", lambda path, text, **options: asked.append((str(path), text)))
    events.give_way()
    assert asked == [("/proc/self/oom_score_adj", "1000")]


def test_a_subject_that_comes_back_twice_and_will_not_leave_holds_nothing_up(command):
    """One that forks in every call, starts a thread that never ends, hangs at exit and would not be terminated."""
    command.write("mine.py", LAYER + "import atexit, signal, threading\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                  "atexit.register(time.sleep, 600)\nclass Stays(Layer):\n    def lookup(self, ids):\n        os.fork()\n"
                  "        if threading.active_count() < 9: threading.Thread(target=time.sleep, args=(600,)).start()\n"
                  f"        open('pid', 'w').write(str(os.getpid()))\n        {ROWS}\n")
    done = command("check", "python:mine.py:Stays", "-k", "LOOKUP-01", timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    counted = evidence_of(command)["reconciliation"]
    assert counted["collected"] == counted["reported"]
    assert not alive((command.folder / "pid").read_text())


def test_what_a_subject_changes_in_the_process_does_not_reach_the_others(command):
    """Traps of floating-point numbers made sound formulas fail, PyTorch's settings sound layers."""
    pytest.importorskip("torch")
    command.write("mine.py", LAYER + "import random, warnings\nclass Changes(Layer):\n    def lookup(self, ids):\n"
                  "        import torch\n        torch.set_default_dtype(torch.float64); torch.set_grad_enabled(False)\n"
                  "        torch.set_num_threads(3); torch.manual_seed(0); np.seterr(all='raise'); os.chdir('/')\n"
                  "        warnings.simplefilter('error'); np.set_printoptions(precision=1, threshold=1)\n"
                  f"        os.environ.clear(); sys.setrecursionlimit(200); np.random.seed(0); random.seed(0); {ROWS}\n")
    done = command("check", "python:mine.py:Changes", "formulas", "torch", "python:mine.py:Layer",
                   "-k", "LOOKUP-01 or RETR-03 or RETR-04 or GRAD-02 or COS-01")
    assert done.returncode == 0, done.stdout
    subjects = {subject for claim in evidence_of(command)["claims"] for subject in claim["subjects"]}
    assert subjects == {"python:mine.py:Changes", "formulas", "torch", "python:mine.py:Layer"}


@pytest.mark.parametrize(("read", "change"), [
    (np.geterr, lambda: np.seterr(all="raise")),
    (lambda: np.get_printoptions()["precision"], lambda: np.set_printoptions(precision=1)),
    (os.getcwd, lambda: os.chdir("/")),
    (lambda: dict(os.environ), lambda: os.environ.update(A_NAME="x")),
    (lambda: dict(os.environ), os.environ.clear),
    (lambda: list(warnings.filters), lambda: warnings.simplefilter("error")),
])
def test_a_subject_finds_the_process_as_it_left_it(read, change):
    surroundings, before = Surroundings(), read()
    with surroundings:
        change()
        changed = read()
    assert read() == before != changed
    with surroundings, surroundings:
        assert read() == changed
    assert read() == before
    with Surroundings():
        assert read() == before


def test_a_folder_that_is_gone_does_not_matter(tmp_path):
    surroundings, here = Surroundings(), os.getcwd()
    for _ in range(2):
        with surroundings:
            (tmp_path / "gone").mkdir(exist_ok=True)
            os.chdir(tmp_path / "gone")
            (tmp_path / "gone").rmdir()
        assert os.getcwd() == here


def subject_of(thing, capability):
    facet = capability.partition(".")[0]
    return Subject("x", "", frozenset({capability}), {facet: lambda: thing})


def test_an_answer_is_the_tests_own():
    """A subject that returns one buffer again and again must neither pass by comparing it with itself, nor fail by it."""
    class Reuses:
        buffer = np.empty((9, 2))

        def embed(self, texts):
            self.buffer[:len(texts)] = [[len(text), 1] for text in texts]
            return self.buffer[:len(texts)]

        def hidden_states(self, texts):
            self.buffer[:] = len(texts[0])
            return [self.buffer[:2] for _ in texts]

    embedder = Embedder(subject_of(Reuses(), "embedder.embed"))
    first = embedder.embed(["a"], fresh=True)
    second = embedder.embed(["abc"], fresh=True)
    assert first.tolist() == [[1, 1]] and second.tolist() == [[3, 1]]
    encoder = Encoder(subject_of(Reuses(), "encoder.hidden_states"))
    first, second = encoder.hidden_states(["a"])[0], encoder.hidden_states(["abc"])[0]
    assert (encoder.hidden_states(["a"])[0] == 1).all() and (first == 1).all() and (second == 3).all()


def test_whole_numbers_are_asked_for_where_they_are_due():
    class Odd:
        padding_id = "first"

    with pytest.raises(ClaimViolation, match="padding_id returned 'first'"):
        _ = Layer(subject_of(Odd(), "layer.lookup"), Odd()).padding_id


class Attributes:
    def __getattr__(self, name):
        raise RuntimeError("no attributes today")


def unreadable():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    raise Mute


def interrupts():
    raise KeyboardInterrupt


def shouts():
    raise ValueError("x\n" * 100_000 + "\x1b[2J")


@pytest.mark.parametrize(("factory", "said"), [
    (interrupts, "make raised KeyboardInterrupt: "), (unreadable, "make raised Mute: .its message cannot be read"),
    (shouts, "make raised ValueError: x x x .*"), (lambda: pytest.skip("not today"), "make raised Skipped: not today"),
])
def test_a_factory_that_raises_whatever_is_one_line(factory, said):
    with pytest.raises(NoVerdict, match=said) as caught:
        from_object(factory, "make")
    assert len(str(caught.value)) < 500 and str(caught.value).isprintable()


@pytest.mark.parametrize(("code", "said"), [
    ("import ctypes\ndef make(): print('x' * 1_000_000); ctypes.string_at(0)", "was ended by SIGSEGV"),
    ("class Odd:\n    def __getattr__(self, name): raise RuntimeError('no attributes')\nmake = Odd()",
     "raised RuntimeError: no attributes"),
])
def test_a_subject_that_breaks_while_it_is_loaded_gets_one_message(command, code, said):
    command.write("mine.py", code)
    done = command("check", "python:mine.py:make")
    assert done.returncode == 7 and said in done.stderr and "Traceback" not in done.stderr + done.stdout, done.stderr
    assert len(done.stderr) < 500 and re.match("verdict=inconclusive claims=0 ", last_line(done))
