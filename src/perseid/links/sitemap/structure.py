"""From elements to entries: the one state machine behind the strict and the lenient reading of XML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.links.sitemap.entry import SitemapEntry, SitemapError, SitemapKind, SitemapWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_URL = 16_384
"""Characters; no server takes more."""
MAX_LASTMOD = 64
_MAX_NAMES = 1_000
_LOOK_BACK = 64

# Plain integers: they are compared twice for every element.
_ENTRY = 1
_URL = 2
_HREF = 3  # a link whose address is an attribute
_SPARE_URL = 4  # taken where the entry has no better one
_LASTMOD = 5
_SPARE_LASTMOD = 6
_LEAF = 7
_OTHER = 8  # what stands inside it is not ours, even where named like ours: `image:image`, `source` …

_ROOTS: dict[str, SitemapKind] = {
    "urlset": "urlset",
    "sitemapindex": "index",
    "rss": "rss",
    "rdf": "rss",
    "feed": "atom",
}
_ENTRY_KINDS: dict[str, SitemapKind] = {"url": "urlset", "sitemap": "index"}
_SITEMAP_ROLES = {
    "url": _ENTRY,
    "sitemap": _ENTRY,
    "loc": _URL,
    "lastmod": _LASTMOD,
    "changefreq": _LEAF,
    "priority": _LEAF,
}
_ROLES: dict[SitemapKind | None, dict[str, int]] = {
    None: _SITEMAP_ROLES,
    "urlset": _SITEMAP_ROLES,
    "index": _SITEMAP_ROLES,
    "rss": {
        "item": _ENTRY,
        "link": _URL,
        "guid": _SPARE_URL,
        "pubdate": _LASTMOD,
        "dc:date": _SPARE_LASTMOD,
    },
    "atom": {
        "entry": _ENTRY,
        "link": _HREF,
        "updated": _LASTMOD,
        "published": _SPARE_LASTMOD,
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
        self.listen: Callable[[Callable[[str], object] | None], object] = bool
        """Called with what takes the character data from now on, or with None."""
        self.mark: Callable[[], object] = bool
        """Called at the end of an entry: nothing before is needed any more."""
        self.lenient = False
        """Elements may lack their ends."""
        self._max_entries = max_entries
        self._roles: dict[str, int] = {}
        self._prefix = ""
        self._in_entry = False
        self._others: list[str] = []
        self._field = 0
        self.wrapped = False
        """Entries stand in an element around them."""
        self.entry_name = ""
        """Of entries of the kind that is read; others are left out."""
        self._text: list[str] = []
        self._append = self._text.append
        self._found: dict[int, str] = {}

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        role = self._roles.get(name) or self._learn(name)
        if self._field and (role != _OTHER or self.lenient):
            self._take()
        if role == _LEAF:
            # By far the most frequent, with and without its end.
            return
        if role == _ENTRY and (self.lenient or not self._others):
            if self._in_entry or name != self.entry_name:
                self._open(name)
            self._in_entry = self.entry_name == name
        elif not self._in_entry:
            if self.kind is None:
                self._root(name)
            elif role == _URL and self.kind != "rss" and not self._others:
                # Locations that nobody wrapped into entries.
                self._in_entry = True
                self._begin(role, attributes)
        elif role in {_OTHER, _ENTRY}:
            self._others.append(name)
        elif not self._others:
            self._begin(role, attributes)

    def end(self, name: str) -> None:
        role = self._roles.get(name)
        if role == _LEAF:
            return
        if role == self._field:
            self._take()
        elif role == _ENTRY and (self.lenient or not self._others):
            if self._field or self._others:
                self.close_entry()
            else:
                self._emit()
                self._in_entry = False
            self.mark()
        elif self._others and role in {_OTHER, _ENTRY, None}:
            self._leave(name)

    def close_entry(self) -> None:
        """End the open entry, keeping it where its URL is complete."""
        if self._field:
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

    @property
    def idle(self) -> bool:
        """Whether no entry is open, nor anything beside them whose entries are none."""
        return not (self._in_entry or self._others or self._field)

    @property
    def room(self) -> int:
        """How many entries more there may be."""
        return self._max_entries - self.count

    def take(self, entries: list[SitemapEntry]) -> None:
        """Entries that were read elsewhere, in number no more than there is room for."""
        self.entries += entries
        self.count += len(entries)

    def _learn(self, name: str) -> int:
        prefix, _, local = name.rpartition(":")
        local = local.lower()
        roles = _ROLES[self.kind]
        role = roles.get(local, _OTHER)
        if role == _ENTRY and (prefix == self._prefix or not self._in_entry):
            if prefix != self._prefix:
                self._roles.clear()
                self._prefix = prefix
        elif prefix != self._prefix:
            role = roles.get(name.lower(), _OTHER)
        if len(self._roles) < _MAX_NAMES:
            self._roles[name] = role
        return role

    def _root(self, name: str) -> None:
        self.wrapped = True
        local = name.rpartition(":")[2].lower()
        if local == "html":
            self.error = SitemapError.NOT_XML
        elif kind := _ROOTS.get(local):
            self.kind = kind
            self._roles.clear()

    def _open(self, name: str) -> None:
        self.close_entry()
        self.entry_name = ""
        if self.error is not None:
            return
        if self.kind not in {"rss", "atom"}:
            kind = _ENTRY_KINDS[name.rpartition(":")[2].lower()]
            if kind != self.kind:
                if self.count:
                    self.warnings[SitemapWarning.MIXED_KINDS] = None
                    self._others.append(name)
                    return
                self.kind = kind
        self.entry_name = name

    def _begin(self, role: int, attributes: Mapping[str, str]) -> None:
        if role == _HREF:
            # The first alternate is the page; further ones are its translations and other formats.
            href = attributes.get("href", "").strip()
            if href and attributes.get("rel", "alternate").strip().lower() == "alternate":
                self._found.setdefault(_URL, href)
            return
        if role == _URL and _URL in self._found and self.kind != "rss":
            self._emit()
        self._field = role
        self.listen(self._append)

    def _take(self) -> None:
        # In this order: who gathers text hands over the last of it when it is told to stop.
        self.listen(None)
        text = self._text
        value = (text[0] if len(text) == 1 else "".join(text)).strip()
        text.clear()
        if value:
            self._found.setdefault(self._field, value)
        self._field = 0

    def _stop_listening(self) -> None:
        self._field = 0
        self.listen(None)
        self._text.clear()

    def _emit(self) -> None:
        found, self._found = self._found, {}
        if not found or self.error is not None:
            return
        url = found.get(_URL)
        if url is None:
            url = found.get(_SPARE_URL, "")
            if not url.lower().startswith(("http://", "https://")):
                return
        if len(url) > MAX_URL:
            self.warnings[SitemapWarning.LONG_URL] = None
        elif self.count >= self._max_entries:
            self.error = SitemapError.TOO_MANY_ENTRIES
        else:
            lastmod = found.get(_LASTMOD) or found.get(_SPARE_LASTMOD)
            self.count += 1
            self.entries.append(SitemapEntry(url, lastmod and lastmod[:MAX_LASTMOD]))

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
        url = line.strip().lstrip("\ufeff")
        if url[:8].lower().startswith(("http://", "https://")) and self.error is None:
            self.kind = "text"
            self._found = {_URL: url.split(None, 1)[0]}
            self._emit()
