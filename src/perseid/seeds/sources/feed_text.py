"""Feeds: RSS 0.9x, 1.0 and 2.0, Atom (RFC 4287), JSON Feed 1.x, and what is nearly one of these."""

from __future__ import annotations

from typing import Any, NamedTuple

from perseid.content.decode import decode
from perseid.content.sniff import Kind, sniff
from perseid.dom.node import Node
from perseid.dom.url import base_of
from perseid.errors import SourceFailed
from perseid.links.sitemap import parse_sitemap
from perseid.ports.fetch import Response
from perseid.rules.page import read_json
from perseid.rules.xml_tree import XmlTree

_WEB = ("http://", "https://")


class Feed(NamedTuple):
    """Addresses of its entries, absolute where they can be; "" for an entry without any. `next` is of older ones."""

    links: list[str]
    next: str | None = None


def read_feed(answer: Response) -> Feed:
    """Raises SourceFailed for what is no feed."""
    kind = answer.header("content-type")
    text = decode(answer.body, content_type=kind).text.lstrip("\ufeff \t\r\n")
    if text.startswith(("{", "[")):
        return _json(text, answer.url)
    try:
        tree = XmlTree(text)
    except Exception:  # noqa: BLE001  # a young C parser, and broken feeds are many: read leniently
        return _lenient(answer)
    return _Xml(tree, answer.url).feed()


def _json(text: str, url: str) -> Feed:
    try:
        value = read_json(text)
    except ValueError as error:
        raise SourceFailed(f"{url} is no feed: {error}") from None
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(items, list):
        raise SourceFailed(f"{url} is JSON but no JSON Feed: it has no list of `items`")
    links = [_json_link(item) if isinstance(item, dict) else "" for item in items]
    following = value.get("next_url")
    return Feed(
        [base_of(url).join(link) or "" if link else "" for link in links],
        base_of(url).join(following) if isinstance(following, str) else None,
    )


def _json_link(item: dict[str, Any]) -> str:
    for name in ("url", "external_url", "id"):
        link = item.get(name)
        if isinstance(link, str) and link.strip() and (name != "id" or link.startswith(_WEB)):
            return link.strip()
    return ""


class _Xml:
    def __init__(self, tree: XmlTree, url: str) -> None:
        self._tree = tree
        self._url = url

    def feed(self) -> Feed:
        root = self._tree.root
        channels = self._all(root, "channel")
        heads = [(root, self._url), *((each, self._base(root, self._url)) for each in channels)]
        links: list[str] = []
        following = None
        known = False
        for head, outer in heads:
            base = self._base(head, outer)
            entries = [*self._all(head, "item"), *self._all(head, "entry")]
            links += [self._link(entry, self._base(entry, base)) for entry in entries]
            following = following or self._next(head, base)
            known = known or bool(entries)
        if not known and _local(self._tree.tag(root)) not in ("rss", "rdf", "feed"):
            raise SourceFailed(f"{self._url} is XML but no feed: its root is {self._tree.tag(root)!r}")
        return Feed(links, following)

    def _all(self, node: Node, name: str) -> list[Node]:
        return [each for each in self._tree.elements(node) if _local(self._tree.tag(each)) == name]

    def _base(self, node: Node, outer: str) -> str:
        said = self._tree.attr(node, "xml:base")
        return (base_of(outer).join(said.strip()) if said else None) or outer

    def _link(self, entry: Node, base: str) -> str:
        tree = self._tree
        for link in self._all(entry, "origlink"):  # behind the counter of FeedBurner
            if text := tree.text(link).strip():
                return text
        plain = [link for link in self._all(entry, "link") if tree.attr(link, "href") is None]
        for link in plain:
            if text := tree.text(link).strip():
                return base_of(self._base(link, base)).join(text) or ""
        chosen = self._alternate([link for link in self._all(entry, "link") if link not in plain])
        if chosen is not None:
            return base_of(self._base(chosen, base)).join((tree.attr(chosen, "href") or "").strip()) or ""
        about = next((value for name, value in tree.attrs(entry).items() if _local(name) == "about"), "")
        for text in (self._guid(entry), *(tree.text(each).strip() for each in self._all(entry, "id")), about):
            if text.startswith(_WEB):
                return text
        return ""

    def _alternate(self, links: list[Node]) -> Node | None:
        """The page among the links of an entry: HTML before other formats."""
        pages = [link for link in links if (self._tree.attr(link, "rel") or "alternate").strip() == "alternate"]
        html = [link for link in pages if "html" in (self._tree.attr(link, "type") or "html")]
        return next(iter([*html, *pages]), None)

    def _guid(self, entry: Node) -> str:
        for guid in self._all(entry, "guid"):
            if (self._tree.attr(guid, "isPermaLink") or "true").strip().lower() != "false":
                return self._tree.text(guid).strip()
        return ""

    def _next(self, head: Node, base: str) -> str | None:
        """RFC 5005: paged feeds and archives."""
        for rel in ("next", "prev-archive"):
            for link in self._all(head, "link"):
                href = self._tree.attr(link, "href")
                if href and (self._tree.attr(link, "rel") or "").strip() == rel:
                    return base_of(base).join(href.strip())
        return None


def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()


def _lenient(answer: Response) -> Feed:
    """What can be read of a feed that is not well-formed."""
    kind = answer.header("content-type")
    read = parse_sitemap(answer.body, kind)
    if read.kind not in ("rss", "atom"):
        said = "a web page" if sniff(answer.body, content_type=kind, path="") is Kind.HTML else "no XML or JSON"
        raise SourceFailed(f"{answer.url} is no feed, but {said}")
    return Feed([base_of(answer.url).join(entry.url) or "" for entry in read.entries])
