"""What a whole run costs beside the least that it could, and beside what a reader of the documents does today.

Processes are timed as wholes, in turns, because most of their time goes into imports. Noise only adds, so the least of the
rounds counts.
"""

import subprocess
import sys
import time

import pytest

from embedding_conformance import home

ROUNDS = 3


def process(*arguments):
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], cwd=home(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return time.perf_counter() - start, done.stdout


def whole_run(folder, *options):
    taken, said = process("-m", "embedding_conformance", "check", "-q", "--report", str(folder), *options)
    assert "verdict=verified" in said
    return taken


@pytest.mark.benchmark(group="whole run")
def test_the_whole_run_and_its_floor(benchmark, measured, tmp_path):
    """The default subjects on all claims: less than the seven experiments take one by one, each importing and loading anew."""
    whole_run(tmp_path)  # whatever the file cache and the byte code cost, they cost it now
    items = sum('"event": "result"' in line for line in (tmp_path / "events.jsonl").read_text().splitlines())
    floors, runs, halves, readers = [], [], [], []
    for _ in range(ROUNDS):
        floors.append(process("-m", "suites.benchmarks.floor", "floor", str(items))[0])
        runs.append(whole_run(tmp_path, "-n", "0"))
        halves.append(whole_run(tmp_path, "-n", "2"))
        readers.append(sum(process("-m", "suites.benchmarks.floor", "reader", str(number))[0] for number in range(7)))
    floor, run, half, reader = min(floors), min(runs), min(halves), min(readers)
    measured.add("the least a run can cost", f"{items} items", floor, to="itself", ratio=1.0)
    measured.add("check in one process", f"{items} items", run, to="the floor", ratio=run / floor)
    measured.add("check in two processes", f"{items} items", half, to="the floor", ratio=half / floor)
    measured.add("the seven experiments", "7 processes", reader, to="the floor", ratio=reader / floor)
    measured.add("check in one process", f"{items} items", run, to="the experiments", ratio=run / reader)
    measured.add("check in two processes", f"{items} items", half, to="the experiments", ratio=half / reader)
    benchmark.pedantic(whole_run, args=(tmp_path,), rounds=1)
    assert run < reader
