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
from typing import Any

import numpy as np


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


def _set_environment(values: dict[bytes, bytes]) -> None:
    for name in os.environb.keys() - values.keys():
        del os.environb[name]
    os.environb.update(values)


def _set_filters(filters: list[Any]) -> None:
    warnings.resetwarnings()  # tells the caches of the modules that the filters changed
    warnings.filters[:] = filters  # type: ignore[index]


#: settings of PyTorch: how to set them, and what holds when a subject loads it
_TORCH: tuple[tuple[str, Any], ...] = (
    ("set_default_dtype", "float32"),
    # The small models of the suites are many times slower with two threads.
    ("set_num_threads", 1),
    ("set_grad_enabled", True),
    ("use_deterministic_algorithms", False))


def _torch() -> tuple[Any, ...]:
    torch: Any = sys.modules.get("torch")
    try:
        return (str(torch.get_default_dtype()).removeprefix("torch."), torch.get_num_threads(), torch.is_grad_enabled(),
                torch.are_deterministic_algorithms_enabled())
    except AttributeError:  # not loaded, or not yet to the end
        return tuple(default for _, default in _TORCH)


def _set_torch(values: tuple[Any, ...]) -> None:
    torch = sys.modules["torch"]
    for (write, _), now, value in zip(_TORCH, _torch(), values, strict=True):
        if now != value:
            getattr(torch, write)(getattr(torch, value) if isinstance(value, str) else value)


def _read() -> tuple[Any, ...]:
    """All that is looked at, in the order of `SETTERS`; the environment and the filters as they stand, not copied.

    This is read twice around every call, so of the environment only what `os.environ` wraps: decoding it costs a hundred times
    as much.
    """
    return (sys.getrecursionlimit(), _folder(), os.environ._data, warnings.filters, np.geterr(),  # type: ignore[attr-defined]
            np.get_printoptions(), _torch())


SETTERS: tuple[Callable[[Any], Any], ...] = (
    sys.setrecursionlimit, _enter_folder, _set_environment, _set_filters, lambda value: np.seterr(**value),
    lambda value: np.set_printoptions(**value), _set_torch)


def _copied(values: tuple[Any, ...]) -> tuple[Any, ...]:
    limit, folder, environment, filters, *rest = values
    return limit, folder, environment.copy(), list(filters), *rest


class Surroundings:
    """The state in which one subject's code runs: on entering what it left behind, on leaving what was there before."""

    def __init__(self) -> None:
        #: number of a setting -> what the subject set it to
        self._own: dict[int, Any] = {}
        self._outside: tuple[Any, ...] = ()
        self._depth = 0
        self._process = 0
        #: how often code of the subject's began to run
        self.entered = 0
        #: a claim may call its subject from several threads at once: the first enters, the last leaves
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self._depth += 1
            self.entered += 1
            if self._depth > 1:
                return
            self._process = os.getpid()
            self._outside = _copied(_read())
            for number, value in self._own.items():
                SETTERS[number](value)

    def __exit__(self, *error: object) -> None:
        if os.getpid() != self._process:
            # The subject forked and came back twice. One of the two must not go on, or each test would be run by both.
            os._exit(0)
        with self._lock:
            self._depth -= 1
            if self._depth:
                return
            if _read() == self._outside:
                self._own.clear()
                return
            for number, (now, before) in enumerate(zip(_copied(_read()), self._outside, strict=True)):
                if now != before:
                    SETTERS[number](before)
                    self._own[number] = now
                else:
                    self._own.pop(number, None)
