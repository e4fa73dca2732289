"""Images whose bytes stand in the page itself (RFC 2397): a placeholder in markdown, or the bytes.

Both go through the writer under short addresses, which are replaced in its text. Without any of this such
images are left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from perseid.content.markdown.source import needs_source
from perseid.pattern import later

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perseid.dom.tree import Node, Tree

PLACEHOLDER = "<Base64-Image-Removed>"
_SCHEME = "base64-image:"
_ADDRESS = later(rf"\]\({_SCHEME}(\d+)")
_ENDS_TARGET = later(r"[\s<>()\"\\]+")


class DataImages:
    """The images of the nodes under render; `hide` comes before the writer, `put_back` after it."""

    def __init__(self, *, keep: bool) -> None:
        self._keep = keep
        self._sources: list[str] = []

    def hide(self, tree: Tree, nodes: Iterable[Node]) -> None:
        for node in nodes:
            for image in (node, *tree.select("img", node)):
                attrs = tree.attrs(image) if tree.tag(image) == "img" else {}
                source = attrs.get("src", "").strip()
                if source[:11].lower() == "data:image/" and needs_source(attrs) and not _has_choice(tree, image):
                    tree.set_attr(image, "src", f"{_SCHEME}{len(self._sources)}")
                    self._sources.append(source if self._keep else "")

    def put_back(self, markdown: str) -> str:
        return _ADDRESS.sub(self._target, markdown) if self._sources else markdown

    def _target(self, match: re.Match[str]) -> str:
        number = int(match[1])
        if number >= len(self._sources):
            return match[0]
        if not self._keep:
            return f"]({PLACEHOLDER}"
        return "](" + _ENDS_TARGET.sub(lambda run: quote(run[0], safe=""), self._sources[number])


def _has_choice(tree: Tree, image: Node) -> bool:
    """Whether the picture round it names a real file."""
    up = tree.parent(image)
    if up is None or tree.tag(up) != "picture":
        return False
    return tree.first("source[srcset], source[data-srcset]", up) is not None
