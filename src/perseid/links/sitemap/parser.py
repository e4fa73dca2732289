"""The parser to feed: gunzips, finds out what the file is, and reads it strictly while it can."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Protocol

from perseid.links.sitemap.encoding import charset_of, opening
from perseid.links.sitemap.entry import Sitemap, SitemapEntry, SitemapError, SitemapKind, SitemapWarning
from perseid.links.sitemap.inflate import Inflater
from perseid.links.sitemap.strict import Xml
from perseid.links.sitemap.structure import MAX_URL, Structure

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_INFLATED_BYTES = 50 * 1024 * 1024
"""The protocol's own bound for one file, uncompressed."""
MAX_ENTRIES = 500_000
"""Ten times the protocol's bound: larger files are met, and bytes are bounded anyway."""

_MAX_GAP = 2 * 1024 * 1024
"""Bytes between two entries: what is longer holds none, and would only cost time."""
_HEAD = 1_024
_MAX_BLANK = 64 * 1024


class SitemapParser:
    """Reads one file as its bytes arrive: XML sitemap or index, RSS 2.0 or 1.0, Atom, or a URL a line.

    `feed` and `close` return what was found since. Nothing raises on bad input: see `error`, after which
    everything further is ignored, and `warnings`. An entry whose file ends within it is kept if its URL is
    complete.
    """

    def __init__(
        self,
        *,
        max_inflated_bytes: int = MAX_INFLATED_BYTES,
        max_entries: int = MAX_ENTRIES,
        content_type: str | None = None,
    ) -> None:
        self._inflater = Inflater(max_inflated_bytes)
        self._structure = Structure(max_entries)
        self._charset = charset_of(content_type)
        self._head: bytes | None = b""
        self._reader: _Reader | None = None
        self._closed = False
        self._count = 0
        self._gap = 0

    @property
    def kind(self) -> SitemapKind | None:
        return self._structure.kind

    @property
    def error(self) -> SitemapError | None:
        return self._structure.error

    @property
    def warnings(self) -> tuple[SitemapWarning, ...]:
        return tuple(self._structure.warnings)

    def feed(self, chunk: bytes) -> list[SitemapEntry]:
        self._read(self._inflater.feed(chunk))
        return self._found()

    def close(self) -> list[SitemapEntry]:
        if self._closed:
            return []
        self._closed = True
        self._read(self._inflater.close())
        if self._head and not self._failed():
            self._open(self._head)
        if self._inflater.corrupt:
            self._structure.warnings[SitemapWarning.CORRUPT_GZIP] = None
        if self._reader is not None and not self._failed():
            self._reader.close()
        if self.kind is None and self.error is None:
            self._structure.error = SitemapError.NOT_XML
        return self._found()

    def _failed(self) -> bool:
        return self._structure.error is not None

    def _read(self, pieces: Iterable[bytes]) -> None:
        if self._failed():
            return
        for piece in pieces:
            if self._head is not None:
                self._head += piece
                blank = len(self._head) - len(self._head.lstrip())
                if len(self._head) - blank >= _HEAD or len(self._head) > _MAX_BLANK:
                    self._open(self._head)
            elif self._reader is not None:
                self._reader.feed(piece)
            self._bound_gap(len(piece))
            if self._failed():
                return
        if self._inflater.overflow:
            self._structure.error = SitemapError.DECOMPRESSED_TOO_LARGE

    def _bound_gap(self, size: int) -> None:
        count = self._structure.count
        self._gap = 0 if count > self._count else self._gap + size
        self._count = count
        if self._gap > _MAX_GAP and not self._failed():
            self._structure.error = SitemapError.DECOMPRESSED_TOO_LARGE

    def _open(self, head: bytes) -> None:
        self._head = None
        found = opening(head, self._charset)
        if found.junk:
            self._structure.warnings[SitemapWarning.BROKEN_XML] = None
        if found.is_xml:
            self._reader = Xml(self._structure, found.encoding)
        else:
            self._reader = _Lines(self._structure, found.encoding)
        self._reader.feed(head[found.start :])

    def _found(self) -> list[SitemapEntry]:
        entries, self._structure.entries = self._structure.entries, []
        return entries


def parse_sitemap(
    body: bytes,
    content_type: str | None = None,
    *,
    max_inflated_bytes: int = MAX_INFLATED_BYTES,
    max_entries: int = MAX_ENTRIES,
) -> Sitemap:
    """Read a whole file; `content_type` only helps with the encoding. Never raises."""
    parser = SitemapParser(max_inflated_bytes=max_inflated_bytes, max_entries=max_entries, content_type=content_type)
    entries = parser.feed(body)
    entries += parser.close()
    return Sitemap(parser.kind, entries, parser.error, parser.warnings)


class _Reader(Protocol):
    def feed(self, data: bytes) -> None: ...

    def close(self) -> None: ...


class _Lines:
    """The plain text form: one URL a line."""

    def __init__(self, structure: Structure, encoding: str) -> None:
        self._structure = structure
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._rest = ""

    def feed(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + self._decoder.decode(data)).replace("\r", "\n").split("\n")
        for line in lines:
            self._structure.line(line)
        if len(self._rest) > MAX_URL + 2:
            # Too long for a URL; what follows it up to the end of the line is dropped with it.
            self._rest = " " * (MAX_URL + 1)

    def close(self) -> None:
        self._structure.line(self._rest + self._decoder.decode(b"", final=True))
