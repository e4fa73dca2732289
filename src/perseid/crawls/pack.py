"""A document on its way into the store and out again: one line of JSON, compressed by Zstandard."""

from __future__ import annotations

import sys
import threading

import msgspec

from perseid.model.document import Document

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdCompressor, ZstdDecompressor
else:
    from backports.zstd import ZstdCompressor, ZstdDecompressor

_LEVEL = 1
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Document)


class _Tools(threading.local):
    """One compressor a thread: to make it is most of the cost of something small."""

    def __init__(self) -> None:
        self.compressor = ZstdCompressor(level=_LEVEL)


_tools = _Tools()


def squeeze(data: bytes) -> bytes:
    return _tools.compressor.compress(data, mode=ZstdCompressor.FLUSH_FRAME)


class Packer:
    """Packs documents."""

    def pack(self, document: Document) -> bytes:
        return squeeze(_encoder.encode(document))


def unpack(body: bytes) -> bytes:
    """What was squeezed; of a packed document the JSON line, without its line end."""
    return ZstdDecompressor().decompress(body)


def read(line: bytes) -> Document:
    return _decoder.decode(line)
