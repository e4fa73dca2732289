"""The links of a map on the wire."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from perseid.crawls.mapping import MapLink

_PATH = re.compile(r"\w+://[^/?#]+/[^?#]*[^/?#]/+$")


def without_queries(links: Sequence[MapLink]) -> list[MapLink]:
    """Each page once, where the query is not to count."""
    seen: dict[str, MapLink] = {}
    for link in links:
        bare = link.url.partition("?")[0]
        seen.setdefault(bare, MapLink(url=bare, title=link.title, description=link.description))
    return list(seen.values())


def without_slashes(links: Sequence[MapLink]) -> list[MapLink]:
    """Each page once, by the name without the slash at its end; a home page keeps its own."""
    seen: dict[str, MapLink] = {}
    for link in links:
        bare = link.url.rstrip("/") if _PATH.match(link.url) else link.url
        seen.setdefault(bare, MapLink(url=bare, title=link.title, description=link.description))
    return list(seen.values())


def as_objects(links: Sequence[MapLink]) -> list[dict[str, Any]]:
    return [
        {
            name: value
            for name, value in (("url", link.url), ("title", link.title), ("description", link.description))
            if value is not None
        }
        for link in links
    ]


def as_strings(links: Sequence[MapLink]) -> list[str]:
    return [link.url for link in links]
