"""When two URLs are the same page: the normalised form, and the number made of it.

Only what can't change the page is folded. The URL fetched and reported is always the one found.
"""

from __future__ import annotations

import re

from xxhash import xxh3_64_intdigest

from perseid.dom import url as urls
from perseid.model.ids import UrlKey

_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_TRAILING_DOT = re.compile(r"^(https?://[^/?#]*?)\.(?=:\d+/|/)")
_SIGN = 1 << 63
_MASK = (1 << 64) - 1


def normalize(url: str, *, ignore_query: bool = False) -> str:
    """The form of `url` under which it is remembered; what is no URL comes back unchanged.

    WHATWG serialisation (scheme and host folded, default port dropped, dot segments resolved), and then:
    escapes in upper case and unreserved characters unescaped (RFC 3986, 6.2.2), while path case and %2F
    stay; an empty query, a trailing dot of the host and a fragment go, unless it is a `#/` or `#!/` route;
    with `ignore_query` the query goes too.

    >>> normalize("HTTPS://Example.org:443/a/../B%2f?#top")
    'https://example.org/B%2F'
    """
    href = urls.serialize(url)
    return url if href is None else normalize_href(href, ignore_query=ignore_query)


def normalize_href(href: str, *, ignore_query: bool = False) -> str:
    """`normalize` for a URL that is already serialised."""
    route = ""
    at = href.find("#")
    if at >= 0:
        if is_route(href, at):
            route = href[at:]
        href = href[:at]
    query = href.find("?")
    if query >= 0 and (ignore_query or query == len(href) - 1):
        href = href[:query]
    if "./" in href or ".:" in href:
        href = _TRAILING_DOT.sub(r"\1", href)
    if "%" in href:
        href = _ESCAPE.sub(_fold_escape, href)
    return href + route


def is_route(href: str, at: int) -> bool:
    """Whether the fragment of which the hash sign stands at `at` names a page of a one-page application."""
    return href.startswith(("#/", "#!/"), at)


def url_key(normalized: str, seed: int) -> UrlKey:
    """xxh3 (64 bits) of a normalised URL as a signed number, which a SQLite INTEGER holds.

    `seed` may be any integer; its lower 64 bits count.
    """
    digest = xxh3_64_intdigest(normalized.encode("utf-8", "surrogatepass"), seed & _MASK)
    return UrlKey(digest - (1 << 64) if digest >= _SIGN else digest)


def _fold_escape(match: re.Match[str]) -> str:
    escape = match[0]
    character = chr(int(escape[1:], 16))
    return character if character in _UNRESERVED else escape.upper()
