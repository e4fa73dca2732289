"""A site's URLs without its pages: the order in which a search would want them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from perseid.pattern import later

_WORD = later(r"[^\W_]+")


class MapLink(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One URL of a site; title and description where they are known without fetching it."""

    url: str
    title: str | None = None
    description: str | None = None


def rank(links: Sequence[MapLink], search: str | None) -> list[MapLink]:
    """Best matches first, then in the order given; without words to search for, as they are.

    A word counts double where it stands alone in the URL rather than within another word; URLs that hold
    none of the words stay, at the end.
    """
    words = [word.lower() for word in _WORD.findall(search or "")]
    if not words:
        return list(links)
    return sorted(links, key=lambda link: -_score(link, words))


def _score(link: MapLink, words: Sequence[str]) -> int:
    text = f"{link.url} {link.title or ''} {link.description or ''}".lower()
    own = set(_WORD.findall(text))
    return sum(2 if word in own else 1 if word in text else 0 for word in words)
