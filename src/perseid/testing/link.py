"""A TCP connection to some server that can be cut, muted and mended: what a network does between two machines."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any, Self

from perseid.testing.listening import end_listening

if TYPE_CHECKING:
    from collections.abc import Coroutine


class Link:
    """Listens on `port` of loopback and passes everything on. `async with Link("localhost", 5672) as link: …`"""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._passing: set[asyncio.Task[None]] = set()
        self._open = asyncio.Event()
        self._open.set()
        self._refusing = False
        self.port = 0

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_exit: object) -> None:
        await self.close()

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        assert self._server is not None
        await end_listening(self._server)
        self._open.set()
        await self._cut_all()
        await self._server.wait_closed()

    async def cut(self) -> None:
        """End all connections, and refuse new ones until mended."""
        self._refusing = True
        await self._cut_all()

    async def blink(self) -> None:
        """End all connections; new ones are fine."""
        await self._cut_all()

    def mute(self) -> None:
        """Connections stay, and nothing passes any more: a cable pulled, a firewall that forgot."""
        self._open.clear()

    async def mend(self) -> None:
        self._refusing = False
        self._open.set()

    async def _cut_all(self) -> None:
        passing = list(self._passing)
        for task in passing:
            task.cancel()
        await asyncio.gather(*passing, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def ended(task: asyncio.Task[None]) -> None:
            self._passing.discard(task)
            writer.transport.abort()
            if not task.cancelled():
                task.exception()  # both ends see the connection end

        if self._refusing:
            writer.transport.abort()
            return
        task = asyncio.create_task(self._join(reader, writer))
        self._passing.add(task)
        task.add_done_callback(ended)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._open.wait()
        far_reader, far_writer = await asyncio.open_connection(*self._target)
        ways = [
            asyncio.create_task(self._pass(reader, far_writer)),
            asyncio.create_task(self._pass(far_reader, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            far_writer.transport.abort()
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                await self._open.wait()
                writer.write(data)
                await writer.drain()


class Network:
    """A link in a thread and loop of its own, for tests whose processes run while the test itself waits."""

    def __init__(self, port: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._link = Link("127.0.0.1", port)
        self._do(self._link.open())
        self.port = self._link.port

    def _do(self, what: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(30)

    def cut(self) -> None:
        self._do(self._link.cut())

    def mute(self) -> None:
        self._loop.call_soon_threadsafe(self._link.mute)

    def mend(self) -> None:
        self._do(self._link.mend())

    def close(self) -> None:
        self._do(self._link.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
