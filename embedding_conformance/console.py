"""Printing that cannot end a run: a reader who went away, a full disk and a narrow character set cost words, not results."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: the reader went away (a pipe such as ``| head -1``, a closed terminal); he wants no more, and nothing is wrong
GONE = (errno.EPIPE, errno.EIO)


class _Stream(io.FileIO):
    """A file descriptor that remembers why it could not be written, and takes what comes after that without a word."""

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        if self.failure is None:
            try:
                return super().write(data)
            except OSError as error:
                self.failure = error
        return memoryview(data).nbytes


@contextmanager
def forgiving() -> Iterator[list[OSError]]:
    """Within, printing raises nothing. What was printed in vain although somebody wanted it is in the list afterwards."""
    failures: list[OSError] = []
    # A standard stream that the caller closed would leave its number to the next file that is opened, which would then get
    # what is printed.
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    raw = {}
    for name, number in (("stdout", 1), ("stderr", 2)):
        before = getattr(sys, name)
        if before is not None and before is not getattr(sys, f"__{name}__"):
            continue  # a test looks on
        if before is not None:
            before.flush()
        raw[name] = _Stream(number, "wb", closefd=False)
        setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(raw[name]), before.encoding if before else "utf-8",
                                            errors="backslashreplace", line_buffering=True))
    try:
        yield failures
    finally:
        for name, stream in raw.items():
            getattr(sys, name).flush()
            if stream.failure is not None and stream.failure.errno not in GONE:
                failures.append(stream.failure)
