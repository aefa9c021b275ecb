"""SIGINT, SIGTERM and SIGHUP are noted instead of obeyed, so that a run ends at a place of its own choice, with a report."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Within, the first signal sets `received`; one more raises `KeyboardInterrupt`, wherever the program is then."""

    def __init__(self) -> None:
        self.received = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        try:
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS
                            if signal.getsignal(number) is not signal.SIG_IGN}  # nohup: the caller wants it ignored
        except ValueError:  # not in the main thread: the caller's handlers stay
            self._before = {}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.received:
            raise KeyboardInterrupt
        self.received = True
