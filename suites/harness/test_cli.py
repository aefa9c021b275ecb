"""The command without a run: help, claims, usage."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from embedding_conformance import __version__, cli, run
from embedding_conformance.errors import UsageError


def test_listing_and_explaining_need_neither_torch_nor_numpy(command):
    code = ("import sys\nfrom embedding_conformance.cli import cli\n"
            "cli(['claims', 'LOOKUP-01'], standalone_mode=False)\n"
            "print([name for name in ('torch', 'numpy', 'transformers', 'pytest', 'jinja2') if name in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)
    assert done.stdout.rstrip().splitlines()[-1] == "[]"


def test_a_claim_in_full(command):
    done = command("claims", "lookup-01")
    assert done.returncode == 0
    for part in ("A lookup returns the row", "按 id 取出", "000:78", "layer.lookup", "suites/lookup/test_row.py:",
                 "lookup/row-minus-one", "embedding-conformance check -k LOOKUP-01"):
        assert part in done.stdout


@pytest.mark.parametrize(("what", "found"), [("order", "ORDER-01"), ("002:310", "SIMM-01"), ("对角线", "SIMM-03"),
                                             ("002:300-306", "SIMM-05")])
def test_claims_by_word_and_by_line(command, what, found):
    done = command("claims", what)
    assert done.returncode == 0 and found in done.stdout


def test_all_claims_in_a_line_each(command):
    lines = command("claims").stdout.splitlines()
    assert lines[-1].endswith("embedding-conformance claims AGREE-01")
    assert len([line for line in lines if line.startswith("LOOKUP-")]) == 13


def test_a_word_that_no_claim_speaks_of(command):
    done = command("claims", "LOKUP-01")
    assert done.returncode == 4 and 'did you mean "LOOKUP-01"' in done.stderr


@pytest.mark.parametrize(("words", "processors", "expected"), [
    ([], 2, 2), ([], 1, 0), (["-n", "0"], 2, 0), (["-n", "3"], 1, 3), (["formulas"], 2, 0), (["-k", "LOOKUP-01"], 2, 0),
    (["-x"], 2, 0), (["--reference", "bundled"], 2, 0),
])
def test_the_whole_reference_stack_has_two_processes_and_nothing_else_has(tmp_path, monkeypatch, words, processors, expected):
    asked = []

    def execute(plan, *_):
        asked.append(plan.workers)
        raise UsageError("far enough")

    monkeypatch.setattr(run, "execute", execute)
    monkeypatch.setattr(cli.os, "sched_getaffinity", lambda _: set(range(processors)))
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(cli.cli, ["check", *words, "--report", "out"])
    assert asked == [expected]


def test_help_and_version(command):
    for args in (["--help"], ["-h"], [], ["check", "--help"], ["claims", "-h"], ["prove", "-h"]):
        done = command(*args)
        assert done.returncode == 0 and done.stdout.startswith("Usage: ")
    assert command("--version").stdout.strip() == f"embedding-conformance {__version__}"


@pytest.mark.parametrize("args", [
    ["chek"], ["check", "--bogus"], ["check", "--seed", "x"], ["check", "--documents", "/no/such/folder"],
    ["check", "--declare", "foo=1"], ["check", "--facet", "layr"], ["prove", "-k", "x", "--write"], ["check", "-n", "x"],
    ["check", "-k", "(("],
])
def test_wrong_usage_is_one_message_and_exit_4(command, args):
    done = command(*args)
    assert done.returncode == 4, done.stdout + done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 and done.stderr.startswith("embedding-conformance: ")
    assert "Traceback" not in done.stdout + done.stderr
    if args[0] == "check":
        assert done.stdout.rstrip().splitlines()[-1].startswith("verdict=unusable claims=0 ")


def test_a_report_folder_that_cannot_be_written_is_told_before_the_run(command):
    command.write("file", "")
    done = command("check", "--report", "file/below")
    assert done.returncode == 4 and "cannot write there" in done.stderr
