"""Undo Content-Encoding piece by piece, never producing more than asked for: zip bombs stop at the cap."""

from __future__ import annotations

import sys
import zlib
from typing import Protocol

# It ships no stubs.
import brotli  # type: ignore[import-untyped]  # it ships no types

if sys.version_info >= (3, 14):
    from compression.zstd import DecompressionParameter, ZstdDecompressor, ZstdError
else:
    from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
MAX_LAYERS = 4
MAX_MEMBERS = 1024
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_FEED = 64 * 1024
_ZSTD_OPTIONS = {int(DecompressionParameter.window_log_max): 23}


class CorruptBody(Exception):
    """The compressed bytes can't be decoded; stays inside this package."""


class Inflater(Protocol):
    def feed(self, data: bytes, room: int) -> list[bytes]:
        """Decode `data` until `room` bytes came out; raises `CorruptBody`.

        Once more than `room` bytes are there the caller must stop: the rest of the input is dropped.
        """
        ...

    @property
    def finished(self) -> bool:
        """The compressed stream is complete, so that a body ending here isn't truncated."""
        ...


class _Gzip:
    """gzip of one or more members (RFC 1952, 2.2), or zlib or raw deflate; garbage behind it is ignored."""

    def __init__(self, *, deflate: bool) -> None:
        self._deflate = deflate
        self._head = b""
        self._decoder: zlib._Decompress | None = None
        self._plain = False
        self._members = 0
        self._idle = True
        self._ended = False

    @property
    def finished(self) -> bool:
        return self._plain or self._idle or self._ended

    def feed(self, data: bytes, room: int) -> list[bytes]:
        if self._plain:
            return [data]
        if self._ended and self._deflate:
            return []
        if self._decoder is None:
            data = self._head + data
            if len(data) < 2:
                self._head, self._idle = data, not data
                return []
            self._head = b""
            self._start(data)
        out: list[bytes] = []
        try:
            self._drain(data, room, out)
        except zlib.error as error:
            raise CorruptBody(f"compressed body is damaged: {error}") from None
        return out

    def _start(self, data: bytes) -> None:
        """Choose the decoder by the first two bytes, if there is anything (more) to decode."""
        if data.startswith(_GZIP_MAGIC):
            wbits = 31
        elif self._members:
            self._ended = True  # padding after the last member
            return
        elif self._deflate:
            # RFC 9110, 8.4.1.2 means zlib; many servers send raw deflate.
            zlib_header = data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
            wbits = 15 if zlib_header else -15
        else:
            self._plain = True  # labelled gzip, but sent as it is
            return
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise CorruptBody(f"compressed body has more than {MAX_MEMBERS} members")
        self._decoder = zlib.decompressobj(wbits)
        self._idle = self._ended = False

    def _drain(self, data: bytes, room: int, out: list[bytes]) -> None:
        if self._plain:
            out.append(data)
        while data and self._decoder is not None:
            piece = self._decoder.decompress(data, max(room, 0) + 1)
            if piece:
                out.append(piece)
                room -= len(piece)
                if room < 0:
                    return
            if not self._decoder.eof:
                data = self._decoder.unconsumed_tail
                continue
            data = self._decoder.unused_data
            self._decoder = None
            self._ended = True
            if self._deflate:
                return
            if len(data) < 2:
                self._head = data
                return
            self._start(data)


class _Brotli:
    """RFC 7932. Output is asked for in pieces, so that one input byte can't yield gigabytes."""

    def __init__(self) -> None:
        self._decoder = brotli.Decompressor()
        self._idle = True

    @property
    def finished(self) -> bool:
        return self._idle or self._decoder.is_finished()

    def feed(self, data: bytes, room: int) -> list[bytes]:
        if self._decoder.is_finished():
            return []
        self._idle = self._idle and not data
        out: list[bytes] = []
        try:
            piece = self._decoder.process(data, output_buffer_limit=_FEED)
            while True:
                if piece:
                    out.append(piece)
                    room -= len(piece)
                if room < 0 or self._decoder.can_accept_more_data() or self._decoder.is_finished():
                    return out
                piece = self._decoder.process(b"", output_buffer_limit=_FEED)
        except brotli.error as error:
            raise CorruptBody(f"compressed body is damaged: {error}") from None


