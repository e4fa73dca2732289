"""Undo chunked transfer coding (RFC 9112, 7.1), however it arrives."""

from __future__ import annotations

import re

from perseid.fetch.broken import MalformedBody

_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;.*)?", re.DOTALL)
_MAX_LINE = 16 * 1024
_MAX_TRAILERS = 64 * 1024


class Chunks:
    """Feed it what comes; once `ended`, `rest` is what came behind the body."""

    def __init__(self) -> None:
        self.ended = False
        self.rest = b""
        self._left = 0
        self._torn = b""
        """The beginning of a line whose end has not come yet."""
        self._behind_chunk = False
        self._in_trailers = False
        self._trailers = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The pieces of the body in `data`. Raises `MalformedBody`."""
        if self._torn:
            data, self._torn = self._torn + data, b""
        pieces = []
        at = 0
        while at < len(data):
            if self._left:
                piece = data[at : at + self._left]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                self._behind_chunk = not self._left
                continue
            end = data.find(b"\n", at)
            if end < 0:
                self._keep_torn(data[at:])
                break
            self._read_line(data[at : end - 1] if data[end - 1 : end] == b"\r" and end > at else data[at:end])
            at = end + 1
            if self.ended:
                self.rest = data[at:]
                break
        return pieces

    def _keep_torn(self, line: bytes) -> None:
        if len(line) > _MAX_LINE or (self._behind_chunk and line != b"\r"):
            raise MalformedBody("a chunk is longer than it says" if self._behind_chunk else "an endless line")
        self._torn = line

    def _read_line(self, line: bytes) -> None:
        if self._behind_chunk:
            if line:
                raise MalformedBody("a chunk is longer than it says")
            self._behind_chunk = False
        elif self._in_trailers:
            self.ended = not line
            self._trailers += len(line)
            if self._trailers > _MAX_TRAILERS:
                raise MalformedBody("endless trailers")
        else:
            size = _SIZE.fullmatch(line)
            if size is None:
                raise MalformedBody(f"{line[:40]!r} is no size of a chunk")
            self._left = int(size[1], 16)
            self._in_trailers = not self._left
