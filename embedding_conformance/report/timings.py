"""Benchmarks in the evidence: what pytest-benchmark measured, from the file that its ``--benchmark-json`` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import UsageError
from .schema import Benchmark

#: where the benchmarks of this project keep their ratios, below pytest-benchmark's ``extra_info``
KEPT = "embedding_conformance"


def read(path: Path, before: Path | None = None) -> list[dict[str, Any]]:
    """Seconds of every benchmark, the median and the interval of the middle half, and the ratios that it measured.

    `before` is the file of an earlier run, whose ratios are put beside these; seconds of two runs say nothing about each other.
    Raises `UsageError` for another file.
    """
    found = _read(path)
    earlier = {_key(row): row["ratio"] for one in (_read(before) if before else ()) for row in one["measured"]}
    for row in (row for one in found for row in one["measured"]):
        row["before"] = earlier.get(_key(row))
    return found


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["what"], row["size"], row["to"]


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        found = [Benchmark(name=one["name"], median=one["stats"]["median"], low=one["stats"]["q1"], high=one["stats"]["q3"],
                           rounds=one["stats"]["rounds"], group=one.get("group") or "",
                           measured=one.get("extra_info", {}).get(KEPT, [])).model_dump()
                 for one in sorted(data["benchmarks"], key=lambda one: str(one["fullname"]))]
        if not found:
            raise ValueError("it holds no benchmark")
        return found
    except OSError as error:
        raise UsageError(f"--benchmarks {path}: {error.strerror or error}") from error
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"])
        raise UsageError(f"--benchmarks {path}: not a file of pytest-benchmark: {place}: {problem['msg']}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"--benchmarks {path}: not a file of pytest-benchmark: {error!r}") from error
