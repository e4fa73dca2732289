"""A fetched page as the rules see it: decoded and parsed once, whatever it holds, and only when something asks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from perseid.content.decode import decode
from perseid.content.sniff import Kind, sniff
from perseid.dom.tree import parse
from perseid.dom.url import Base, base_of
from perseid.rules import structured

if TYPE_CHECKING:
    from perseid.dom.tree import Node, Tree

MAX_JSON_BYTES = 50_000_000


class Page:
    """Bytes with their address and headers. `fetched_at` is what relative dates count from (aware)."""

    def __init__(
        self,
        url: str,
        body: bytes | str,
        *,
        headers: Mapping[str, str] | None = None,
        content_type: str | None = None,
        fetched_at: datetime | None = None,
    ) -> None:
        self.url = url
        self.body = body.encode("utf-8", "replace") if isinstance(body, str) else body
        self.headers = {name.lower(): value for name, value in (headers or {}).items()}
        said = content_type or self.headers.get("content-type")
        self.content_type = (
            f"{(said or 'text/html').partition(';')[0]}; charset=utf-8" if isinstance(body, str) else said
        )
        self.fetched_at = fetched_at or datetime.now(UTC)
        self.from_root: dict[str, list[Any]] = {}
        """What XPath expressions found that begin at the root: the same for each item of the page."""

    @cached_property
    def kind(self) -> Kind:
        return sniff(self.body, content_type=self.content_type, path=(Base(self.url).href or "").partition("?")[0])

    @cached_property
    def text(self) -> str:
        """The source, decoded."""
        return decode(self.body, content_type=self.content_type).text

    @cached_property
    def tree(self) -> Tree:
        """The page as HTML; of XML its own elements, with their names as they are."""
        if self.kind is Kind.XML and (tree := _xml(self.text)) is not None:
            return tree
        return parse(self.text, decoded=True)

    @cached_property
    def json(self) -> Any:
        """The body as JSON. Raises ValueError where it is none."""
        return read_json(self.text)

    @property
    def is_json(self) -> bool:
        return self.kind is Kind.JSON

    @cached_property
    def base(self) -> str:
        """What relative addresses are resolved against."""
        if self.kind is Kind.HTML and (node := self.tree.first("base[href]")) is not None:
            own = self.tree.attr(node, "href")
            return (base_of(self.url).join(own) if own else None) or self.url
        return self.url

    @cached_property
    def language(self) -> str | None:
        """What the page says of itself, lower-case: `de`, `pt-br`."""
        if self.is_json:
            return None
        said = self.tree.attr(self.tree.root, "lang") or self.headers.get("content-language", "")
        word = said.partition(",")[0].strip().replace("_", "-").lower()
        return word or None

    @cached_property
    def jsonld(self) -> list[dict[str, Any]]:
        return structured.jsonld(self.tree)

    @cached_property
    def microdata(self) -> list[dict[str, Any]]:
        return structured.microdata(self.tree, self.absolute)

    @cached_property
    def metas(self) -> dict[str, list[str]]:
        return structured.metas(self.tree)

    def absolute(self, address: str) -> str | None:
        """An address found on the page, as an absolute one; None where it is none."""
        return base_of(self.base).join(address.strip())

    def select(self, css: str, within: Node | None = None) -> list[Node]:
        return self.tree.select(css, within)


def read_json(text: str) -> Any:
    """Raises ValueError where the text is no JSON."""
    if len(text) > MAX_JSON_BYTES:
        raise ValueError(f"the JSON is longer than {MAX_JSON_BYTES} characters")
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"this is no JSON: {error}") from None


def _xml(text: str) -> Tree | None:
    """Well-formed XML; None where it is not, and HTML's parser makes what it can of it."""
    from perseid.rules.xml_tree import XmlTree  # noqa: PLC0415  few pages are XML

    try:
        return XmlTree(text)
    except Exception:  # noqa: BLE001  # a young C parser: whatever it raises, the page is not lost
        return None
