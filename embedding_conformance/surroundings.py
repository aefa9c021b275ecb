"""What a subject changes in the process stays with it.

Floating-point traps, the working folder, filters of warnings or PyTorch's default dtype belong to the process. A subject may
set them, and may count on finding them as it left them; the harness and the other subjects must not feel it.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class _State(NamedTuple):
    """Something that the process has one of: how to read and how to set it."""

    read: Callable[[], Any]
    set: Callable[[Any], Any]


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # removed
        return ""


def _enter_folder(path: str) -> None:
    try:
        os.chdir(path or "/")
    except OSError:  # removed meanwhile: nobody can be there
        os.chdir("/")


def _environment() -> Any:
    # A copy of what os.environ wraps: without decoding it costs a hundredth, and this is read around every call.
    return os.environ._data.copy()  # type: ignore[attr-defined]


def _set_environment(values: dict[bytes, bytes]) -> None:
    for name in os.environb.keys() - values.keys():
        del os.environb[name]
    os.environb.update(values)


def _set_filters(filters: list[Any]) -> None:
    warnings.resetwarnings()  # tells the caches of the modules that the filters changed
    warnings.filters[:] = filters  # type: ignore[index]


def _torch(read: str, write: str, default: Any) -> _State:
    """A setting of PyTorch; `default` is what holds when the subject loads it, as a number or the name of a dtype."""
    def get() -> Any:
        torch = sys.modules.get("torch")
        if not hasattr(torch, read):
            return default
        value = getattr(torch, read)()
        return value if isinstance(value, int) else str(value).removeprefix("torch.")

    def put(value: Any) -> None:
        torch = sys.modules["torch"]
        getattr(torch, write)(getattr(torch, value) if isinstance(value, str) else value)

    return _State(get, put)


STATES = (
    _State(sys.getrecursionlimit, sys.setrecursionlimit),
    _State(_folder, _enter_folder),
    _State(_environment, _set_environment),
    _State(lambda: list(warnings.filters), _set_filters),
    _State(np.geterr, lambda value: np.seterr(**value)),
    _State(np.get_printoptions, lambda value: np.set_printoptions(**value)),
    _torch("get_default_dtype", "set_default_dtype", "float32"),
    # The small models of the suites are many times slower with two threads.
    _torch("get_num_threads", "set_num_threads", 1),
    _torch("is_grad_enabled", "set_grad_enabled", True),
    _torch("are_deterministic_algorithms_enabled", "use_deterministic_algorithms", False),
)


class Surroundings:
    """The state in which one subject's code runs: on entering what it left behind, on leaving what was there before."""

    def __init__(self) -> None:
        #: number of a state -> what the subject set it to
        self._own: dict[int, Any] = {}
        self._outside: list[Any] = []
        self._depth = 0
        self._process = 0
        #: a claim may call its subject from several threads at once: the first enters, the last leaves
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self._depth += 1
            if self._depth > 1:
                return
            self._process = os.getpid()
            self._outside = [state.read() for state in STATES]
            for number, value in self._own.items():
                STATES[number].set(value)

    def __exit__(self, *error: object) -> None:
        if os.getpid() != self._process:
            # The subject forked and came back twice. One of the two must not go on, or each test would be run by both.
            os._exit(0)
        with self._lock:
            self._depth -= 1
            if self._depth:
                return
            for number, (state, before) in enumerate(zip(STATES, self._outside, strict=True)):
                now = state.read()
                if now != before:
                    state.set(before)
                    self._own[number] = now
                else:
                    self._own.pop(number, None)
