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
    """Packs documents with one compressor, which is most of the cost of a small one; for one thread.

    Who follows a crawl asks for each page as soon as the store has it. With `room` the pages packed last are kept as
    they were, until they are asked for.
    """

    def __init__(self) -> None:
        self._compressor = ZstdCompressor(level=_LEVEL)
        self.room = 0
        """Bytes of JSON that are kept; none where nobody follows."""
        self._kept: dict[bytes, tuple[bytes, Document]] = {}
        self._size = 0

    def pack(self, document: Document) -> bytes:
        line = _encoder.encode(document)
        body = self._compressor.compress(line, mode=ZstdCompressor.FLUSH_FRAME)
        if len(line) <= self.room // 16:
            self._keep(body, line, document)
        return body

    def unpack(self, body: bytes) -> tuple[bytes, Document]:
        """The JSON line of a packed document, and the document. What is kept is given away."""
        kept = self._kept.pop(body, None)
        if kept is None:
            line = unpack(body)
            return line, read(line)
        self._size -= len(kept[0])
        return kept

    def _keep(self, body: bytes, line: bytes, document: Document) -> None:
        if body in self._kept:
            return
        self._kept[body] = line, document
        self._size += len(line)
        while self._size > self.room:
            self.unpack(next(iter(self._kept)))


def unpack(body: bytes) -> bytes:
    """What was squeezed; of a packed document the JSON line, without its line end."""
    return ZstdDecompressor().decompress(body)


def read(line: bytes) -> Document:
    return _decoder.decode(line)
