"""Well-formed XML (feeds, answers of APIs) behind the same face as a page."""

from __future__ import annotations

import html
import re

from turbohtml import HTMLParseError, parse_xml

from perseid.dom.turbo import TurboTree
from perseid.pattern import later

_ENTITY = later(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9]{1,31};")

_CDATA = later(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
"""The parser keeps these apart from text, and readers of feeds don't care."""


class XmlTree(TurboTree):
    """Raises ValueError where the text is not well-formed. Entities that only HTML knows are read as HTML has them;
    none are defined by a document, so nothing unfolds.
    """

    def __init__(self, text: str) -> None:
        text = _CDATA.sub(lambda found: html.escape(found[1], quote=False), text.lstrip("\ufeff \t\r\n"))
        try:
            self.native = parse_xml(text)
        except HTMLParseError:
            self.native = parse_xml(_ENTITY.sub(lambda found: html.escape(html.unescape(found[0])), text))
        root = self.native.root
        if root is None:
            raise ValueError("the document has no root element")
        self._root = root
        self._body = root
