"""A wheel carries the specification and works in an empty folder, away from the checkout."""

import subprocess
import sys
import zipfile

import pytest

from embedding_conformance import home, in_checkout

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
