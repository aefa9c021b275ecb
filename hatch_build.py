"""Puts ``suites/`` and ``fixtures/`` inside the package in a wheel.

An editable install carries none: there the package finds them beside itself, in the checkout.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The harness's own tests and the benchmarks are no part of the specification.
LEFT_OUT = {"harness", "benchmarks"}


class Specification(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        for folder in ("suites", "fixtures"):
            for path in sorted((root / folder).rglob("*")):
                inside = path.relative_to(root)
                if path.is_file() and inside.parts[1] not in LEFT_OUT and "__pycache__" not in inside.parts:
                    build_data["force_include"][str(path)] = f"embedding_conformance/{inside.as_posix()}"
