"""Gunzip in bounded steps, whatever the name or label of the file says: gzip is known by its magic bytes."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = b"\x1f\x8b"
_STEP = 128 * 1024
_MAX_LAYERS = 3


class Inflater:
    """Passes plain bytes through and inflates gzip: several members, and gzip within gzip."""

    def __init__(self, max_bytes: int, *, layers: int = _MAX_LAYERS) -> None:
        self.overflow = False
        """More than `max_bytes` would come out; nothing more is given."""
        self.corrupt = False
        """A checksum or the stream itself is wrong, or its end is missing."""
        self._room = max_bytes
        self._layers = layers
        self._head: bytes | None = b""
        self._stream: _Members | None = None
        self._inner: Inflater | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What can be given by now, in pieces of at most 128 KiB."""
        if self._head is not None:
            data = self._head + data
            if len(data) < len(_MAGIC):
                self._head = data
                return
            self._head = None
            if data.startswith(_MAGIC) and self._layers:
                self._stream = _Members()
                self._inner = Inflater(self._room, layers=self._layers - 1)
        if self._stream is None or self._inner is None:
            yield from self._within_room(data)
            return
        for piece in self._stream.feed(data):
            for allowed in self._within_room(piece):
                yield from self._inner.feed(allowed)
        self._inherit()

    def close(self) -> Iterator[bytes]:
        """The rest."""
        if self._head:
            head, self._head = self._head, None
            yield from self._within_room(head)
        if self._stream is not None and self._inner is not None:
            self._stream.close()
            yield from self._inner.close()
            self._inherit()

    def _inherit(self) -> None:
        if self._stream is not None and self._inner is not None:
            self.corrupt = self._stream.corrupt or self._inner.corrupt
            self.overflow = self.overflow or self._inner.overflow

    def _within_room(self, data: bytes) -> Iterator[bytes]:
        if self.overflow:
            return
        if len(data) > self._room:
            self.overflow = True
            data = data[: self._room]
        self._room -= len(data)
        for at in range(0, len(data), _STEP):
            yield data[at : at + _STEP]


class _Members:
    """One gzip stream of one or more members; bytes after the last that are no member are ignored."""

    def __init__(self) -> None:
        self.corrupt = False
        self._member = zlib.decompressobj(wbits=31)
        self._between = b""
        self._done = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data and not self._done:
            if self._member.eof:
                data = self._between + data
                if len(data) < len(_MAGIC):
                    self._between = data
                    return
                self._between = b""
                if not data.startswith(_MAGIC):
                    self._done = True
                    return
                self._member = zlib.decompressobj(wbits=31)
            before = self._member.copy()
            try:
                piece = self._member.decompress(data, _STEP)
            except zlib.error:
                self.corrupt = self._done = True
                yield from _salvage(before, data)
                return
            data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            if piece:
                yield piece

    def close(self) -> None:
        if not self._member.eof:
            self.corrupt = True


def _salvage(member: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """What comes out of a damaged stream before its damage: fed again in small bites."""
    for at in range(0, len(data), 16):
        bite = data[at : at + 16]
        while bite:
            try:
                piece = member.decompress(bite, _STEP)
            except zlib.error:
                return
            bite = member.unconsumed_tail
            if piece:
                yield piece
            if member.eof:
                return
