"""How long a client may take over the head of a request, how long that may be, and how long it may take to read what
it asked for: then it is cut off.

Bodies have a limit of their own (`perseid.api.limits`), and connections between two requests one of uvicorn's. There
are as many connections as leave files for the store, sites and receivers; more are closed at once.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as _Protocol
except ImportError:  # not made for this platform: the slower parser does the same
    from uvicorn.protocols.http.h11_impl import H11Protocol as _Protocol  # type: ignore[assignment]

MAX_HEAD_BYTES = 64 * 1024
_HEAD_S = 20.0
_READ_S = 60.0


class PatientProtocol(_Protocol):
    """uvicorn's, which by itself waits for ever."""

    head_s = _HEAD_S
    read_s = _READ_S
    most: int | None = None
    """Connections at once; None is half of the files that this process may have open."""
    _head: asyncio.TimerHandle | None = None
    _in_head = False
    _head_bytes = 0
    """Of a head that is not whole yet, after those it began with."""
    _reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        if len(self.connections) > (self.most or resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2):
            transport.abort()
            return
        self._head = self.loop.call_later(self.head_s, self._cut_off)

    def data_received(self, data: bytes) -> None:
        further = self._in_head
        super().data_received(data)
        if further and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._cut_off()
        if self._is_answering():
            self._head = _stopped(self._head)
        elif self._head is None:
            # The beginning of a further request, for which uvicorn has just stopped its own clock.
            self._head = self.loop.call_later(self.head_s, self._cut_off)

    def on_message_begin(self) -> None:
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._head = _stopped(self._head)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading = self._reading or self.loop.call_later(self.read_s, self._give_up)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._reading = _stopped(self._reading)

    def connection_lost(self, exc: Exception | None) -> None:
        self._head, self._reading = _stopped(self._head), _stopped(self._reading)
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        """Also where another protocol has taken the connection over, as for a WebSocket."""
        cycle: Any = self.cycle  # None before the first request, whatever its type says
        mine = self.transport.get_protocol() is self
        return not mine or (cycle is not None and not cycle.response_complete)

    def _cut_off(self) -> None:
        self._head = None
        if not self._is_answering() and not self.transport.is_closing():
            self.transport.close()

    def _give_up(self) -> None:
        self._reading = None
        self.transport.abort()


def _stopped(timer: asyncio.TimerHandle | None) -> Any:
    if timer is not None:
        timer.cancel()
