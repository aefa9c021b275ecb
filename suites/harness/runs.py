"""Code of tiny subjects, and how to read what a run left."""

from pathlib import Path

from embedding_conformance.report import store

LAYER = """
import ctypes, os, sys, time
import numpy as np

class Layer:
    def __init__(self, table):
        self.w = table.copy()
    def table(self):
        return self.w
    def lookup(self, ids):
        return self.w[ids]
"""


def evidence_of(command, folder="embedding-conformance-report"):
    return store.load(command.folder / folder / "evidence.json")


def last_line(done):
    return done.stdout.rstrip().splitlines()[-1]


def verdicts(command):
    return {claim["id"]: claim["verdict"] for claim in evidence_of(command)["claims"]}


def alive(pid):
    """Whether a process runs; one that has ended and waits to be asked about does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
