"""What may happen to a run while it lasts: signals, deaths, disks, clocks, terminals. A report is whole or says so."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from embedding_conformance import run
from embedding_conformance.errors import UsageError
from embedding_conformance.interrupts import Interrupts
from embedding_conformance.report import claimed, store

from .runs import LAYER, alive, evidence_of, last_line, verdicts

#: in the folder of the run: `here` appears when a phase is reached, and it goes on when there is `go`
PAUSE = """
def pause():
    import os, pathlib, time
    pathlib.Path({folder!r}, "pid").write_text(str(os.getpid()))
    pathlib.Path({folder!r}, "here").touch()
    while not pathlib.Path({folder!r}, "go").exists():
        time.sleep(0.02)
"""
#: where the child is held up: what is added to the subject's file
CHILD = {
    "opening": "pause()\n",
    "collection": "from embedding_conformance import collection\ncollection.arrange = lambda *args: pause()\n",
    "running": "class Layer(Layer):\n    def lookup(self, ids):\n        np.ndim(ids) == 2 and pause()\n"
               "        return self.w[ids]\n",
}
#: where the process that the user started is held up: what is done before the command
PARENT = {
    "loading": "from embedding_conformance import cli\nbefore = cli.load\ncli.load = lambda: (pause(), before())[1]\n",
    "writing": "from embedding_conformance import report\nbefore = report.FILES['junit.xml']\n"
               "report.FILES['junit.xml'] = lambda evidence: (pause(), before(evidence))[1]\n",
}
CHECK = [sys.executable, "-m", "embedding_conformance", "check", "python:mine.py:Layer"]
REPORT = {".gitignore", "evidence.json", "events.jsonl", "index.html", "junit.xml", "summary.md"}


@pytest.fixture
def started(command):
    """Start a run that is held up in a phase, and wait until it is there."""
    processes = []

    def start(phase, *args, claims="LOOKUP-01 or LOOKUP-04 or LOOKUP-05"):
        pause = PAUSE.format(folder=str(command.folder))
        command.write("mine.py", LAYER + pause + CHILD.get(phase, ""))
        code = pause + PARENT.get(phase, "") + "from embedding_conformance.cli import main\nmain()\n"
        process = subprocess.Popen([sys.executable, "-c", code, "check", "python:mine.py:Layer", "-k", claims, *args],
                                   cwd=command.folder, env=command.environment, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        processes.append(process)
        until((command.folder / "here").exists)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()


def until(condition, seconds=60):
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def folder_of(command):
    return command.folder / "embedding-conformance-report"


def held_up(command):
    return (command.folder / "pid").read_text(encoding="ascii")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("phase", [*CHILD, *PARENT])
def test_a_signal_ends_a_run_with_a_report(command, started, phase, how):
    process = started(phase)
    process.send_signal(how)
    if phase in PARENT:
        time.sleep(0.1)
        (command.folder / "go").touch()
    out, err = process.communicate(timeout=60)
    assert not err and "Traceback" not in out, out + err
    found = evidence_of(command)
    assert {path.name for path in folder_of(command).iterdir()} == REPORT
    counted = found["reconciliation"]
    assert counted["collected"] == counted["reported"] + len(counted["not_run"]) and not counted["lost"]
    if phase == "writing":  # everything had been judged, and the report was finished
        assert process.returncode == 0 and found["footer"]["complete"] and last_line_of(out).startswith("verdict=verified ")
        return
    assert process.returncode == 2 and not found["footer"]["complete"]
    assert last_line_of(out).startswith("verdict=interrupted ")
    assert phase in PARENT or not alive(held_up(command))


def last_line_of(out):
    return out.rstrip().splitlines()[-1]


def test_a_closed_terminal_ends_a_run_with_a_report(command, started):
    process = started("running")
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    assert process.returncode == 2 and evidence_of(command)["footer"]["complete"] is False


def test_a_second_signal_ends_a_run_at_once(command, started):
    process = started("loading")
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2 and err == "embedding-conformance: interrupted\n"
    assert last_line_of(out).startswith("verdict=interrupted ")


def test_signals_are_noted_and_then_obeyed_and_the_handlers_come_back():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with Interrupts() as interrupts:
        assert not interrupts.received
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.received
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]


def test_a_killed_child_costs_the_test_that_it_was_in(command, started):
    process = started("running")
    child = int(held_up(command))
    os.kill(child, signal.SIGSTOP)
    (command.folder / "go").touch()  # for the child that follows
    os.kill(child, signal.SIGKILL)
    out, _ = process.communicate(timeout=60)
    counted = evidence_of(command)["reconciliation"]
    assert counted["collected"] == counted["reported"] + 1 == counted["reported"] + len(counted["lost"])
    assert process.returncode == 7 and last_line_of(out).startswith("verdict=inconclusive ")


def test_a_killed_run_leaves_no_process_and_no_older_report(command, started):
    folder_of(command).mkdir()
    for name in ("evidence.json", "index.html"):
        (folder_of(command) / name).write_text("of a run before", encoding="utf-8")
    process = started("running")
    process.kill()
    process.wait()
    until(lambda: not alive(held_up(command)), 10)
    assert {path.name for path in folder_of(command).iterdir()} == {"events.jsonl"}
    assert run.replay(folder_of(command) / "events.jsonl").interrupted


def test_of_two_runs_into_one_folder_the_second_is_refused(command, started):
    process = started("running")
    again = command("check", "python:mine.py:Layer", "-k", "LOOKUP-04")
    assert again.returncode == 4 and "another run is writing there" in again.stderr, again.stdout
    assert last_line(again).startswith("verdict=unusable claims=0 ")
    (command.folder / "go").touch()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and verdicts(command)["LOOKUP-01"] == "verified", out


def test_a_report_is_not_rendered_into_the_folder_of_a_run(tmp_path):
    with claimed(tmp_path / "x"):
        with pytest.raises(UsageError, match="another run is writing there"), claimed(tmp_path / "x"):
            pass
        with claimed(tmp_path / "y"):
            pass
    with claimed(tmp_path / "x"):
        pass


def test_a_folder_that_vanishes_during_a_run_is_made_again(command, started):
    process = started("running")
    for path in folder_of(command).iterdir():
        path.unlink()
    folder_of(command).rmdir()
    (command.folder / "go").touch()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err
    assert len(evidence_of(command)["results"]) >= 3


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("a file system can only be mounted by root; a limit on the size of files stands in for it in test_run.py")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("left", [20_000, 0])
def test_a_full_disk_is_told_and_not_green(command, small_disk, left):
    """Full for the report, and full for the events of the tests already."""
    command.write("mine.py", LAYER)
    (small_disk / "ballast").write_bytes(b"x" * (65_536 - 4096 * (left // 4096)))
    done = command("check", "python:mine.py:Layer", "--report", str(small_disk / "report"), timeout=60)
    assert done.returncode in (3, 4) and "No space left on device" in done.stderr, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert last_line(done).split()[0] in ("verdict=broken", "verdict=unusable")


@pytest.mark.parametrize("name", ["evidence.json", "events.jsonl"])
def test_a_folder_where_a_file_belongs_is_told_before_the_run(command, name):
    (folder_of(command) / name).mkdir(parents=True)
    done = command("check", "python:mine.py:Layer")
    assert done.returncode == 4 and f"{name}: cannot write there" in done.stderr
    assert last_line(done).startswith("verdict=unusable claims=0 ")


def test_a_clock_that_is_set_back_changes_no_duration(command):
    """Durations come from a clock that nobody sets."""
    clock = "import itertools, time\nback = itertools.count(2e9, -3600)\ntime.time = lambda: next(back)\n"
    command.write("mine.py", LAYER + clock)
    done = subprocess.run([sys.executable, "-c", clock + "from embedding_conformance.cli import main\nmain()", "check",
                           "python:mine.py:Layer", "-k", "LOOKUP-01 or LOOKUP-04", "--timeout", "30"], cwd=command.folder,
                          env=command.environment, text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = evidence_of(command)
    assert all(0 <= result["seconds"] < 60 for result in found["results"])
    assert 0 < found["footer"]["seconds"] < 60


#: variables that are removed (None) or set; what is run with them, and what must be in what it prints
SURROUNDINGS = {
    "no HOME": ({"HOME": None, "USER": None, "LOGNAME": None, "XDG_CACHE_HOME": None}, "mine.py", "ERROR"),
    "ASCII": ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}, "mïne.py",
              "python:mÃ¯ne.py:Layer"),  # click takes ASCII for a mistake, and writes UTF-8
    "Latin-1": ({"PYTHONIOENCODING": "latin-1"}, "层.py", "python:\\u5c42.py:Layer"),
}


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_locales_and_homes(command, name):
    variables, file, shown = SURROUNDINGS[name]
    for key, value in variables.items():
        command.environment.pop(key, None)
        command.environment |= {key: value} if value is not None else {}
    command.write(file, LAYER.replace("return self.w[ids]", "raise ValueError('层')"))
    done = subprocess.run([sys.executable, "-m", "embedding_conformance", "check", f"python:{file}:Layer", "-k", "LOOKUP-01"],
                          cwd=command.folder, env=command.environment, capture_output=True, timeout=60, check=False)
    out = done.stdout.decode("latin-1")
    assert done.returncode == 1 and not done.stderr, out
    assert shown in out or name == "no HOME"
    found = evidence_of(command)
    assert found["subjects"][0]["name"] == f"python:{file}:Layer" and found["results"][0]["message"].endswith("层")


def test_claims_are_listed_where_their_letters_cannot_be_shown(command):
    command.environment["PYTHONIOENCODING"] = "latin-1"
    done = command("claims", "LOOKUP-01")
    assert done.returncode == 0 and "\\u6309 id " in done.stdout and not done.stderr


def test_a_terminal_of_twenty_columns(command):
    command.write("mine.py", LAYER)
    inside, outside = pty.openpty()
    fcntl.ioctl(outside, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 20, 0, 0))
    command.environment = {key: value for key, value in command.environment.items() if key not in ("COLUMNS", "LINES")}
    with subprocess.Popen([*CHECK, "-k", "LOOKUP-01"], cwd=command.folder, env=command.environment, stdin=outside,
                          stdout=outside, stderr=outside) as process:
        os.close(outside)
        read = b""
        try:
            while part := os.read(inside, 65536):
                read += part
        except OSError:  # how Linux says that the other side is closed
            pass
    os.close(inside)
    assert process.returncode == 0, read
    text = read.decode()
    progress = [part for part in text.split("\r\x1b[K") if part and not part.endswith("\r\n")]
    assert progress and all(len(part) < 20 for part in progress)
    assert last_line_of(text).startswith("\x1b[Kverdict=verified ") or last_line_of(text).startswith("verdict=verified ")


def test_a_terminal_that_goes_away_costs_no_result(command):
    command.write("mine.py", LAYER)
    inside, outside = pty.openpty()
    process = subprocess.Popen([*CHECK, "-k", "LOOKUP-01"], cwd=command.folder, env=command.environment, stdout=outside,
                               stderr=outside)
    os.close(outside)
    os.close(inside)
    assert process.wait(timeout=60) == 0 and verdicts(command) == {"LOOKUP-01": "verified"}


@pytest.mark.parametrize(("script", "code"), [
    ("{check} | head -1; exit ${{PIPESTATUS[0]}}", 0),  # who reads no more wants no more; the run is judged to its end
    ("{check} <&- >&- 2>&-", 0),
    ("{check} >/dev/full", 3),  # what somebody wanted to read could not be kept
    ("{claims} | head -1; exit ${{PIPESTATUS[0]}}", 0),
    ("{claims} >/dev/full", 3),
])
def test_output_that_cannot_be_written_costs_no_result(command, script, code):
    command.write("mine.py", LAYER)
    parts = {"check": f"{sys.executable} -m embedding_conformance check python:mine.py:Layer -k LOOKUP-01",
             "claims": f"{sys.executable} -m embedding_conformance claims"}
    done = subprocess.run(["bash", "-c", script.format(**parts)], cwd=command.folder, env=command.environment, text=True,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == code and "Traceback" not in done.stderr, done.stderr
    assert done.stderr == ("embedding-conformance: not everything could be printed: No space left on device\n" if code else "")
    if "{check}" in script:
        assert verdicts(command) == {"LOOKUP-01": "verified"}
        assert {path.name for path in folder_of(command).iterdir()} == REPORT


@pytest.mark.parametrize("args", [["--timeout", "0"], ["--timeout", "-1"], ["--timeout", "nan"], ["-n", "-1"], ["--seed", "²"],
                                  ["--seed", "9" * 5000]])
def test_numbers_that_are_none(command, args):
    done = command("check", "python:mine.py:Layer", *args)
    assert done.returncode == 4 and f"{args[0]} " in done.stderr and len(done.stderr) < 2100
    assert not folder_of(command).exists()


def test_half_a_line_of_a_child_that_died_does_not_spoil_the_next(tmp_path, monkeypatch):
    """A child may be killed while it writes; the one after it appends to the same file."""
    first = 'import sys\nopen(sys.argv[1], "a").write(\'{"event": "collected", "items": [["a[X-01-s]", ["X-01"], "s"]]}\\n\' ' \
            '\'{"event": "started", "nodeid": "a[X-01-s]"}\\n{"event": "resu\')\n'
    second = 'import sys\nopen(sys.argv[1], "a").write(\'{"event": "finished", "exit": 0}\\n\')\n'
    codes = iter([first, second])
    monkeypatch.setattr(run, "_command", lambda plan, path, resume: [sys.executable, "-c", next(codes), str(path)])
    path = tmp_path / "events.jsonl"
    outcome = run.execute(run.Plan(), path, lambda outcome, event: None)
    assert list(outcome.lost) == ["a[X-01-s]"] and not outcome.broke
    assert run.replay(path).collected == outcome.collected


def test_a_busy_machine_is_no_fault_of_a_subjects(tmp_path, monkeypatch):
    """Until the subject's own code runs, a child has at least a minute."""
    slow = 'import sys, time\ntime.sleep(0.4)\nopen(sys.argv[1], "a").write(\'{"event": "finished", "exit": 5}\\n\')\n'
    monkeypatch.setattr(run, "_command", lambda plan, path, resume: [sys.executable, "-c", slow, str(path)])
    outcome = run.execute(run.Plan(timeout=0.2), tmp_path / "events.jsonl", lambda outcome, event: None)
    assert not outcome.broke and not outcome.refused


def test_the_report_of_a_run_is_evidence(command):
    """What these tests read is read as strictly as everywhere."""
    command.write("mine.py", LAYER)
    command("check", "python:mine.py:Layer", "-k", "LOOKUP-04")
    path = folder_of(command) / "evidence.json"
    Path(path).write_text(path.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    with pytest.raises(UsageError):
        store.load(path)
