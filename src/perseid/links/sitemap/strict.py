"""XML, read strictly while it can be and leniently from then on."""

from __future__ import annotations

import codecs
from functools import partial
from typing import TYPE_CHECKING
from xml.parsers import expat

from perseid.links.sitemap.entry import SitemapError, SitemapWarning
from perseid.links.sitemap.plain import ENDS, plain
from perseid.links.sitemap.scanner import Scanner

if TYPE_CHECKING:
    from perseid.links.sitemap.structure import Structure

_LONGEST = 64 * 1024
"""Bytes of an entry that are waited for in one piece."""
_STRIDE = 1_024
"""Bytes for expat before plain entries are looked for again, doubled while none are found."""


class Xml:
    """Reads by expat until that refuses, then goes on after the last whole entry by the scanner.

    Once expat has come to the end of an entry, plain ones that follow are taken past it: it never sees them, which
    makes no difference to it, since each is well-formed in itself.
    """

    def __init__(self, structure: Structure, encoding: str) -> None:
        self._structure = structure
        self._decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)("replace")
        self._rest = b""
        """The beginning of an entry, which nobody has seen yet."""
        self._pending = bytearray()
        """What expat was given since the last whole entry; its first byte is number `_offset` of the stream."""
        self._offset = 0
        self._given = 0
        self._marked = 0
        self._scanner: Scanner | None = None
        self._lenient_decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._expat = expat.ParserCreate("utf-8")
        self._expat.buffer_text = True
        self._expat.StartElementHandler = structure.start
        self._expat.EndElementHandler = structure.end
        self._expat.StartDoctypeDeclHandler = self._doctype
        structure.listen = partial(setattr, self._expat, "CharacterDataHandler")
        structure.mark = self._mark

    def feed(self, data: bytes) -> None:
        if self._decoder is not None:
            data = self._decoder.decode(data).encode()
        if not self._given:
            # Nothing may stand before an XML declaration, but something often does.
            data = data.lstrip(b" \t\r\n\0")
        data, self._rest = self._rest + data, b""
        self._read(data)

    def close(self) -> None:
        rest, self._rest = self._rest, b""
        self._parse(rest, last=False)
        self._parse(b"", last=True)
        if self._scanner is not None:
            self._scanner.feed(self._lenient_decoder.decode(b"", final=True))
            self._scanner.close()
        # A value that was cut off is no value; one that is whole makes the entry.
        self._structure.drop_field()
        if self._structure.error is None:
            self._structure.close_entry()

    def _read(self, data: bytes) -> None:
        """Plain entries at once; what is between them by expat, up to the end of the next entry."""
        at, stride = 0, 0
        while at < len(data) and self._structure.error is None:
            end = ENDS.get(self._structure.entry_name) if self._scanner is None else None
            if end and self._behind(end):
                entries, behind = plain(data, at, self._structure.entry_name, self._structure.room)
                if behind > at:
                    self._structure.take(entries)
                    at, stride = behind, 0
                if len(data) - at < _LONGEST and data.find(end, at) < 0:
                    self._rest = data[at:]
                    return
            found = data.find(end, at + stride) if end else -1
            stop = found + len(end) if end and found >= 0 else len(data)
            self._parse(data[at:stop], last=False)
            at, stride = stop, max(_STRIDE, 2 * stride)

    def _behind(self, end: bytes) -> bool:
        """Whether expat's last bytes are the end of an entry, and no comment or the like, and more may follow."""
        return self._marked + len(end) == self._given and self._structure.wrapped

    def _parse(self, data: bytes, *, last: bool) -> None:
        if self._scanner is None:
            self._pending += data
            self._given += len(data)
            try:
                self._expat.Parse(data, last)
            except (expat.ExpatError, _Subset):
                if self._structure.error is not None:
                    return
                warning = SitemapWarning.TRUNCATED if last else SitemapWarning.BROKEN_XML
                self._structure.warnings[warning] = None
                self._become_lenient()
                return
            if self._marked > self._offset:
                del self._pending[: self._marked - self._offset]
                self._offset = self._marked
        elif self._structure.error is None:
            self._scanner.feed(self._lenient_decoder.decode(data))

    def _become_lenient(self) -> None:
        self._structure.drop_open()
        self._scanner = Scanner(self._structure)
        rest = bytes(self._pending[max(0, self._marked - self._offset) :])
        self._pending.clear()
        self._scanner.feed(self._lenient_decoder.decode(rest))

    def _mark(self) -> None:
        self._marked = self._expat.CurrentByteIndex

    def _doctype(self, name: str, _system: str | None, _public: str | None, has_subset: bool) -> None:
        if name.lower() == "html":
            self._structure.error = SitemapError.NOT_XML
        elif has_subset:
            # It can define entities that expand without bound; the scanner knows none of them.
            raise _Subset


class _Subset(Exception):
    """The document brings its own declarations. No error, but the way out of expat's callback."""
