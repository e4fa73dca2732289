"""URLs as browsers read them (WHATWG URL): a thin typed seam over upa_url, the only place that knows it.

Input is cleaned as the standard says: outer spaces and control characters, and tabs and newlines anywhere,
are dropped. Nothing here raises on hostile input; what no browser could open is None.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import upa_url  # type: ignore[import-untyped]  # ships no types; this module is its typed face

from perseid.pattern import later

if TYPE_CHECKING:
    from collections.abc import Sequence

_parse = upa_url.URL.parse

_SECTION = "#[A-Za-z0-9_.:()+,=*~!$&';@/?%-]*"
_PLAIN = (
    "(?:[A-Za-z0-9_~-][A-Za-z0-9_.~,+()=%!$&'*;@:-]*+/++)*+(?:[A-Za-z0-9_~-][A-Za-z0-9_.~,+()=%!$&'*;@:-]*+)?"
    rf"(?:\?[A-Za-z0-9_.:()+,=*~&%/;@!$?-]*+)?(?:{_SECTION})?"
)
"""Path, query and section in which nothing is encoded or means a folder: they are appended as they are."""
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_HOST = rf"(?:(?:[a-z0-9]+(?:-[a-z0-9]+)*\.)+[a-z]+|{_OCTET}(?:\.{_OCTET}){{3}})"
"""Labels with a double hyphen may be punycode and are none of these."""
_ABSOLUTE = re.compile(rf"https?://{_HOST}(?::(?:[1-9][0-9]{{3}}|[1-5][0-9]{{4}}))?/{_PLAIN}")
"""As the standard writes it: no port here is a scheme's own."""
_END = r"(?=\n|\Z)"
# Relative links, each on a line of its own, by what they are appended to.
_IN_PAGE = later(rf"\n(?={_SECTION}{_END})")
_IN_SITE = later(rf"\n(?=/{_PLAIN}{_END})")
_IN_FOLDER = re.compile(rf"\n(?=[A-Za-z0-9_~-])(?![A-Za-z0-9.+-]*:)(?={_PLAIN}{_END})")
_ABOVE = [later(rf"\n(?:\.\./){{{steps}}}(?={_PLAIN}{_END})") for steps in range(1, 9)]

DEFAULT_PORT = {"http": 80, "https": 443, "ftp": 21, "ws": 80, "wss": 443}
"""The special schemes of the standard that have one; it never shows in a serialised URL."""


class Url(NamedTuple):
    """One parsed URL. `path` and `query` stay percent-encoded as they were found."""

    href: str
    scheme: str
    """Lower-case, without the colon."""
    host: str
    """Lower-case, in ASCII (IDNA); IPv6 addresses keep their brackets; empty where the scheme has none."""
    port: int | None
    """The port in effect, the scheme's default included; None where neither is known."""
    path: str
    query: str
    """Without the question mark; empty where there is none."""
    fragment: str
    """Without the hash sign; empty where there is none."""

    @property
    def is_web(self) -> bool:
        return self.scheme in ("http", "https")

    @property
    def origin(self) -> str:
        """Scheme, host and port (WHATWG "origin"); "null" for schemes without one."""
        if self.scheme not in DEFAULT_PORT:
            return "null"
        port = "" if self.port == DEFAULT_PORT[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}"


_WEB = ("http://", "https://")
_REMEMBERED = 4_000
"""Links, as written, whose absolute form is kept for a folder: some 1 MB; then they are resolved anew."""
_SHORT = 300
"""Characters of a link that is kept."""


