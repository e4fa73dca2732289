"""One connection that speaks HTTP/1.1: requests one after another, each answer read as it is asked for."""

from __future__ import annotations

import asyncio
import select
from typing import TYPE_CHECKING, cast

from perseid.fetch.broken import BodyTruncated, HungUp, MalformedBody, MalformedHead
from perseid.fetch.chunks import Chunks
from perseid.fetch.head import HEAD_END, MAX_HEAD_BYTES, Head, read_head

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_WAITING = 256 * 1024
"""Bytes of a body that wait for their reader before the sender has to."""
_TAIL = 3  # a blank line may be torn
_MOST_INTERIM = 32
"""Answers 1xx before the final one."""


class Wire(asyncio.Protocol):
    """Give it a request by `ask`, then read the body by `read` until that gives b"" (or drop the wire)."""

    def __init__(self, *, private: bool = False) -> None:
        self.private = private
        """What it is connected to is a local address."""
        self.whole = True
        """The answer has been received to its end."""
        self._keep = True
        self._transport: asyncio.Transport | None = None
        self._head: Head | None = None
        self._torn = bytearray()
        self._take: Callable[[bytes], None] = self._take_head
        self._left = 0
        self._chunks: Chunks | None = None
        self._pieces: list[bytes] = []
        self._waiting = 0
        self._paused = False
        self._interim = 0
        self._trouble: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._deadline = 0.0
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def transport(self) -> asyncio.Transport:
        assert self._transport is not None
        return self._transport

    @property
    def reusable(self) -> bool:
        """Another request may be sent: nothing of the last answer is still to come, or here and unread."""
        return self.whole and self._keep and not self._pieces and not self.transport.is_closing()

    @property
    def disturbed(self) -> bool:
        """Something has come that the loop has not read yet: the end, or an answer to no question of ours."""
        link = self.transport.get_extra_info("socket")
        if not hasattr(select, "poll"):
            return bool(select.select([link], [], [], 0)[0])
        poll = select.poll()
        poll.register(link.fileno(), select.POLLIN)
        return bool(poll.poll(0))

    async def ask(self, request: bytes, deadline: float) -> Head:
        """Send a request and wait for the head of the final answer.

        All of the answer has to be here at `deadline` (of the loop's clock). Raises `HungUp`, `MalformedHead`, and
        the OSError of a broken connection, `TimeoutError` among them.
        """
        if self._trouble is not None:
            # It was closed, or said something unasked, before we came to ask.
            raise self._trouble
        self.whole, self._head, self._interim = False, None, 0
        self._set_alarm(deadline)
        self._take = self._take_head
        self.transport.write(request)
        while (head := self._answered()) is None:
            await self._more()
        return head

    async def read(self) -> bytes:
        """What has come of the body, b"" at its end. Raises `BodyTruncated`, `MalformedBody`, `TimeoutError`."""
        while not self._pieces:
            if self.whole:
                return b""
            if self._trouble is not None:
                raise self._trouble
            await self._more()
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._waiting = 0
        if self._paused:
            self._paused = False
            self.transport.resume_reading()
        return data

    def hand_over(self) -> asyncio.Transport:
        """The transport, for another protocol to speak from now on: no deadline of ours may end it."""
        self._cancel_alarm()
        return self.transport

    def close(self) -> None:
        self._keep = False
        self._cancel_alarm()
        if self._trouble is None and not self.whole:
            # Without a length, the end of the connection would pass for the end of the body.
            gone = "the connection was closed here"
            self._trouble = HungUp(gone) if self._head is None else BodyTruncated(gone)
            self._wake()
        if self._transport is not None:
            self._transport.abort()

    def _cancel_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _set_alarm(self, deadline: float) -> None:
        """One timer serves many requests: it is only ever set anew when it goes off, or would go off too late."""
        self._deadline = deadline
        if self._alarm is not None and self._alarm.when() > deadline:
            self._cancel_alarm()
        if self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_at(deadline, self._late)

    def _late(self) -> None:
        self._alarm = None
        if self.whole:
            return
        if asyncio.get_running_loop().time() < self._deadline:
            self._set_alarm(self._deadline)
            return
        self._fail(TimeoutError())
        self._wake()

    def _answered(self) -> Head | None:
        if self._head is None and self._trouble is not None:
            raise self._trouble
        return self._head

    async def _more(self) -> None:
        self._reader = asyncio.get_running_loop().create_future()
        try:
            await self._reader
        finally:
            self._reader = None

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self.whole:
            # Nobody asked: whatever it is, it would be taken for the next answer.
            self._trouble = self._trouble or HungUp("it spoke unasked")
            self.close()
            return
        try:
            self._take(data)
        except (MalformedHead, MalformedBody) as error:
            self._fail(error)
        if self._waiting > _MOST_WAITING and not self._paused and not self.whole:
            self._paused = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._ended(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended(exc)

    def _ended(self, error: Exception | None) -> None:
        self._keep = False
        if self._trouble is not None:
            return
        head = self._head
        if head is None or self.whole:
            self._trouble = error or HungUp("no answer")
        elif error is not None:
            self._trouble = BodyTruncated("the connection was reset in the middle of the body")
        elif head.length is not None or head.chunked:
            self._trouble = BodyTruncated("the body ended early: the connection was closed in the middle of it")
        else:
            self.whole = True
        self._wake()

    def _fail(self, error: Exception) -> None:
        self._trouble = self._trouble or error
        self.close()

    def _take_head(self, data: bytes) -> None:
        if self._torn:
            start = max(0, len(self._torn) - _TAIL)
            self._torn += data
            if HEAD_END.search(self._torn, start) is None:
                self._check_torn()
                return
            data = bytes(self._torn)
            self._torn.clear()
        while True:
            data = data.lstrip(b"\r\n")
            end = HEAD_END.search(data)
            if end is None:
                self._torn += data
                self._check_torn()
                return
            head, data = read_head(data[: end.end()]), data[end.end() :]
            if head.status >= 200 or head.status == 101:
                break
            self._interim += 1
            if self._interim > _MOST_INTERIM:
                raise MalformedHead(f"more than {_MOST_INTERIM} interim answers")
        self._begin_body(head)
        if data:
            self._take(data)

    def _check_torn(self) -> None:
        if len(self._torn) > MAX_HEAD_BYTES:
            raise MalformedHead(f"a head of more than {MAX_HEAD_BYTES:,} bytes")
        start = bytes(self._torn[:40])
        if not b"HTTP/".startswith(start[:5].upper()):
            raise MalformedHead(f"{start!r} is no status line")

    def _begin_body(self, head: Head) -> None:
        self._head = head
        self._keep = self._keep and head.keep
        if head.chunked:
            self._chunks, self._take = Chunks(), self._take_chunks
        elif head.length is None:
            self._take = self._take_piece
        else:
            self._left, self._take = head.length, self._take_counted
            self.whole = not self._left

    def _take_counted(self, data: bytes) -> None:
        if len(data) > self._left:
            self._keep = False
            data = data[: self._left]
        self._left -= len(data)
        self.whole = not self._left
        if data:
            self._take_piece(data)

    def _take_piece(self, data: bytes) -> None:
        self._pieces.append(data)
        self._waiting += len(data)

    def _take_chunks(self, data: bytes) -> None:
        chunks = self._chunks
        assert chunks is not None
        for piece in chunks.feed(data):
            self._take_piece(piece)
        if chunks.ended:
            self.whole = True
            self._keep = self._keep and not chunks.rest
