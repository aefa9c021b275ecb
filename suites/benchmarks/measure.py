"""Time and memory of a call, and the table of what was measured."""

import time
import tracemalloc
from dataclasses import dataclass, field


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


@dataclass
class Measurements:
    """Rows of the table: what, size, seconds, peak bytes or None, the ratio and what it is a ratio to."""

    rows: list = field(default_factory=list)

    def add(self, what, size, seconds, *, to, ratio, peak=None):
        """`ratio` is the time over that of `to`: the smallest size of the same row, or a floor of the same run."""
        self.rows.append((what, size, seconds, peak, ratio, to))

    def ratios(self):
        """"what, size" -> ratio, for pytest-benchmark's file."""
        return {f"{what}, {size}": round(ratio, 3) for what, size, _, _, ratio, _ in self.rows}

    @staticmethod
    def table(rows):
        """One line a row, in columns."""
        yield f"{'what':<34} {'size':<18} {'ms':>9} {'peak MiB':>9} {'ratio':>9}  to"
        for what, size, taken, peak, ratio, to in rows:
            memory = "" if peak is None else f"{peak / 2**20:.3f}"
            yield f"{what:<34} {size:<18} {taken * 1e3:9.3f} {memory:>9} {ratio:9.2f}  {to}"
