"""What the queues of `queue_peers.py` have in common: they enqueue and process when they are told to."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable


class Count:
    """The task function's work; `all` is set when it was called `jobs` times."""

    def __init__(self, jobs: int) -> None:
        self.left = jobs
        self.all = asyncio.Event()

    async def __call__(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.all.set()


async def told() -> None:
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)


async def turns(*acts: Callable[[], Awaitable[object]]) -> None:
    """One act after each line of stdin, and a last line before the end: what was used can be read until then."""
    await told()
    for act in acts:
        await act()
        await told()


async def at_once(calls: int, of: Callable[[], Awaitable[object]], lanes: int = 10) -> None:
    """So many calls, ten under way at any time."""

    async def lane(share: int) -> None:
        for _ in range(share):
            await of()

    await asyncio.gather(*(lane((calls + n) // lanes) for n in range(lanes)))
