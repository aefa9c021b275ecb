"""Runs from outside: verdicts on a user's own code, subjects that misbehave, and a hostile surrounding."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest

from embedding_conformance import home
from embedding_conformance.report import store

from .runs import LAYER, evidence_of, last_line, verdicts

TWO_DIMENSIONS = """
    def lookup(self, ids):
        if np.ndim(ids) == 2:
            {what}
        return self.w[ids]
"""


def test_a_numpy_layer_is_verified_without_torch(command):
    command.write("mine.py", LAYER + "import sys; sys.modules['torch'] = None\n")
    done = command("check", "python:mine.py:Layer")
    assert done.returncode == 0, done.stdout + done.stderr
    assert last_line(done).startswith("verdict=verified claims=")
    assert {path.name for path in (command.folder / "embedding-conformance-report").iterdir()} == {
        ".gitignore", "evidence.json", "events.jsonl", "index.html", "junit.xml", "summary.md"}


def test_a_wrong_row_is_refuted_with_its_place_and_a_command_that_repeats_it(command):
    command.write("mine.py", LAYER.replace("return self.w[ids]", "return self.w[np.asarray(ids) - 1]"))
    done = command("check", "python:mine.py:Layer", "--seed", "7")
    assert done.returncode == 1
    assert verdicts(command)["LOOKUP-01"] == "refuted" and verdicts(command)["LOOKUP-02"] == "blocked"
    assert "expected  [" in done.stdout and "given" in done.stdout
    repeat = next(line for line in done.stdout.splitlines() if line.strip().startswith("repeat"))
    words = repeat.split()[1:]
    assert words == ["embedding-conformance", "check", "python:mine.py:Layer", "--seed", "7", "-k", "LOOKUP-01"]
    again = command(*words[1:])
    assert again.returncode == 1 and "selected=1/" in last_line(again)


def test_a_matrix_normalised_along_the_wrong_axis_is_refuted_on_the_claims_about_it(command):
    command.write("mine.py", "import numpy as np\nclass Matrix:\n    def matrix(self, x):\n"
                             "        n = np.linalg.norm(x, axis=0)\n        u = x / np.where(n == 0, 1, n)\n"
                             "        return u @ u.T\n")
    done = command("check", "python:mine.py:Matrix")
    assert done.returncode == 1
    assert verdicts(command)["SIMM-01"] == verdicts(command)["SIMM-03"] == "refuted"
    assert verdicts(command)["SIMM-02"] == "verified"


@pytest.mark.parametrize(("what", "said"), [
    ("os._exit(3)", "ended with exit code 3"), ("ctypes.string_at(0)", "was ended by SIGSEGV"),
    ("time.sleep(600)", "did not answer for 3 s"),
])
def test_a_subject_that_dies_or_hangs_loses_only_the_tests_it_died_on(command, what, said):
    command.write("mine.py", LAYER + TWO_DIMENSIONS.format(what=what))
    done = command("check", "python:mine.py:Layer", "--timeout", "3", "-k", "LOOKUP-01 or LOOKUP-05 or LOOKUP-04")
    assert done.returncode == 7, done.stdout
    assert said in done.stdout and "Traceback" not in done.stdout + done.stderr
    found = evidence_of(command)
    assert len(found["reconciliation"]["lost"]) == 1
    counted = found["reconciliation"]
    assert counted["collected"] == counted["reported"] + len(counted["lost"])
    assert verdicts(command)["LOOKUP-04"] == verdicts(command)["LOOKUP-05"] == "verified"
    assert verdicts(command)["LOOKUP-01"] == "error"


@pytest.mark.parametrize(("code", "exit_code", "said"), [
    ("def make(): raise ValueError('no weights')", 7, "mine.make raised ValueError: no weights (mine.py:1)"),
    ("def make(): return None", 7, "mine.make returned None"),
    ("import os\ndef make(): os._exit(0)", 7, "python:mine.py:make ended with exit code 0 while it was loaded"),
    ("import time\ndef make(): time.sleep(600)", 7, "python:mine.py:make did not answer for 3 s while it was loaded"),
    ("def make(): raise SystemExit(0)", 7, "mine.make raised SystemExit"),
    ("import nonsense_module", 7, "raised ModuleNotFoundError"),
    ("def make(:", 7, "raised SyntaxError"),
    ("def make(a): pass", 4, "make needs a"),
    ("make = 5", 4, "no facet"),
])
def test_a_subject_that_cannot_be_loaded_gets_one_message_and_its_code(command, code, exit_code, said):
    command.write("mine.py", code)
    done = command("check", "python:mine.py:make", "--timeout", "3")
    assert done.returncode == exit_code
    assert said in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert " claims=0 " in last_line(done)


@pytest.mark.parametrize(("body", "said"), [
    ("return self.w[ids].reshape(-1)", "returned shape"),
    ("return self.w[ids].astype(np.float64)", "dtype float64"),
    ("out = self.w[ids].copy(); out[..., 0] = np.nan; return out", "not finite"),
    ("return None", "returned None"),
    ("raise RuntimeError('broken')", "lookup raised RuntimeError: broken"),
    ("sys.exit(0)", "lookup raised SystemExit"),
    ("return [['x']]", "an array of numbers"),
])
def test_a_wrong_answer_is_a_refutation_not_an_error(command, body, said):
    command.write("mine.py", LAYER.replace("return self.w[ids]", body))
    done = command("check", "python:mine.py:Layer", "-k", "LOOKUP-01")
    assert done.returncode == 1
    assert verdicts(command)["LOOKUP-01"] == "refuted"
    assert said in done.stdout


def test_layers_that_take_fractions_are_refuted(command):
    command.write("mine.py", LAYER.replace("self.w[ids]", "self.w[np.asarray(ids).astype(int)]"))
    assert command("check", "python:mine.py:Layer").returncode == 1
    assert verdicts(command)["LOOKUP-05"] == "refuted" and verdicts(command)["LOOKUP-01"] == "verified"


def test_an_object_whose_table_changes_is_an_error(command):
    command.write("mine.py", LAYER.replace("return self.w[ids]", "self.w[0, 0] += 1; return self.w[ids]")
                  + "layer = Layer(np.ones((4, 3), np.float32))\n")
    done = command("check", "python:mine.py:layer", "-k", "LOOKUP-02")
    assert done.returncode == 1 and verdicts(command)["LOOKUP-02"] == "error"
    assert "is not the same after this test as before" in done.stdout


def test_a_table_that_another_facet_changed_is_found_before_the_next_test_of_the_layer(command):
    """Nothing is compared twice, but what ran in between counts, whichever facet it was of."""
    command.write("mine.py", LAYER + """
    def embed(self, texts):
        self.w[0, 0] += 1
        return np.ones((len(texts), 2), np.float32)
