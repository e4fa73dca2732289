"""From elements to entries: the one state machine behind the strict and the lenient reading of XML."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from perseid.links.sitemap.entry import SitemapEntry, SitemapError, SitemapKind, SitemapWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_URL = 16_384
"""Characters; no server takes more."""
_MAX_LASTMOD = 64
_MAX_NAMES = 1_000
_LOOK_BACK = 64


class _Role(Enum):
    ENTRY = auto()
    URL = auto()
    HREF = auto()
    """A link whose address is an attribute."""
    SPARE_URL = auto()
    """Taken where the entry has no better one."""
    LASTMOD = auto()
    SPARE_LASTMOD = auto()
    LEAF = auto()
    OTHER = auto()
    """Whatever stands inside it is not ours, whether named like ours or not: `image:image`, `source` …"""


_ROOTS: dict[str, SitemapKind] = {
    "urlset": "urlset",
    "sitemapindex": "index",
    "rss": "rss",
    "rdf": "rss",
    "feed": "atom",
}
_ENTRY_KINDS: dict[str, SitemapKind] = {"url": "urlset", "sitemap": "index"}
_SITEMAP_ROLES = {
    "url": _Role.ENTRY,
    "sitemap": _Role.ENTRY,
    "loc": _Role.URL,
    "lastmod": _Role.LASTMOD,
    "changefreq": _Role.LEAF,
    "priority": _Role.LEAF,
}
_ROLES: dict[SitemapKind | None, dict[str, _Role]] = {
    None: _SITEMAP_ROLES,
    "urlset": _SITEMAP_ROLES,
    "index": _SITEMAP_ROLES,
    "rss": {
        "item": _Role.ENTRY,
        "link": _Role.URL,
        "guid": _Role.SPARE_URL,
        "pubdate": _Role.LASTMOD,
        "dc:date": _Role.SPARE_LASTMOD,
    },
    "atom": {
        "entry": _Role.ENTRY,
        "link": _Role.HREF,
        "updated": _Role.LASTMOD,
        "published": _Role.SPARE_LASTMOD,
    },
}


class Structure:
    """Takes start, text and end of elements and gathers entries.

    An element counts by its local name if it bears the prefix of its entry and lies right inside it.
    Alternates (`xhtml:link`), images and videos are no pages: the protocol wants each alternate listed by an
    entry of its own.
    """

    def __init__(self, max_entries: int) -> None:
        self.kind: SitemapKind | None = None
        self.error: SitemapError | None = None
        self.warnings: dict[SitemapWarning, None] = {}
        self.entries: list[SitemapEntry] = []
        self.count = 0
        self.text: list[str] = []
        """Character data goes here while `listen` says so."""
        self.listen: Callable[[bool], object] = bool
        self.mark: Callable[[], object] = bool
        """Called at the end of an entry: nothing before is needed any more."""
        self.lenient = False
        """Elements may lack their ends."""
        self._max_entries = max_entries
        self._roles: dict[str, _Role] = {}
        self._prefix = ""
        self._in_entry = False
        self._others: list[str] = []
        self._field: _Role | None = None
        self._found: dict[_Role, str] = {}

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        role = self._roles.get(name) or self._learn(name)
        if self._field is not None and (self.lenient or role is not _Role.OTHER):
            self._take()
        if role is _Role.ENTRY and (self.lenient or not self._others):
            self._open(name)
        elif not self._in_entry:
            if self.kind is None:
                self._root(name)
        elif role is _Role.OTHER or role is _Role.ENTRY:
            self._others.append(name)
        elif self._others or role is _Role.LEAF:
            return
        elif role is _Role.HREF:
            self._href(attributes)
        else:
            if role is _Role.URL and _Role.URL in self._found and self.kind in _ENTRY_KINDS.values():
                self._emit()
            self._field = role
            self.listen(True)

    def end(self, name: str) -> None:
        role = self._roles.get(name)
        if role is self._field and role is not None:
            self._take()
        elif role is _Role.ENTRY and (self.lenient or not self._others):
            if self._in_entry:
                self.close_entry()
                self.mark()
        elif self._others and (role is None or role is _Role.OTHER or role is _Role.ENTRY):
            self._leave(name)

    def close_entry(self) -> None:
        """End the open entry, keeping it where its URL is complete."""
        if self._field is not None:
            self._take()
        self._emit()
        self._in_entry = False
        self._others.clear()

    def drop_open(self) -> None:
        """Forget the open entry: it will be read again, or its end is missing in the middle of a value."""
        self._stop_listening()
        self._found.clear()
        self._in_entry = False
        self._others.clear()

    def drop_field(self) -> None:
        """Forget the value being read."""
        self._stop_listening()

    def _learn(self, name: str) -> _Role:
        prefix, _, local = name.rpartition(":")
        local = local.lower()
        roles = _ROLES[self.kind]
        role = roles.get(local, _Role.OTHER)
        if role is _Role.ENTRY and (prefix == self._prefix or not self._in_entry):
            if prefix != self._prefix:
                self._roles.clear()
                self._prefix = prefix
        elif prefix != self._prefix:
            role = roles.get(name.lower(), _Role.OTHER)
        if len(self._roles) < _MAX_NAMES:
            self._roles[name] = role
        return role

    def _root(self, name: str) -> None:
        local = name.rpartition(":")[2].lower()
        if local == "html":
            self.error = SitemapError.NOT_XML
        elif kind := _ROOTS.get(local):
            self.kind = kind
            self._roles.clear()

    def _open(self, name: str) -> None:
        if self._in_entry:
            self.close_entry()
        kind = _ENTRY_KINDS.get(name.rpartition(":")[2].lower(), self.kind)
        if kind != self.kind:
            if self.count:
                self.warnings[SitemapWarning.MIXED_KINDS] = None
                return
            self.kind = kind
        self._in_entry = True

    def _take(self) -> None:
        field = self._field
        self.listen(False)
        value = "".join(self.text).strip()
        self._stop_listening()
        if field is not None and value:
            self._found.setdefault(field, value)

    def _stop_listening(self) -> None:
        self._field = None
        # In this order: who gathers text may hand over the last of it now.
        self.listen(False)
        self.text.clear()

    def _href(self, attributes: Mapping[str, str]) -> None:
        if attributes.get("rel", "alternate").strip().lower() == "alternate":
            # The first alternate is the page; further ones are its translations and other formats.
            self._found.setdefault(_Role.URL, attributes.get("href", "").strip())

    def _emit(self) -> None:
        found, self._found = self._found, {}
        url = found.get(_Role.URL) or found.get(_Role.SPARE_URL, "")
        if not url or (_Role.URL not in found and not url.lower().startswith(("http://", "https://"))):
            return
        if len(url) > MAX_URL:
            self.warnings[SitemapWarning.LONG_URL] = None
            return
        if self.count >= self._max_entries:
            self.error = SitemapError.TOO_MANY_ENTRIES
            return
        lastmod = found.get(_Role.LASTMOD) or found.get(_Role.SPARE_LASTMOD) or ""
        self.count += 1
        self.entries.append(SitemapEntry(url, lastmod[:_MAX_LASTMOD] or None))

    def _leave(self, name: str) -> None:
        if self._others[-1] == name:
            self._others.pop()
            return
        # Only in broken XML: an element whose children were never closed closes them.
        for back in range(2, min(len(self._others), _LOOK_BACK) + 1):
            if self._others[-back] == name:
                del self._others[-back:]
                return

    def line(self, line: str) -> None:
        """One line of the plain text form, which holds nothing but a URL."""
        url = line.strip()
        if url[:8].lower().startswith(("http://", "https://")) and self.error is None:
            self.kind = "text"
            self._found = {_Role.URL: url.split(None, 1)[0]}
            self._emit()
