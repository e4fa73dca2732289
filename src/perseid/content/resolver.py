"""Addresses as they stand in a page, made absolute: what markdown, links and images of one document share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.dom import url as urls

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEAD_SCHEMES = ("javascript:", "data:", "vbscript:", "blob:", "about:")
_LISTED_SCHEMES = ("http://", "https://", "ftp://", "mailto:", "tel:")


class Resolver(dict[str, str | None]):
    """The absolute address behind each that was asked for; None for those that lead nowhere."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self._base = urls.base_of(base)

    __call__ = dict.__getitem__

    def __missing__(self, href: str) -> str | None:
        url = self[href] = _opened(self._base.join(href))
        return url

    def learn(self, hrefs: Sequence[str]) -> list[str | None]:
        """The absolute addresses behind `hrefs`, in their order; all are resolved together."""
        absolute = [
            url if url is not None and url.startswith("http") else _opened(url) for url in self._base.join_all(hrefs)
        ]
        self.update(zip(hrefs, absolute, strict=True))
        return absolute

    def listed(self, hrefs: Sequence[str]) -> list[str]:
        """The absolute addresses behind `hrefs` that name a place, each once, in order."""
        found = dict.fromkeys(self.learn(hrefs))
        return [url for url in found if url is not None and url.startswith(_LISTED_SCHEMES)]


def _opened(url: str | None) -> str | None:
    """`url` unless it leads nowhere; schemes other than http keep what would end a link target early."""
    if url is None or url.startswith("http"):
        return url
    if url.startswith(_DEAD_SCHEMES):
        return None
    return url.replace(" ", "%20").replace("<", "%3C").replace(">", "%3E")