layer = Layer(np.ones((4, 3), np.float32))
""")
    done = command("check", "python:mine.py:layer", "-k", "LOOKUP-02 or RETR-01 or IDSEM-08")
    assert done.returncode == 1 and "its table is not the same as after the test before" in done.stdout, done.stdout
    assert verdicts(command)["LOOKUP-02"] == "verified"


def test_a_table_that_was_finite_and_is_so_no_longer_is_refuted(command):
    """Also within a test that has looked at it before: the subject is at fault, not the test that expects its numbers."""
    command.write("mine.py", LAYER.replace("return self.w[ids]", "rows = self.w[ids]; self.w[0, 0] = np.nan; return rows")
                  + "layer = Layer(np.ones((4, 3), np.float32))\n")
    done = command("check", "python:mine.py:layer", "-k", "LOOKUP-01 or LOOKUP-05", "-v")
    assert done.returncode == 1 and "table returned 1 of 12 numbers that are not finite" in done.stdout, done.stdout
    assert "the table is not the same after this test as before" in done.stdout and "HarnessFault" not in done.stdout


def test_a_hostile_surrounding_changes_nothing(command):
    command.write("mine.py", LAYER)
    assert command("check", "python:mine.py:Layer").returncode == 0
    before = verdicts(command)
    command.write("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "--cov-fail-under=100 -W error --no-such-option"\n')
    command.write("conftest.py", "raise RuntimeError('the caller s conftest')\n")
    for name in ("suites", "fixtures", "reports", "plugin", "claims"):
        command.write(f"{name}.py", "raise RuntimeError('a module of the caller s')\n")
    command.environment |= {"PYTEST_ADDOPTS": "--boom", "PYTEST_PLUGINS": "nonsense", "PYTHONWARNINGS": "error"}
    done = command("check", "python:mine.py:Layer")
    assert done.returncode == 0, done.stdout + done.stderr
    assert verdicts(command) == before


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_reports_what_was_finished(command, how):
    command.write("mine.py", LAYER + TWO_DIMENSIONS.format(what="time.sleep(600)"))
    process = subprocess.Popen([sys.executable, "-m", "embedding_conformance", "check", "python:mine.py:Layer"],
                               cwd=command.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=command.environment)
    events = command.folder / "embedding-conformance-report" / "events.jsonl"
    for _ in range(600):
        if events.is_file() and '"result"' in events.read_text(encoding="utf-8"):
            break
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(how)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 2, out + err
    assert out.rstrip().splitlines()[-1].startswith("verdict=interrupted")
    found = evidence_of(command)
    assert found["footer"]["complete"] is False and found["results"]
    assert "incomplete" in (events.parent / "index.html").read_text(encoding="utf-8")


def test_what_a_killed_run_finished_can_be_reported(command):
    command.write("mine.py", LAYER.replace("return self.w[ids]", "time.sleep(0.02)\n        return self.w[ids]"))
    process = subprocess.Popen([sys.executable, "-m", "embedding_conformance", "check", "python:mine.py:Layer"],
                               cwd=command.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=command.environment)
    folder = command.folder / "embedding-conformance-report"
    for _ in range(600):
        if (folder / "events.jsonl").is_file() and '"result"' in (folder / "events.jsonl").read_text(encoding="utf-8"):
            break
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert not (folder / "evidence.json").exists()
    done = command("report", "embedding-conformance-report/events.jsonl", "-o", "late")
    assert done.returncode == 2 and done.stdout.startswith("verdict=interrupted"), done.stdout + done.stderr
    found = store.load(command.folder / "late" / "evidence.json")
    assert found["footer"]["complete"] is False and found["results"] and found["reconciliation"]["not_run"]
    assert "This run is incomplete" in (command.folder / "late" / "index.html").read_text(encoding="utf-8")
    command.write("bad.jsonl", "{}\n")
    assert command("report", "bad.jsonl", "-o", "x.html").returncode == 4


def test_a_full_disk_ends_a_run_with_a_message_and_not_in_green(command):
    command.write("mine.py", LAYER)
    limit = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)); " \
            "sys.argv = ['x', 'check', 'python:mine.py:Layer']; runpy.run_module('embedding_conformance', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", limit], cwd=command.folder, env=command.environment, text=True,
                          capture_output=True, timeout=120, check=False)
    assert done.returncode == 3 and "Traceback" not in done.stderr, done.stdout + done.stderr
    assert "the report could not be written" in done.stderr
    late = command("report", "embedding-conformance-report/events.jsonl", "-o", "late.json")
    found = store.load(command.folder / "late.json")
    assert late.returncode == 2 and found["results"] and not found["footer"]["complete"]


def test_stopping_at_the_first_failure_counts_what_was_not_run(command):
    command.write("mine.py", LAYER.replace("return self.w[ids]", "return self.w[np.asarray(ids) - 1]"))
    done = command("check", "python:mine.py:Layer", "-x")
    counted = evidence_of(command)["reconciliation"]
    assert done.returncode == 1 and counted["not_run"]
    assert counted["collected"] == counted["reported"] + len(counted["not_run"])


def test_two_processes_give_the_same_evidence(command):
    pytest.importorskip("xdist")
    command.write("mine.py", LAYER)
    alone = command("check", "python:mine.py:Layer")
    one = evidence_of(command)
    pair = command("check", "python:mine.py:Layer", "-n", "2")
    two = evidence_of(command)
    assert alone.returncode == pair.returncode == 0, pair.stdout + pair.stderr
    for found in (one, two):
        del found["footer"], found["command"], found["started"]
        for result in found["results"]:
            del result["seconds"]
    assert one == two


def test_a_selection_decides_alone_and_says_so(command):
    command.write("mine.py", LAYER)
    done = command("check", "python:mine.py:Layer", "-k", "LOOKUP-02")
    assert done.returncode == 0 and "selected=1/" in last_line(done)
    assert command("check", "python:mine.py:Layer", "-k", "no_such_word").returncode == 5
    assert command("check", "python:mine.py:Layer", "-k", "LOOKUP-08").returncode == 5  # it applies to nothing
    assert command("check", "python:mine.py:Layer", "--facet", "encoder").returncode == 4


def test_a_vacuous_test_and_one_without_its_subject_are_errors(checkout):
    chapter = checkout.folder / "suites" / "lookup"
    (chapter / "test_vacuous.py").write_text(
        "import pytest\n"
        '@pytest.mark.claim("LOOKUP-01")\ndef test_compares_nothing(layer, evidence):\n    layer.table()\n\n'
        '@pytest.mark.claim("LOOKUP-02")\ndef test_calls_nothing(layer, evidence):\n    evidence.equal(1, 1)\n\n'
        '@pytest.mark.claim("LOOKUP-03")\ndef test_breaks(layer, evidence):\n    layer.table()\n    {}["x"]\n',
        encoding="utf-8")
    checkout.write("mine.py", LAYER)
    done = checkout("check", "python:mine.py:Layer", "--report", "r", "-k", "LOOKUP-01 or LOOKUP-02 or LOOKUP-03")
    assert done.returncode == 1
    found = store.load(checkout.folder / "r" / "evidence.json")
    reasons = {claim["id"]: (claim["verdict"], claim["reason"]) for claim in found["claims"]}
    assert reasons["LOOKUP-01"] == ("error", "the test passed without a comparison, so it shows nothing")
    assert reasons["LOOKUP-02"] == ("error", "the test never called its subject, so it shows nothing about it")
    assert reasons["LOOKUP-03"][0] == "error" and "KeyError" in reasons["LOOKUP-03"][1]


def test_a_suite_that_cannot_be_collected_is_a_fault_of_the_harness(checkout):
    path = checkout.folder / "suites" / "lookup" / "test_row.py"
    path.write_text("import no_such_module_at_all\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    checkout.write("mine.py", LAYER)
    done = checkout("check", "python:mine.py:Layer", "--report", "r")
    assert done.returncode == 3, done.stdout
    assert "the harness broke" in done.stdout and "no_such_module_at_all" in done.stdout


@pytest.mark.parametrize(("name", "old", "new", "said"), [
    ("suites/lookup/claims.yaml", "needs:", "neds:", 'unknown key "neds"; did you mean "needs"?'),
    ("suites/lookup/test_row.py", 'claim("LOOKUP-01")', 'claim("LOOKUP-91")', "is no claim"),
    ("suites/catalogue.yaml", "version:", "version", "expected `version:`"),
    ("fixtures/proof/lookup.json", "{", "", "not valid JSON"),
])
def test_a_broken_file_of_the_specification_is_refused(checkout, name, old, new, said):
    path = checkout.folder / name
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(old, new, 1) if "claim(" not in old else text.replace(old, new), encoding="utf-8")
    checkout.write("mine.py", LAYER)
    done = checkout("check", "python:mine.py:Layer", "--report", "r")
    assert done.returncode == 4
    assert said in done.stderr + done.stdout and "Traceback" not in done.stderr + done.stdout


def test_plain_pytest_says_how_a_failure_is_repeated_and_that_command_fails_alike(command):
    """What was declared is part of the question."""
    command.write("mine.py", LAYER.replace("self.w[ids]", "self.w[np.asarray(ids).astype(int) % len(self.w)]"))
    promises = ["out_of_range_below=raise", "out_of_range_above=raise"]
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(home() / "suites" / "lookup"),
             "-k", "LOOKUP-08", "--conformance-subject=python:mine.py:Layer",
             *(f"--conformance-declare={promise}" for promise in promises)]
    done = subprocess.run(words, cwd=command.folder, env=os.environ, text=True, capture_output=True, check=False)
    said = re.search(r"^ +repeat +embedding-conformance (.*)$", done.stdout, re.MULTILINE)
    assert done.returncode == 1 and said, done.stdout + done.stderr
    again = shlex.split(said[1])
    assert sorted(again[3:6:2]) == sorted(promises) and again[2:6:2] == ["--declare", "--declare"]
    assert command(*again).returncode == 1 and verdicts(command)["LOOKUP-08"] == "refuted"
