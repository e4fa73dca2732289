"""Telling other processes that there is work: one notice without content, after the commit, however many commits.

A NOTIFY inside a transaction would make all commits of the database wait for each other.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # ships no types

from perseid.errors import StoreError
from perseid.store.postgres.base import PgBase
from perseid.store.postgres.connection import Connection, errors_of

_log = logging.getLogger("perseid.store")
CHANNEL = "perseid_work"
_AT_MOST_EVERY_S = 0.02
_RECONNECT_S = (0.2, 5.0)
_LAST_WORD_S = 1.0


class PgNotices(PgBase):
    """`notify` is called for every commit that may have made something claimable; `listen` hears of those of all."""

    _notifying: asyncio.Task[None] | None = None
    _wanted = False
    _quiet = False

    def _stirred(self) -> None:
        self.notify()

    def notify(self) -> None:
        """Send a notice soon; those asked for meanwhile are one."""
        self._wanted = True
        if not self._quiet and (self._notifying is None or self._notifying.done()):
            self._notifying = asyncio.get_running_loop().create_task(self._send(), name="perseid-notify")

    async def _send(self) -> None:
        while self._wanted:
            self._wanted = False
            with contextlib.suppress(StoreError):  # whoever isn't told polls
                await self._read(lambda connection: connection.execute(f"NOTIFY {CHANNEL}"))
            await asyncio.sleep(_AT_MOST_EVERY_S)

    async def listen(self, callback: Callable[[], None]) -> None:
        """Call `callback` at each notice, and after each time of deafness, until cancelled.

        Takes a connection of its own, which comes back by itself. Behind a pooler nothing can be heard: it returns
        at once, and the caller polls.
        """
        if self.address.pooled:
            return
        pause = _RECONNECT_S[0]
        while True:
            try:
                with errors_of(self.address):
                    connection = await asyncpg.connect(
                        self.address.dsn, server_settings={"application_name": "perseid"}
                    )
            except StoreError as error:
                _log.warning("notices of work can't be heard (%s); polling meanwhile", error)
                await asyncio.sleep(pause)
                pause = min(_RECONNECT_S[1], pause * 2)
                continue
            pause = _RECONNECT_S[0]
            await self._hear(connection, callback)

    async def _hear(self, connection: Connection, callback: Callable[[], None]) -> None:
        lost = asyncio.Event()

        def told(*_message: Any) -> None:
            callback()

        connection.add_termination_listener(lambda _connection: lost.set())
        try:
            await connection.add_listener(CHANNEL, told)
            callback()
            await lost.wait()
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            _log.warning("notices of work stopped (%s); polling until they are back", error)
        finally:
            if not connection.is_closed():
                connection.terminate()

    async def close_notices(self) -> None:
        """What was to be told is told: who starts a crawl and leaves at once wakes the workers too."""
        self._quiet = True
        if self._notifying is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORD_S):
                    await self._notifying
