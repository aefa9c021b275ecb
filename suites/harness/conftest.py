"""What the harness's own tests share."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from embedding_conformance import home


class Command:
    """Runs ``embedding-conformance`` as a user does, in a folder of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}

    def __call__(self, *args: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "embedding_conformance", *args], cwd=self.folder, text=True,
                              capture_output=True, env=self.environment, timeout=timeout, check=False)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


@pytest.fixture
def command(tmp_path):
    """The command, in an empty folder."""
    return Command(tmp_path)


@pytest.fixture(scope="session")
def run_in():
    """The command in a folder that is given: for a run that several tests look at."""
    return Command


@pytest.fixture
def checkout(tmp_path):
    """A copy of the package with its specification and fixtures, to be changed; the command runs from it."""
    copy = tmp_path / "copy"
    for name in ("embedding_conformance", "suites", "fixtures"):
        shutil.copytree(home() / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "harness", "benchmarks"))
    copied = Command(copy)
    copied.environment["PYTHONPATH"] = str(copy)
    return copied
