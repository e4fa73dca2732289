"""Ctrl-C and SIGTERM of commands that work on a queue."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from perseid.cli.exits import Exit
from perseid.cli.output import say

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from perseid.worker.stop import Stop


class Interrupt:
    """First signal: finish what is in flight. Second: stop at once. Third: leave, the store is whole anyway."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self.signal: signal.Signals | None = None
        self._times = 0

    def __call__(self, number: signal.Signals) -> None:
        self._times += 1
        self.signal = self.signal or number
        if self._times == 1:
            say("stopping: finishing the pages in flight; once more to stop at once")
            self._stop.ask()
        elif self._times == 2:
            self._stop.now()
        else:
            os._exit(Exit.INTERRUPTED)


@asynccontextmanager
async def signals(interrupt: Interrupt) -> AsyncIterator[Interrupt]:
    """Have it hear of them, as long as this is entered."""
    loop = asyncio.get_running_loop()
    taken = []
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, interrupt, number)
            taken.append(number)
        except (NotImplementedError, RuntimeError, ValueError):
            # No signal handlers on this system, or not the main thread: Ctrl-C then ends the process.
            continue
    try:
        yield interrupt
    finally:
        for number in taken:
            loop.remove_signal_handler(number)
