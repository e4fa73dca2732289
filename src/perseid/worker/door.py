"""Where callers of a team wait while this process has as many of its pages under way as it may have.

The store would find no room for them anyway, and each look there costs more than the page; here the longest waiter
goes first and nobody has to look.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from perseid.errors import Busy

_RETRY_AFTER_S = 5.0


def busy() -> Busy:
    return Busy("all slots are taken; try again later", retry_after_s=_RETRY_AFTER_S)


class Door:
    """One a process."""

    def __init__(self) -> None:
        self._inside: Counter[int] = Counter()
        self._waiting: dict[int, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def passed(self, team: int, most: int | None, wait_s: float) -> AsyncIterator[bool]:
        """Inside once there is room for one of `most`; whether that had to be waited for.

        Raises `Busy` past `wait_s`, and whatever `close` is given.
        """
        waited = most is not None and (self._inside[team] >= most or team in self._waiting)
        if waited:
            await self._wait(team, wait_s)
        else:
            self._inside[team] += 1
        try:
            yield waited
        finally:
            self._leave(team)

    def close(self, error: Exception) -> None:
        """Send all who wait away."""
        for line in self._waiting.values():
            for turn in line:
                if not turn.done():
                    turn.set_exception(error)
        self._waiting.clear()

    async def _wait(self, team: int, wait_s: float) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(team, deque()).append(turn)
        try:
            async with asyncio.timeout(wait_s):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._leave(team)  # its turn came in the same moment
            if isinstance(error, TimeoutError):
                raise busy() from None
            raise
        finally:
            self._forget(team, turn)

    def _forget(self, team: int, turn: asyncio.Future[None]) -> None:
        line = self._waiting.get(team)
        if line is not None and turn in line:
            line.remove(turn)
            if not line:
                del self._waiting[team]

    def _leave(self, team: int) -> None:
        """The place goes to the longest waiter, if there is one."""
        line = self._waiting.get(team)
        while line:
            turn = line.popleft()
            if not line:
                del self._waiting[team]
            if not turn.done():
                turn.set_result(None)
                return
        self._inside[team] -= 1
        if not self._inside[team]:
            del self._inside[team]
