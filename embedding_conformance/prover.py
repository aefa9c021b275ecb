"""In a proof one pytest item judges a test on every specimen of its facets, so that pytest's own cost is paid once a test."""

from __future__ import annotations

import json
import random
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .evidence import ClaimViolation, Evidence
from .handles import HANDLES, Handle
from .reference import default_reference
from .subjects import Dial, Subject
from .texts import few_texts

PROPERTY = "conformance-proof"
#: stands for the subject of an item until the item is judged
PLACEHOLDER = "proof"


def seed_generators(name: str) -> None:
    """What a specimen draws from the generators of the process hangs on the test of this name, not on what ran before it."""
    seed = zlib.crc32(name.encode())
    random.seed(seed)
    np.random.seed(seed)
    if torch := sys.modules.get("torch"):
        torch.default_generator.manual_seed(seed)  # the function of the same name also formats the stack


def metrics_of(item: pytest.Item) -> set[str]:
    """The metrics that a test is about, by its mark; empty where the metric does not matter."""
    return {metric for mark in item.iter_markers("metric") for metric in mark.args}


class Prover:
    """The pytest plugin of a proof run."""

    def __init__(self, subjects: dict[str, Subject], one_line: Callable[[BaseException], str]):
        self.subjects = subjects
        self.one_line = one_line
        #: (path, test function) -> the subjects that it is judged on
        self.applicable: dict[tuple[str, str], list[str]] = {}
        self.results: pytest.StashKey[list[dict[str, Any]]] = pytest.StashKey()
        self._module: Path | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Judge the test on every specimen instead of calling it once."""
        names = self.applicable.get((str(pyfuncitem.path), pyfuncitem.originalname))
        if names is None:
            return None
        if pyfuncitem.path != self._module:
            # What a specimen answers may hang on what it was asked before, so each module begins anew, whichever process
            # runs it and whatever that ran before.
            self._module = pyfuncitem.path
            for subject in self.subjects.values():
                subject.begin_anew()
        pyfuncitem.stash[self.results] = [self._judge(pyfuncitem, self.subjects[name]) for name in names
                                          if not self.subjects[name].declares_other_metric(metrics_of(pyfuncitem))]
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        if call.when == "call" and self.results in item.stash:
            report.user_properties.append((PROPERTY, json.dumps(item.stash[self.results])))
        return report

    def _judge(self, item: pytest.Function, subject: Subject) -> dict[str, Any]:
        """What the test makes of one subject: outcome, the closest comparison, and for a dial the smallest noise caught."""
        result: dict[str, Any] = {"subject": subject.name, "outcome": "passed", "raised": False, "message": ""}
        evidence, handles = self._once(item, subject, result)
        if result["outcome"] == "passed" and not evidence.compared:
            result |= {"outcome": "error", "message": "the test passed without a comparison"}
        if result["outcome"] == "passed" and not any(handle.total_calls() for handle in handles):
            result |= {"outcome": "error", "message": "the test never called its subject"}
        if subject.dial and result["outcome"] == "passed":
            result["limit"] = self._smallest_caught(item, subject, subject.dial)
        closest = evidence.closest()
        result["closest"] = closest and {"kind": closest.kind, "measured": closest.measured, "bound": closest.bound}
        return result

    def _once(self, item: pytest.Function, subject: Subject, result: dict[str, Any]) -> tuple[Evidence, list[Handle]]:
        given: Any = item.funcargs["evidence"]
        evidence = Evidence(store=given.store)
        arguments: dict[str, Any] = {}
        for name in item._fixtureinfo.argnames:
            if name in HANDLES:
                arguments[name] = HANDLES[name](subject)
            elif name == "reference":
                arguments[name] = default_reference(subject, few_texts())
            else:
                arguments[name] = evidence if name == "evidence" else item.funcargs[name]
        seed_generators(item.nodeid)
        try:
            item.obj(**arguments)
        except ClaimViolation as violation:
            result |= {"outcome": "violated", "raised": violation.raised, "message": violation.measured}
        except Exception as error:
            result |= {"outcome": "error", "message": self.one_line(error)}
        return evidence, [argument for argument in arguments.values() if isinstance(argument, Handle)]

    def _smallest_caught(self, item: pytest.Function, subject: Subject, dial: Dial) -> float | None:
        """The smallest relative noise on the answers that the test catches, within a factor of 1.4; None if none."""
        def caught(size: float) -> bool:
            subject.memory.clear()
            dial.turn(size)
            result: dict[str, Any] = {"outcome": "passed"}
            self._once(item, subject, result)
            return bool(result["outcome"] == "violated")

        high = 1.0
        try:
            if not caught(high):
                return None
            while high > 1e-18 and caught(high / 10):
                high /= 10
            low = high / 10
            while high / low > 1.4:
                middle = (high * low) ** 0.5
                low, high = (low, middle) if caught(middle) else (middle, high)
            return float(f"{high:.2g}")
        finally:
            dial.turn(0.0)
            subject.memory.clear()
