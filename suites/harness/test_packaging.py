"""A wheel carries the specification, and works where pip has installed it, in an empty folder away from the checkout."""

import subprocess
import sys
import zipfile
from importlib.metadata import Distribution, distribution

import pytest
from packaging.requirements import Requirement

from embedding_conformance import home, in_checkout
from embedding_conformance.subjects.bundled import folder as model_folder

pytest.importorskip("build")

MINE = """
import numpy as np

class Layer:
    def __init__(self, table): self.w = table.copy()
    def table(self): return self.w
    def lookup(self, ids): return self.w[ids]

def make(table):
    return Layer(table)

def sums_of_words(texts):
    words = [[np.random.default_rng(list(word.encode())).standard_normal(32) for word in text.split()] for text in texts]
    return np.array([np.sum(one, axis=0) + 1e-3 for one in words], np.float32)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, home()], check=True,
                   capture_output=True)
    return next(folder.glob("*.whl"))


def test_it_carries_the_specification_and_not_the_harness_s_own_tests(wheel):
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    for expected in ("suites/lookup/claims.yaml", "suites/lookup/test_row.py", "fixtures/documents.yaml",
                     "fixtures/proof/lookup.json", "pytest.ini", "report/templates/index.html.j2",
                     "report/templates/script.js", "report/evidence.schema.json"):
        assert f"embedding_conformance/{expected}" in names
    assert not [name for name in names if "harness" in name or "benchmarks" in name or "__pycache__" in name]
    (about,) = {name.partition("/")[0] for name in names} - {"embedding_conformance"}
    assert about.endswith(".dist-info")


def installed(names):
    """Distributions by name, those of these requirements and all that they require in turn."""
    found, waiting = {}, list(names)
    while waiting:
        wanted = waiting.pop()
        name = wanted.name.lower().replace("_", "-")
        if name not in found:
            found[name] = distribution(name)
            waiting += required(found[name], *wanted.extras)
    return found


def required(one, *extras):
    return [wanted for wanted in map(Requirement, one.requires or [])
            if wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in ("", *extras))]


class Environment:
    """An environment of its own, in which pip has installed the wheel and nothing else. What that requires is put in from
    the environment of the tests, so that no index is asked.
    """

    def __init__(self, folder, wheel):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        self.bin = folder / "venv" / "bin"
        self.site = next((folder / "venv" / "lib").glob("python*/site-packages"))
        self.folder = folder / "elsewhere"
        self.folder.mkdir()
        self.pip("install", "--no-index", "--no-deps", wheel)
        self.wheel = Distribution.at(next(self.site.glob("embedding_conformance-*.dist-info")))
        self.put_in()

    def pip(self, *args):
        done = subprocess.run([sys.executable, "-m", "pip", "--python", self.bin / "python", *args], cwd=self.folder, text=True,
                              capture_output=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def put_in(self, *extras):
        """All that the wheel requires, alone or with extras."""
        for one in installed(required(self.wheel, *extras)).values():
            for top in {file.parts[0] for file in one.files if file.parts[0] not in ("..", "__pycache__")}:
                if not (self.site / top).exists():
                    (self.site / top).symlink_to(one.locate_file(top))
        self.pip("check")

    def __call__(self, command, *args):
        return subprocess.run([self.bin / command, *args], cwd=self.folder, text=True, capture_output=True, check=False,
                              timeout=300, env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "OMP_NUM_THREADS": "1"})

    def verified(self, *args):
        """How many claims a check verified, once it has found none that fails."""
        done = self("embedding-conformance", *args)
        assert done.returncode == 0, done.stdout + done.stderr
        return int(done.stdout.rpartition(" verified=")[2].split()[0])


def test_an_environment_without_pytorch(wheel, tmp_path):
    """It judges a user's own objects, a reference included; a model says which extra is missing, and is judged once that is
    there, though the bundled model, whose weights it has, is not."""
    environment = Environment(tmp_path, wheel)
    (environment.folder / "mine.py").write_text(MINE)
    assert in_checkout()
    done = environment("python", "-c", "import embedding_conformance as e; print(e.home(), e.in_checkout())")
    assert done.stdout.split() == [str(environment.site / "embedding_conformance"), "False"]
    assert "No module named 'torch'" in environment("python", "-c", "import torch").stderr
    assert environment.verified("check", "python:mine.py:make") > 40
    assert (environment.folder / "embedding-conformance-report" / "index.html").is_file()
    words = "python:mine.py:sums_of_words"
    assert environment("embedding-conformance", "record", words, "-o", "monday").returncode == 0
    assert environment.verified("check", words, "--facet", "embedder", "--reference", "vectors:monday", "-k", "AGREE") == 5
    model = model_folder()
    for subject, says in ((f"st:{model}", "st: needs sentence-transformers: pip install 'embedding-conformance[st]'"),
                          (f"onnx:{model}", "onnx: needs onnxruntime: pip install 'embedding-conformance[onnx]'"),
                          (f"hf:{model}", "needs torch: pip install 'embedding-conformance[st]'")):
        done = environment("embedding-conformance", "check", subject)
        assert (done.returncode, done.stderr.strip().endswith(says)) == (4, True), done.stdout + done.stderr
    pytest.importorskip("sentence_transformers")
    environment.put_in("st")
    for scheme in ("st", "hf"):
        assert environment.verified("check", f"{scheme}:{model}", "-k", "POOL-02 or AGREE-08 or BASE-01") == 3