class Base:
    """A base URL parsed once, against which many links are resolved."""

    __slots__ = ("_known", "_page", "_parsed", "href")

    def __init__(self, url: str) -> None:
        self._parsed: upa_url.URL | None = None
        self.href: str | None = url
        """The base as the standard writes it, None where it is no URL."""
        # Most bases are written so already, and most links joined without parsing them.
        if _ABSOLUTE.fullmatch(url) is None:
            self._parsed = _lenient(url, None)
            self.href = None if self._parsed is None else self._parsed.href
        page = (self.href or "").partition("#")[0]
        # What plain links are appended to; nothing where the base is no address of the web.
        self._page = page if page.startswith(_WEB) and "\\" not in page else ""
        self._known = _known_in(page.partition("?")[0].rpartition("/")[0]) if self._page else {}

    def join(self, href: str) -> str | None:
        """`href` as an absolute URL, or None; with an unusable base only absolute links resolve."""
        if self._parsed is None and self.href is not None:
            self._parsed = _parse(self.href)
        base = self._parsed
        try:
            found = _parse(href, base) if base is not None else _parse(href)
        except TypeError:
            found = _lenient(href, base)
        return None if found is None else found.href

    def join_all(self, hrefs: Sequence[str]) -> list[str | None]:
        """One answer of `join` for each of `hrefs`, in their order.

        Most links of a page stand on its neighbours as well, so what they came to is remembered.
        """
        known = self._known
        found: list[str | None] = list(map(known.get, hrefs))
        if None in found:
            fresh = [href for href, url in zip(hrefs, found, strict=True) if url is None]
            answers = self._join_fresh(fresh)
            following = iter(answers)
            found = [next(following) if url is None else url for url in found]
            self._remember(fresh, answers)
        return found

    def _remember(self, hrefs: Sequence[str], urls: Sequence[str | None]) -> None:
        """Keep what doesn't depend on the last segment, query or section of the base.

        With a colon a link may hold a scheme, and `https:?x` is relative to all of an https base.
        """
        known = self._known
        if not self._page:
            return
        if len(known) + len(hrefs) > _REMEMBERED:
            known.clear()
        for href, url in zip(hrefs[:_REMEMBERED], urls, strict=False):
            if url is None or len(href) > _SHORT:
                continue
            first = href[:1]
            if (first.isalnum() and ":" not in href) or first in ("/", ".", "_") or href.startswith(_WEB):
                known[href] = url

    def _join_fresh(self, hrefs: Sequence[str]) -> list[str | None]:
        """`join_all` without memory; plain links are resolved all at once."""
        join = self.join
        lines = "\n" + "\n".join(hrefs)
        if not self._page or lines.count("\n") != len(hrefs):
            return [join(href) for href in hrefs]
        absolute = _ABSOLUTE.fullmatch
        return [
            url if url != href or absolute(href) else join(href)
            for url, href in zip(self._joined(lines)[1:].split("\n"), hrefs, strict=True)
        ]

    def _joined(self, lines: str) -> str:
        """`lines` with what each plain link is appended to before it; others stay as they are."""
        page = self._page
        folder, root = f"{page.partition('?')[0].rpartition('/')[0]}/", page[: page.index("/", 8)]
        above = "\n../" in lines
        if "\n#" in lines:
            lines = _IN_PAGE.sub(f"\n{page}", lines)
        if "\n/" in lines:
            lines = _IN_SITE.sub(f"\n{root}", lines)
        lines = _IN_FOLDER.sub(f"\n{folder}", lines)
        for pattern in _ABOVE:
            if not above:
                break
            if len(folder) > len(root) + 1:
                folder = f"{folder[:-1].rpartition('/')[0]}/"
            lines = pattern.sub(f"\n{folder}", lines)
            above = "\n../" in lines
        return lines


@lru_cache(maxsize=8)
def _known_in(_folder: str) -> dict[str, str]:
    """What links came to that were found in a folder, given as an absolute URL."""
    return {}


@lru_cache(maxsize=64)
def base_of(url: str) -> Base:
    """The base that links found at `url` are resolved against, kept while that page is worked on."""
    return Base(url)


def join(href: str, base: str) -> str | None:
    """`href` resolved against `base`, serialised; None where no browser could open it.

    >>> join(" ../b?q#c ", "https://example.org/x/y/z")
    'https://example.org/x/b?q#c'
    """
    return Base(base).join(href)


def parse(url: str) -> Url | None:
    """An absolute URL in its parts, or None."""
    found = _lenient(url, None)
    if found is None:
        return None
    scheme = found.protocol[:-1]
    port = found.port
    return Url(
        href=found.href,
        scheme=scheme,
        host=found.hostname,
        port=int(port) if port else DEFAULT_PORT.get(scheme),
        path=found.pathname,
        query=found.search[1:],
        fragment=found.hash[1:],
    )


def serialize(url: str) -> str | None:
    """An absolute URL as the standard writes it, or None."""
    found = _lenient(url, None)
    return None if found is None else found.href


def origin(url: str) -> str | None:
    """The origin of an absolute URL ("null" for schemes without one), or None where it is no URL."""
    parts = parse(url)
    return None if parts is None else parts.origin


def top_label(url: str) -> str:
    """The last label of the host of an absolute URL, at little cost: a hint, no more."""
    authority = url.partition("://")[2].partition("/")[0]
    return authority.rpartition("@")[2].partition(":")[0].rpartition(".")[2]


def _lenient(url: str, base: object) -> upa_url.URL | None:
    """Parse what may hold lone surrogates: the standard takes U+FFFD for each (USVString)."""
    try:
        url.encode()
    except UnicodeEncodeError:
        url = url.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _parse(url) if base is None else _parse(url, base)
