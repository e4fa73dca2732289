"""Short work in the event loop's own thread, as long as that holds nobody up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_HELD_UP_S = 0.02
_SAT_OUT = 100


class InPlace:
    """Whether it may be done here or is to be given to a thread.

    A thread that works beside the loop takes the interpreter's lock from it, and back, at every call that lets go of
    the lock: a tenth of all a crawl costs. But work that waits (for a slow disk, for another process's transaction)
    would have everybody wait: what comes after such a piece goes to a thread, until it is tried here again.
    """

    def __init__(self, held_up_s: float = _HELD_UP_S) -> None:
        self._held_up_s = held_up_s
        self._sit_out = 0

    @property
    def may(self) -> bool:
        """Asked once for each piece of work."""
        if self._sit_out:
            self._sit_out -= 1
            return False
        return True

    def do(self, work: Callable[[], T]) -> T:
        """What it returns or raises; how long it waited is noted."""
        began, worked = time.perf_counter(), time.thread_time()
        try:
            return work()
        finally:
            if time.perf_counter() - began - (time.thread_time() - worked) > self._held_up_s:
                self._sit_out = _SAT_OUT
