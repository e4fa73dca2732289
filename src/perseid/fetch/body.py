"""Read a body within its bounds: inflated size, wire size, and completeness."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from perseid.fetch.broken import BodyTooLarge, BodyTruncated

if TYPE_CHECKING:
    from perseid.fetch.inflate import Inflater
    from perseid.fetch.wire import Wire

_SNIFF = 512
_SLICE = 16 * 1024
_BREATHE = 1024 * 1024
_DOCUMENT_TYPES = ("application/pdf", "application/x-pdf", "application/zip", "application/msword",
                   "application/vnd.", "application/epub+zip", "application/rtf")  # fmt: skip
_DOCUMENT_MAGIC = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"{\\rtf")


class Bounds(NamedTuple):
    """Caps in bytes, for the body as inflated and as sent alike."""

    html: int
    document: int
    cut: bool = False
    """Give the first part of a body over the cap instead of refusing it."""


def is_document(content_type: str, head: bytes) -> bool:
    """The document cap applies: by label, or by the magic bytes of PDF, ZIP (Office), OLE or RTF."""
    if content_type.lower().startswith(_DOCUMENT_TYPES):
        return True
    return head.startswith(_DOCUMENT_MAGIC) or b"%PDF-" in head[:1024]


class BodyReader:
    """One body: `read` it once, then `wire` tells how many bytes came over the connection."""

    def __init__(self, bounds: Bounds, content_type: str, length: int | None, inflater: Inflater | None) -> None:
        self.wire = 0
        self._bounds = bounds
        self._content_type = content_type
        self._length = length
        self._inflater = inflater
        self._cap: int | None = None
        self._size = 0
        self._since_breath = 0
        self._parts: list[bytes] = []

    async def read(self, wire: Wire) -> bytes:
        """The body, decoded.

        Raises `BodyTooLarge`, `BodyTruncated`, `CorruptBody`, and what the wire raises when it breaks.
        """
        widest = max(self._bounds.html, self._bounds.document)
        if self._length is not None and self._length > widest and not self._bounds.cut:
            raise self._too_large(widest)
        while data := await wire.read():
            self.wire += len(data)
            if self._inflater is None:
                full = self._take(data)
            else:
                full = await self._inflate(self._inflater, data)
            if full or self.wire > widest:
                if self._bounds.cut:
                    return b"".join(self._parts)[: self._cap]
                raise self._too_large(self._cap or widest)
        if self._inflater is not None and not self._inflater.finished:
            raise BodyTruncated("the compressed body ended early")
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    async def _inflate(self, inflater: Inflater, data: bytes) -> bool:
        at = 0
        while at < len(data):
            # Until the first bytes are seen the cap isn't known: go in small steps, under the smaller one.
            step = _SLICE if self._cap is not None else _SNIFF
            cap = self._cap or min(self._bounds.html, self._bounds.document)
            for piece in inflater.feed(data[at : at + step], cap - self._size):
                self._since_breath += len(piece)
                if self._take(piece):
                    return True
            at += step
            if self._since_breath > _BREATHE:
                self._since_breath = 0
                await asyncio.sleep(0)
        return False

    def _take(self, piece: bytes) -> bool:
        """Keep decoded bytes; true once the cap is passed."""
        if not piece:
            return False
        self._parts.append(piece)
        self._size += len(piece)
        if self._cap is None:
            # A server may trickle the magic bytes: decide when four are there.
            head = piece if len(self._parts) == 1 else b"".join(self._parts)
            if len(head) < 4:
                return False
            self._cap = self._bounds.document if is_document(self._content_type, head) else self._bounds.html
            if self._length is not None and self._length > self._cap and not self._bounds.cut:
                return True
        return self._size > self._cap

    def _too_large(self, cap: int) -> BodyTooLarge:
        announced = f" (announced: {self._length:,})" if self._length is not None else ""
        return BodyTooLarge(f"the body is larger than the {cap:,} bytes allowed{announced}")