class _Zstd:
    """RFC 8878, one or more frames. The window is bounded at 8 MB as RFC 9659 demands."""

    def __init__(self) -> None:
        self._decoder: ZstdDecompressor | None = None
        self._head = b""
        self._frames = 0
        self._plain = False
        self._ended = False

    @property
    def finished(self) -> bool:
        return self._plain or self._ended or (self._decoder is None and not self._head)

    def feed(self, data: bytes, room: int) -> list[bytes]:
        if self._plain:
            return [data]
        out: list[bytes] = []
        data = self._head + data
        self._head = b""
        try:
            while data and room >= 0:
                if self._decoder is None:
                    self._start(data)
                data, room = self._step(data, room, out)
        except ZstdError as error:
            raise CorruptBody(f"compressed body is damaged: {error}") from None
        return out

    def _start(self, data: bytes) -> None:
        if len(data) < 4:
            self._head = data
            return
        skippable = data[1:4] == b"\x2a\x4d\x18" and data[0] & 0xF0 == 0x50
        if not (data.startswith(_ZSTD_MAGIC) or skippable):
            self._plain = not self._frames
            self._ended = True
            return
        self._frames += 1
        if self._frames > MAX_MEMBERS:
            raise CorruptBody(f"compressed body has more than {MAX_MEMBERS} frames")
        self._decoder = ZstdDecompressor(options=_ZSTD_OPTIONS)
        self._ended = False

    def _step(self, data: bytes, room: int, out: list[bytes]) -> tuple[bytes, int]:
        decoder = self._decoder
        if decoder is None:
            if self._plain:
                out.append(data)
            return b"", room
        while True:
            piece = decoder.decompress(data, max_length=max(room, 0) + 1)
            if piece:
                out.append(piece)
                room -= len(piece)
            data = b""
            if decoder.eof:
                self._decoder, self._ended = None, True
                return decoder.unused_data, room
            if room < 0 or decoder.needs_input:
                return b"", room


class _Chain:
    """Several codings, applied by the server in the order listed (RFC 9110, 8.4): undone from the last."""

    def __init__(self, layers: list[Inflater]) -> None:
        self._layers = layers

    @property
    def finished(self) -> bool:
        return all(layer.finished for layer in self._layers)

    def feed(self, data: bytes, room: int) -> list[bytes]:
        pieces = [data]
        for layer in self._layers:
            left = room
            following: list[bytes] = []
            for piece in pieces:
                got = layer.feed(piece, left)
                following += got
                left -= sum(map(len, got))
                if left < 0:
                    break
            pieces = following
        return pieces


def inflater(content_encoding: str) -> Inflater | None:
    """The decoder for a Content-Encoding header; `None` if nothing is to be decoded.

    Unknown codings are ignored, as browsers do. Raises `CorruptBody` for more than four layers.
    """
    layers: list[Inflater] = []
    for name in reversed(content_encoding.lower().split(",")):
        match name.strip():
            case "gzip" | "x-gzip":
                layers.append(_Gzip(deflate=False))
            case "deflate" | "x-deflate":
                layers.append(_Gzip(deflate=True))
            case "br":
                layers.append(_Brotli())
            case "zstd":
                layers.append(_Zstd())
            case _:
                pass
    if len(layers) > MAX_LAYERS:
        raise CorruptBody(f"body is compressed {len(layers)} times over; at most {MAX_LAYERS} are undone")
    if len(layers) > 1:
        return _Chain(layers)
    return layers[0] if layers else None
