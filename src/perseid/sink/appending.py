"""Files that batches are appended to, each once: what an unsettled try left at the end is cut off first."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from perseid.ports.sink import SinkFailure
from perseid.sink import journal
from perseid.sink.journal import Begun

LATE_S = 60.0
"""Who was held up so long may have been given up meanwhile, and another process been given the batch."""


def append(path: Path, number: int, settled: int | None, content: Callable[[bool], bytes], *, began: float) -> int:
    """Append what batch `number` has for this file, durably; its length then.

    `settled` is its length after the last batch that was settled; None if this file is new to the sink: then what lies
    there already stays. `content` is told whether the file begins with it; `began` is when the batch was given to us,
    by the monotonic clock. Raises `SinkFailure`, `OSError`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), 0o644)
    try:
        with journal.alone(handle, path):
            length = os.fstat(handle).st_size
            begun = journal.read(journal.journal_of(path), number)
            start = _start(begun, number, settled, length)
            if begun is None or begun.number != number:
                journal.write(journal.journal_of(path), Begun(number=number, start=start))
            if time.monotonic() - began > LATE_S:
                raise SinkFailure(f"{path} could not be written within {LATE_S:g} s; it is tried again")
            os.ftruncate(handle, start)
            try:
                end = _write(handle, content(start == 0), start)
                os.fsync(handle)
            except OSError:
                os.ftruncate(handle, start)
                raise
            journal.sync_folder(path.parent)
            return end
    finally:
        os.close(handle)


def _start(begun: Begun | None, number: int, settled: int | None, length: int) -> int:
    """Where the file's whole part ends. It may have been moved away meanwhile (rotated): then it begins anew."""
    if begun is not None and (begun.number == number or settled is None):
        return min(begun.start, length)
    return length if settled is None else min(settled, length)


def _write(handle: int, content: bytes, at: int) -> int:
    left = memoryview(content)
    while left:
        written = os.pwrite(handle, left, at)
        at += written
        left = left[written:]
    return at
