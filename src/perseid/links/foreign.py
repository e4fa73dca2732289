"""Which hosts may see the headers and cookies that somebody set for the one they named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.links.host import politeness_host

if TYPE_CHECKING:
    from collections.abc import Iterable

# Names alone can't tell what is secret: of a user's headers, strangers see only those that say nothing.
_HARMLESS = frozenset({"accept", "accept-language", "cache-control", "dnt", "pragma", "user-agent"})


def trusted(named_url: str, url: str) -> bool:
    """Whether `url` may be sent what was meant for `named_url`: the same host (www and apex are one), and no
    longer readable on the way than asked for.
    """
    if named_url == url:
        return True
    if politeness_host(named_url) != politeness_host(url):
        return False
    return url.startswith("https:") or not named_url.startswith("https:")


def for_strangers(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in headers if pair[0].lower() in _HARMLESS)
