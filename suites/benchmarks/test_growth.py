"""A check costs in proportion to what it is given: subjects, claims, texts, stored vectors.

Each size is a whole run in a process of its own. The sizes take turns, and the least of the rounds counts, since noise only
adds.
"""

import inspect
import re
import shutil

import pytest

from embedding_conformance import home
from embedding_conformance.report import store

from .floor import VECTORS
from .measure import Layer, Used, process

ROUNDS = 3
#: of what is proportional the time doubles, and of what is quadratic it grows fourfold; this lies between them
DOUBLING = 3
MIB = 2**20

SUBJECTS = (1, 2, 4, 8, 32)
CLAIMS = (1, 4, 16)
TEXTS = (200, 2_000, 20_000, 60_000, 180_000)

LAYER = f"import numpy as np\n\n\n{inspect.getsource(Layer)}"
EMBEDDER = """
from zlib import crc32

import numpy as np

WORDS = np.random.default_rng(0).standard_normal((4096, 64))


class Embedder:
    declares = {"normalized": True}

    def embed(self, texts):
        rows = np.stack([WORDS[[crc32(repr(word).encode()) % 4096 for word in f"a {text}".split()]].sum(0)
                         for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
"""


def check(folder, *arguments):
    """What a run used, and its last line, once that is seen to be of a sound subject."""
    used, said = process("-m", "embedding_conformance", "check", *arguments, "-q", "--report", "report", folder=folder)
    last = said.splitlines()[-1]
    assert " refuted=0 error=0 " in last and " lost=0 " in last, said[-2000:]
    return used, last


def least(runs):
    """The least that each of several runs used."""
    rounds = [[run() for run in runs] for _ in range(ROUNDS)]
    return [Used(*map(min, zip(*turns, strict=True))) for turns in zip(*rounds, strict=True)]


@pytest.mark.benchmark(group="growth")
def test_subjects(benchmark, measured, tmp_path):
    """One layer under eight names: the time is proportional, and memory is that of one subject and a little for results."""
    (tmp_path / "layers.py").write_text(LAYER + "\n\n" + "\n".join(
        f"class Layer{number}(Layer):\n    pass" for number in range(SUBJECTS[-1])), encoding="utf-8")

    def run(count):
        return check(tmp_path, *(f"python:layers.py:Layer{number}" for number in range(count)))[0]
    used = least([lambda count=count: run(count) for count in SUBJECTS])
    grows = measured.grown("check, layers", "subjects", SUBJECTS, used)
    benchmark.pedantic(run, args=(1,), rounds=1)
    assert grows <= DOUBLING
    assert used[-1].peak - used[0].peak <= 3 * MIB * (SUBJECTS[-1] - SUBJECTS[0])


def multiplied(folder, times):
    """A copy of the package with the chapter `lookup` so often, each time under other names; nothing of it is changed else."""
    for name in ("embedding_conformance", "suites", "fixtures"):
        shutil.copytree(home() / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "harness", "benchmarks"))
    source = folder / "suites" / "lookup"
    known = set(re.findall(r"^- id: (\S+)", (source / "claims.yaml").read_text(encoding="utf-8"), re.MULTILINE))
    for letter in map(chr, range(ord("A"), ord("A") + times - 1)):
        copy = shutil.copytree(source, folder / "suites" / f"lookup_{letter.lower()}")
        shutil.copytree(folder / "fixtures" / "baselines" / "lookup", folder / "fixtures" / "baselines" / copy.name)
        for path in copy.glob("*.*"):
            text = path.read_text(encoding="utf-8")
            for claim in known:
                text = text.replace(claim, claim.replace("-", f"{letter}-"))
            path.write_text(text, encoding="utf-8")


@pytest.mark.benchmark(group="growth")
def test_claims(benchmark, measured, tmp_path, monkeypatch):
    """One chapter under up to sixteen names, all of it judged: the time is proportional."""
    for times in CLAIMS:
        multiplied(tmp_path / str(times), times)
        (tmp_path / str(times) / "layers.py").write_text(LAYER, encoding="utf-8")

    counts = {}

    def run(times):
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / str(times)))
        used, last = check(tmp_path / str(times), "python:layers.py:Layer", "-k", "lookup")
        counts[times] = int(re.search(r" selected=(\d+)/", last)[1])
        return used
    used = least([lambda times=times: run(times) for times in CLAIMS])
    assert counts[CLAIMS[-1]] > 10 * counts[CLAIMS[0]]
    grows = measured.grown("check, a layer", "claims", list(counts.values()), used)
    benchmark.pedantic(run, args=(1,), rounds=1)
    assert grows <= DOUBLING


@pytest.mark.benchmark(group="growth")
def test_texts(benchmark, measured, tmp_path):
    """Texts of a user's own, with a model that costs next to nothing: time is proportional, and so is memory."""
    (tmp_path / "hashed.py").write_text(EMBEDDER, encoding="utf-8")
    for count in TEXTS:
        (tmp_path / f"{count}.txt").write_text("".join(f"text {number} of {number * 7919 % 1009}\n" for number in range(count)),
                                               encoding="utf-8")
    subject = "python:hashed.py:Embedder"

    def run(count):
        return check(tmp_path, subject, "--reference", subject, "--texts", f"{count}.txt", "-k", "AGREE")[0]
    used = least([lambda count=count: run(count) for count in TEXTS])
    grows = measured.grown("check with a reference", "texts", TEXTS, used)
    benchmark.pedantic(run, args=(TEXTS[0],), rounds=1)
    assert grows <= DOUBLING
    assert used[-1].peak - used[-2].peak <= 6_000 * (TEXTS[-1] - TEXTS[-2])


@pytest.mark.benchmark(group="growth")
def test_stored_vectors(benchmark, measured, tmp_path):
    """A million rows: the pass over them has at least 60 % of the bandwidth with which the same numbers are read and added
    up, it is proportional, and memory is that of ten thousand rows."""
    process("-m", "suites.benchmarks.floor", "vectors", str(tmp_path), folder=home())

    def run(count):
        used, _ = check(tmp_path, f"vectors:{count}.npy", "--declare", "normalized=true")
        results = store.load(tmp_path / "report" / "evidence.json")["results"]
        return used._replace(seconds=sum(one["seconds"] for one in results))
    used = least([lambda count=count: run(count) for count in VECTORS])
    grows = measured.grown("the tests of stored vectors", "rows", VECTORS, used)
    file = str(tmp_path / f"{VECTORS[-1]}.npy")
    floor, judged = (min(float(process("-m", "suites.benchmarks.floor", what, file, folder=home())[1]) for _ in range(ROUNDS))
                     for what in ("sum", "pass"))
    measured.add("reading and adding up", f"{VECTORS[-1]:,} rows", floor, to="itself", ratio=1.0)
    measured.add("the pass that judges them", f"{VECTORS[-1]:,} rows", judged, to="adding up", ratio=judged / floor)
    measured.add("the tests of stored vectors", f"{VECTORS[-1]:,} rows", used[-1].seconds, to="adding up",
                 ratio=used[-1].seconds / floor, peak=used[-1].peak)
    benchmark.pedantic(run, args=(VECTORS[0],), rounds=1)
    assert grows <= DOUBLING
    assert judged <= floor / 0.6
    assert used[-1].seconds <= 4 * floor
    assert used[-1].peak <= 1.2 * used[0].peak
