"""Collects the measurements of the benchmarks and prints them as one table at the end."""

import pytest

from embedding_conformance.report.timings import KEPT

from .measure import Measurements

MEASURED: pytest.StashKey[list] = pytest.StashKey()


@pytest.fixture
def measured(request, benchmark):
    """What a benchmark measured: it goes into the table, and into pytest-benchmark's own file as extra_info."""
    measurements = Measurements()
    yield measurements
    request.config.stash.setdefault(MEASURED, []).extend(measurements.rows)
    benchmark.extra_info[KEPT] = measurements.kept()


def pytest_terminal_summary(terminalreporter, config):
    rows = config.stash.get(MEASURED, [])
    if rows:
        terminalreporter.write_sep("-", "growth and ratios")
        for line in Measurements.table(rows):
            terminalreporter.write_line(line)
