"""Time and memory of a call and of a process, and the table of what was measured."""

import math
import subprocess
import sys
import time
import tracemalloc
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


def seconds(*calls, budget=0.15):
    """The least time of each call, since noise only adds. Several take turns, so that all meet the same noise, for
    `budget` seconds a call and three rounds at the least.
    """
    taken = [[] for _ in calls]
    while len(taken[0]) < 3 or sum(map(sum, taken)) < budget * len(calls):
        for call, times in zip(calls, taken, strict=True):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return [min(times) for times in taken]


def peak_bytes(call):
    """The most memory that NumPy and Python held at once during a call; PyTorch's own is not seen."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class Layer:
    """A layer as a user writes one."""

    def __init__(self, table, padding_id=None):
        self.w, self.padding_id = table.copy(), padding_id

    def table(self):
        return self.w

    def lookup(self, ids):
        return self.w[np.asarray(ids)]


class Used(NamedTuple):
    """What a process used, with those that it started: seconds of all processors together, and the most memory of any."""

    seconds: float
    peak: int


#: starts a process and waits for it. A process begins with the memory of the one that starts it, so that is a small one.
WAITS = """
import os, subprocess, sys
started = subprocess.Popen(sys.argv[1:], stdout=sys.stderr)
_, status, used = os.wait4(started.pid, 0)
started.returncode = os.waitstatus_to_exitcode(status)
print(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
"""


def process(*arguments, folder):
    """What ``python ARGUMENTS`` uses in a folder, and what it prints. Seconds of processors, since others use them too."""
    done = subprocess.run([sys.executable, "-S", "-c", WAITS, sys.executable, *arguments], cwd=folder, text=True,
                          capture_output=True, check=True)
    taken, peak = done.stdout.split()
    return Used(float(taken), int(peak)), done.stderr


def doubling(sizes, times):
    """By what the time grows where the size doubles, from the last three sizes: 2 is proportional, 4 is quadratic.

    What every size costs alike is taken away with the first of the three.
    """
    sizes, times = ([one - row[-3] for one in row[-2:]] for row in (sizes, times))
    return 2 ** (math.log(times[1] / times[0]) / math.log(sizes[1] / sizes[0]))


@dataclass
class Measurements:
    """Rows of the table: what, size, seconds, peak bytes or None, the ratio and what it is a ratio to."""

    rows: list = field(default_factory=list)

    def add(self, what, size, seconds, *, to, ratio, peak=None):
        """`ratio` is the time over that of `to`: the smallest size of the same row, or a floor of the same run."""
        self.rows.append((what, size, seconds, peak, ratio, to))

    def grown(self, what, unit, sizes, used):
        """Rows of a growth and what it is per doubling, which is returned. `used` is a `Used` for each size."""
        for size, (taken, peak) in zip(sizes, used, strict=True):
            self.add(what, f"{size:,} {unit}", taken, to=f"{sizes[0]:,} {unit}", ratio=taken / used[0].seconds, peak=peak)
        found = doubling(sizes, [one.seconds for one in used])
        self.add(what, f"twice the {unit}", used[-1].seconds - used[-2].seconds, to="half, less the start", ratio=found)
        return found

    def kept(self):
        """The rows by name, for pytest-benchmark's file; a report shows them."""
        return [{"what": what, "size": size, "seconds": taken, "peak": peak, "ratio": ratio, "to": to}
                for what, size, taken, peak, ratio, to in self.rows]

    @staticmethod
    def table(rows):
        """One line a row, in columns."""
        yield f"{'what':<34} {'size':<18} {'ms':>9} {'peak MiB':>9} {'ratio':>9}  to"
        for what, size, taken, peak, ratio, to in rows:
            memory = "" if peak is None else f"{peak / 2**20:.3f}"
            yield f"{what:<34} {size:<18} {taken * 1e3:9.3f} {memory:>9} {ratio:9.2f}  {to}"
