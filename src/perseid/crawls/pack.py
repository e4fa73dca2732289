"""A document on its way into the store and out again: one line of JSON, compressed by Zstandard."""

from __future__ import annotations

import sys

import msgspec

from perseid.model.document import Document

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdCompressor, ZstdDecompressor
else:
    from backports.zstd import ZstdCompressor, ZstdDecompressor

_LEVEL = 1
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Document)


def squeeze(data: bytes) -> bytes:
    return ZstdCompressor(level=_LEVEL).compress(data, mode=ZstdCompressor.FLUSH_FRAME)


class Packer:
    """Packs documents with one compressor, which is most of the cost of a small one; for one thread."""

    def __init__(self) -> None:
        self._compressor = ZstdCompressor(level=_LEVEL)

    def pack(self, document: Document) -> bytes:
        return self._compressor.compress(_encoder.encode(document), mode=ZstdCompressor.FLUSH_FRAME)


def unpack(body: bytes) -> bytes:
    """What was squeezed; of a packed document the JSON line, without its line end."""
    return ZstdDecompressor().decompress(body)


def read(line: bytes) -> Document:
    return _decoder.decode(line)
