"""The images of a page, absolute and each once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.content.markdown.source import image_source, largest

if TYPE_CHECKING:
    from collections.abc import Callable

    from perseid.dom.tree import Tree


def images_of(tree: Tree, resolve: Callable[[str], str | None]) -> list[str]:
    """In document order; of several candidates for one place only the best."""
    found: dict[str, None] = {}
    for node in tree.select("img, picture > source, image, input[type=image], video[poster]"):
        attrs = tree.attrs(node)
        tag = tree.tag(node)
        if tag == "source":
            source = largest(attrs.get("srcset") or attrs.get("data-srcset") or "")
        elif tag == "video":
            source = attrs["poster"]
        elif tag == "image":
            source = attrs.get("href") or attrs.get("xlink:href")
        else:
            source = image_source(attrs)
        url = resolve(source) if source and source.strip() else None
        if url is not None and url.startswith(("http://", "https://")):
            found[url] = None
    return list(found)
