"""What a page says about itself in its head: title, meta tags, favicon, canonical address, robots flags.

Keys and rules for duplicates are those of the Firecrawl contract, so that clients of it find what they expect.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from perseid.dom.tree import Node, Tree
    from perseid.model.document import Metadata

    Elements = Mapping[str, Sequence[Node]]

_PROPERTY = {
    "og:title": "ogTitle",
    "og:description": "ogDescription",
    "og:url": "ogUrl",
    "og:image": "ogImage",
    "og:audio": "ogAudio",
    "og:determiner": "ogDeterminer",
    "og:locale": "ogLocale",
    "og:site_name": "ogSiteName",
    "og:video": "ogVideo",
    "article:published_time": "publishedTime",
    "article:modified_time": "modifiedTime",
}
_NAME = {
    "article:section": "articleSection",
    "article:tag": "articleTag",
    "dcterms.created": "dcTermsCreated",
    "dc.date.created": "dcDateCreated",
    "dc.date": "dcDate",
    "dcterms.type": "dcTermsType",
    "dc.type": "dcType",
    "dcterms.audience": "dcTermsAudience",
    "dcterms.subject": "dcTermsSubject",
    "dc.subject": "dcSubject",
    "dc.description": "dcDescription",
    "dcterms.keywords": "dcTermsKeywords",
}
_FOLDED = frozenset({"description", "keywords", "robots"})
_OURS = frozenset(
    {
        "error", "numPages", "totalPages", "proxyUsed", "cacheState", "cachedAt", "scrapeId", "creditsUsed",
        "concurrencyLimited", "concurrencyQueueDurationMs",
    }
)  # fmt: skip
"""What is known of the exchange or of the file, and often nothing: a page can't say it in its stead."""
TAGS = frozenset({"title", "meta", "link"})
"""The elements that the head of a page is read from."""
_MOST_TAGS = 2_000
"""Pages with more head tags than that are hostile; the rest says nothing new."""
_MOST_CHARACTERS = 100_000
_LONGEST_REL = 1_000
"""Characters of a `rel` attribute that are read: what it comes to is remembered."""


class Head(NamedTuple):
    """The head of a page. `noindex` and `nofollow` are what meta robots says, not robots.txt."""

    metadata: Metadata
    title: str | None
    canonical: str | None
    """Absolute; None where absent, empty or no http(s) address."""
    noindex: bool
    nofollow: bool


class _Gathered:
    """The head while it is being read: what was said by which key, in document order."""

    def __init__(self) -> None:
        self.named: dict[str, str] = {}
        self.raw: dict[str, str | list[str]] = {}
        self.alternates: list[str] = []
        self.title: str | None = None
        self.canonical: str | None = None
        self.icon: str | None = None
        self.other_icon: str | None = None

    def meta(self, content: str, name: str | None, prop: str | None, item: str | None) -> None:
        content = content[:_MOST_CHARACTERS]
        if prop is not None:
            folded = prop.strip().lower()
            key = _PROPERTY.get(folded)
            if key is not None:
                self.named.setdefault(key, content)
            elif folded == "og:locale:alternate":
                self.alternates.append(content)
        if name is not None:
            key = _NAME.get(name.strip().lower())
            if key is not None:
                self.named.setdefault(key, content)
        own = name or prop or item
        if own:
            self._add(own, content)

    def _add(self, key: str, content: str) -> None:
        folded = key.lower()
        key = folded if folded in _FOLDED else key
        known = self.raw.get(key)
        if known is None:
            self.raw[key] = content
        elif key == "description":
            self.raw[key] = f"{known}, {content}"
        elif isinstance(known, list):
            known.append(content)
        else:
            self.raw[key] = [known, content]

    def link(self, role: str, href: str) -> None:
        if role == "canonical":
            self.canonical = self.canonical or href
        elif role == "icon":
            self.icon = self.icon or href
        else:
            self.other_icon = self.other_icon or href


def read_head(tree: Tree, absolute: Callable[[str], str | None], elements: Elements | None = None) -> Head:
    """Title, meta tags and links of the whole page; `absolute` resolves an address against its base.

    `elements` are those of `tree.by_tag` for at least `TAGS`, where the caller has them.
    """
    found = _Gathered()
    attr = tree.attr
    if elements is None:
        elements = tree.by_tag(TAGS)
    for node in elements.get("title", ())[:_MOST_TAGS]:
        if not _foreign(tree, node):
            found.title = " ".join(tree.text(node).split()) or None
            if found.title:
                break
    for node in elements.get("meta", ())[:_MOST_TAGS]:
        content = attr(node, "content")
        if content is not None:
            found.meta(content, attr(node, "name"), attr(node, "property"), attr(node, "itemprop"))
    for node in elements.get("link", ())[:_MOST_TAGS]:
        role = _role((attr(node, "rel") or "")[:_LONGEST_REL])
        if role and (href := (attr(node, "href") or "").strip()):
            found.link(role, href)
    return _assembled(tree, found, absolute)


@lru_cache(maxsize=256)
def _role(rel: str) -> str:
    """What a link with this `rel` attribute is to the page: canonical, icon, other icon; "" for all else."""
    folded = rel.strip().lower()
    if "canonical" in folded.split():
        return "canonical"
    return "icon" if folded == "icon" else "other icon" if "icon" in folded else ""


def _assembled(tree: Tree, found: _Gathered, absolute: Callable[[str], str | None]) -> Head:
    metadata: Metadata = {}
    title = found.title or _first(found.named.get("ogTitle")) or _first(found.raw.get("twitter:title"))
    language = tree.attr(tree.root, "lang")
    icon = found.icon or found.other_icon
    favicon = absolute(icon) if icon else None
    metadata.update(found.named)
    for key, value in found.raw.items():
        if key == "title":
            # An empty or different meta must not overwrite the title element.
            title = title or _first(value)
        elif key == "language" and language is not None:
            metadata[key] = [language, *(value if isinstance(value, list) else [value])]
        elif key not in _OURS:
            metadata[key] = value
    if title:
        metadata["title"] = title
    if language is not None:
        metadata.setdefault("language", language)
    if favicon:
        metadata["favicon"] = favicon
    if found.alternates:
        metadata["ogLocaleAlternate"] = found.alternates
    noindex, nofollow = robots_flags(found.raw.get("robots"))
    canonical = absolute(found.canonical) if found.canonical else None
    if canonical is not None and not canonical.startswith(("http://", "https://")):
        canonical = None
    return Head(metadata, title, canonical, noindex, nofollow)


def robots_flags(value: str | list[str] | None) -> tuple[bool, bool]:
    """(noindex, nofollow) of a robots meta or X-Robots-Tag value; lines for named agents don't count."""
    if not value:
        return False, False
    noindex = nofollow = False
    for line in [value] if isinstance(value, str) else value:
        words = {word.strip().lower() for word in line.split(",")}
        noindex = noindex or not words.isdisjoint({"noindex", "none"})
        nofollow = nofollow or not words.isdisjoint({"nofollow", "none"})
    return noindex, nofollow


def _first(value: str | list[str] | None) -> str | None:
    if isinstance(value, list):
        return next((item.strip() for item in value if item.strip()), None)
    return value.strip() or None if value else None


def _foreign(tree: Tree, node: Node) -> bool:
    """Whether a title element belongs to a drawing and not to the page."""
    up = tree.parent(node)
    while up is not None:
        tag = tree.tag(up)
        if tag in ("svg", "head"):
            return tag == "svg"
        up = tree.parent(up)
    return False
