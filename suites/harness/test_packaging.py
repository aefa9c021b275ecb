"""A wheel carries the specification and works in an empty folder, away from the checkout."""

import subprocess
import sys
import zipfile
from importlib.metadata import distribution

import pytest
from packaging.requirements import Requirement

from embedding_conformance import home, in_checkout

from .model_folders import small_bert

pytest.importorskip("build")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The wheel, built without a network and unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, home()], check=True,
                   capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder / "site")
    return folder / "site"


def test_it_carries_the_specification_and_not_the_harness_s_own_tests(unpacked):
    names = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*")}
    for expected in ("suites/lookup/claims.yaml", "suites/lookup/test_row.py", "fixtures/documents.yaml",
                     "fixtures/proof/lookup.json", "pytest.ini", "report/templates/index.html.j2",
                     "report/templates/script.js", "report/evidence.schema.json"):
        assert f"embedding_conformance/{expected}" in names
    assert not [name for name in names if "harness" in name or "benchmarks" in name or "__pycache__" in name]
    assert {name.partition("/")[0] for name in names} <= {"embedding_conformance", next(
        name for name in names if name.endswith(".dist-info"))}


def test_it_judges_a_layer_from_an_empty_folder(unpacked, command):
    assert in_checkout()
    command.environment["PYTHONPATH"] = str(unpacked)
    command.write("mine.py", "class Layer:\n    def __init__(self, table): self.w = table.copy()\n"
                             "    def table(self): return self.w\n    def lookup(self, ids): return self.w[ids]\n")
    done = command("check", "python:mine.py:Layer")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (command.folder / "embedding-conformance-report" / "index.html").is_file()
    done = subprocess.run([sys.executable, "-c", "import embedding_conformance as e; print(e.home(), e.in_checkout())"],
                          env=command.environment, cwd=command.folder, text=True, capture_output=True, check=True)
    assert done.stdout.split() == [str(unpacked / "embedding_conformance"), "False"]


def closure(*names):
    """Distributions by name with all that they require, without any extras."""
    found, waiting = {}, [Requirement(name) for name in names]
    while waiting:
        name = waiting.pop().name.lower().replace("_", "-")
        if name not in found:
            found[name] = distribution(name)
            wanted = map(Requirement, found[name].requires or [])
            waiting += [one for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found


class Environment:
    """An environment of its own that holds the unpacked wheel and the distributions that are put in, and nothing else."""

    def __init__(self, folder, unpacked):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        self.python = folder / "venv" / "bin" / "python"
        self.site = next((folder / "venv" / "lib").glob("python*/site-packages"))
        for path in unpacked.iterdir():
            (self.site / path.name).symlink_to(path)

    def put_in(self, *names):
        for one in closure(*names).values():
            for top in {file.parts[0] for file in one.files if file.parts[0] not in ("..", "__pycache__")}:
                if not (self.site / top).exists():
                    (self.site / top).symlink_to(one.locate_file(top))

    def __call__(self, folder, *args):
        return subprocess.run([self.python, *args], cwd=folder, text=True, capture_output=True, check=False, timeout=300,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1"})


def test_an_environment_without_pytorch(unpacked, tmp_path):
    """It judges a user's own object; a model says which extra is missing, and is judged once that is there."""
    environment = Environment(tmp_path, unpacked)
    core = [one.split(";")[0] for one in next(unpacked.glob("*.dist-info/METADATA")).read_text().splitlines()
            if one.startswith("Requires-Dist:") and "extra ==" not in one]
    environment.put_in(*(one.removeprefix("Requires-Dist:").strip() for one in core))
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "mine.py").write_text("class Layer:\n    def __init__(self, table): self.w = table.copy()\n"
                                    "    def table(self): return self.w\n    def lookup(self, ids): return self.w[ids]\n"
                                    "def make(table): return Layer(table)\n")
    assert "No module named 'torch'" in environment(folder, "-c", "import torch").stderr
    done = environment(folder, "-m", "embedding_conformance", "check", "python:mine.py:make")
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "model").mkdir()
    model = small_bert(tmp_path / "model")
    for subject, says in ((f"st:{model}", "st: needs sentence-transformers: pip install 'embedding-conformance[st]'"),
                          (f"onnx:{model}", "onnx: needs onnxruntime: pip install 'embedding-conformance[onnx]'"),
                          (f"hf:{model}", "needs torch: pip install 'embedding-conformance[default]'")):
        done = environment(folder, "-m", "embedding_conformance", "check", subject)
        assert (done.returncode, done.stderr.strip().endswith(says)) == (4, True), done.stdout + done.stderr
    pytest.importorskip("sentence_transformers")
    environment.put_in("sentence-transformers")
    done = environment(folder, "-m", "embedding_conformance", "check", f"st:{model}", "-k", "POOL-02 or POOL-08")
    assert done.returncode == 0 and "verified=2" in done.stdout, done.stdout + done.stderr
