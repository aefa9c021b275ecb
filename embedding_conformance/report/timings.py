"""Benchmarks in the evidence: what pytest-benchmark measured, from the file that its ``--benchmark-json`` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import UsageError


def read(path: Path) -> list[dict[str, Any]]:
    """Seconds of every benchmark: the median and the interval of the middle half. Raises `UsageError` for another file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        found = [{"name": one["name"], "median": float(one["stats"]["median"]), "low": float(one["stats"]["q1"]),
                  "high": float(one["stats"]["q3"]), "rounds": int(one["stats"]["rounds"]), "group": one.get("group") or ""}
                 for one in sorted(data["benchmarks"], key=lambda one: str(one["fullname"]))]
        if not found:
            raise ValueError("it holds no benchmark")
        return found
    except OSError as error:
        raise UsageError(f"--benchmarks {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"--benchmarks {path}: not a file of pytest-benchmark: {error!r}") from error
