"""Regression values of this project (``fixtures/baselines/<chapter>/<name>.npz`` with a manifest beside each).

A baseline without provenance certifies faults, so a value without its manifest is refused. Only an explicit command writes
one; a run that compares never does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from . import __version__, home
from .bounds import UNIT_ROUNDOFF, Bound
from .claims import read_yaml
from .evidence import HarnessFault

#: a sound implementation on another processor may deviate from the exact values as much as the stored one does, in the
#: other direction, and kernels differ by a small factor: eight times the observed deviation
SAFETY = 8
#: of a few numbers the largest deviation may be small by luck: it counts as at least this many roundings
LEAST_ROUNDINGS = 4


class Store:
    """Reads, compares and (when told to) writes the baselines of one chapter."""

    def __init__(self, chapter: str, subject: str, seed: int, facts: dict[str, str], regression: Any, write: bool):
        self.folder = home() / "fixtures" / "baselines" / chapter
        self.subject = subject
        self.seed = seed
        self.facts = facts
        self.regression = regression
        self.write = write

    def compare(self, name: str, arrays: dict[str, np.ndarray], oracle: Callable[[], dict[str, np.ndarray]],
                rounding: Mapping[str, Bound]) -> Iterator[tuple[str, np.ndarray, Bound]]:
        """The stored array and its bound for every key, after writing them when this run was told to.

        The bound is the stored one or that in `rounding`, whichever is larger for an element.
        Raises `HarnessFault` when the file or its manifest is missing or does not fit the arrays.
        """
        values, manifest = self.folder / f"{name}.npz", self.folder / f"{name}.yaml"
        if self.write:
            self._write(values, manifest, arrays, oracle())
        for path in (values, manifest):
            if not path.is_file():
                raise HarnessFault(f"{path.relative_to(home())} is missing; --conformance-write-baselines writes it")
        about = read_yaml(manifest)["arrays"]
        with np.load(values, allow_pickle=False) as stored:
            expected = {key: stored[key] for key in stored.files}
        if set(expected) != set(arrays) or set(about) != set(arrays):
            raise HarnessFault(f"{values.name} holds {sorted(expected)}, its manifest {sorted(about)}, "
                               f"and the test gives {sorted(arrays)}")
        tolerances = {}
        for key, array in arrays.items():
            if str(expected[key].dtype) != about[key]["dtype"] or array.dtype != expected[key].dtype:
                raise HarnessFault(f"{key}: {array.dtype} is compared with {expected[key].dtype}, recorded as "
                                   f"{about[key]['dtype']}")
            bound = Bound(float(about[key]["bound"]), f"{SAFETY} times the distance of the recorded values from their "
                                                      f"float64 oracle, {about[key]['deviation']:.2g}")
            if key in rounding and np.max(rounding[key].value) > bound.value:
                bound = Bound(np.maximum(bound.value, rounding[key].value), rounding[key].why)
            tolerances[key] = {"atol": float(np.max(bound.value)), "rtol": 0.0}
            yield key, expected[key], bound
        # pytest-regressions looks at the same file, and reports in its own format what slipped through above.
        self.regression.check(arrays, fullpath=values, tolerances=tolerances)

    def _write(self, values: Path, manifest: Path, arrays: dict[str, np.ndarray], exact: dict[str, np.ndarray]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        about = {}
        for key, array in arrays.items():
            deviation = float(np.abs(array.astype(np.float64) - exact[key]).max())
            if array.dtype.kind == "f":
                largest = float(np.abs(array).max())
                deviation = max(deviation, LEAST_ROUNDINGS * UNIT_ROUNDOFF[str(array.dtype)] * largest)
            about[key] = {"shape": list(array.shape), "dtype": str(array.dtype), "deviation": float(f"{deviation:.3g}"),
                          "bound": float(f"{SAFETY * deviation:.3g}")}
        np.savez_compressed(values, allow_pickle=False, **arrays)
        provenance = {"subject": self.subject, "facts": self.facts, "numpy": np.__version__,
                      "python": ".".join(map(str, sys.version_info[:3])), "harness": __version__, "seed": self.seed,
                      "command": "python -m pytest suites --conformance-write-baselines "
                                 f"--conformance-subject {self.subject} -k {self.folder.name}"}
        text = yaml.safe_dump({"provenance": provenance, "arrays": about}, sort_keys=False, allow_unicode=True)
        manifest.write_text(text, encoding="utf-8")
