"""Spellings of one page that sites serve alike: http/https, www or not, trailing slash, index.html/php.

Every page belongs to exactly one set of spellings, so the sets of different pages never overlap: each rule
below folds a spelling only where the folded form isn't a page of another set.
"""

from __future__ import annotations

from perseid.dom import url as urls
from perseid.links.host import is_ip
from perseid.links.key import normalize

_INDEXES = ("index.html", "index.php")


def canonical(url: str) -> str:
    """The one spelling that stands for all: https, no www, no index file, no trailing slash.

    >>> canonical("http://www.example.org/docs/index.html")
    'https://example.org/docs'
    """
    return permutations(url)[0]


def permutations(url: str) -> tuple[str, ...]:
    """All spellings of the page of `url`, normalised, the canonical one first; never empty.

    Every member yields the same tuple. What is not an http(s) URL has one spelling.
    """
    url = normalize(url)
    parts = urls.parse(url)
    if parts is None or not parts.is_web:
        return (url,)
    head, _, rest = parts.href.partition("://")
    authority = rest[: _end_of_authority(rest)]
    credentials, at, hostport = authority.rpartition("@")
    port = hostport[len(parts.host) :]
    tail = rest[len(authority) + len(parts.path) :]
    # A port that is written out serves one of the two schemes only.
    schemes = (head,) if port else ("https", "http")
    return tuple(
        f"{scheme}://{credentials}{at}{host}{port}{path}{tail}"
        for scheme in schemes
        for host in _hosts(parts.host)
        for path in _paths(parts.path)
    )


def _end_of_authority(rest: str) -> int:
    return min((at for at in (rest.find("/"), rest.find("?"), rest.find("#")) if at >= 0), default=len(rest))


def _hosts(host: str) -> tuple[str, ...]:
    """The apex and its www form; only names of two labels or more have one.

    Of `www.www.x.org` only pairs are folded, from the inside: (x, www.x), (www.www.x, www.www.www.x).
    """
    if is_ip(host):
        return (host,)
    count = 0
    while host.startswith("www.", 4 * count) and "." in host[4 * count + 4 :]:
        count += 1
    apex = host[4:] if count % 2 else host
    return (apex, f"www.{apex}") if "." in apex else (apex,)


def _paths(path: str) -> tuple[str, ...]:
    folder, _, last = path.rpartition("/")
    folder = f"{folder}/" if last in _INDEXES or not last else f"{path}/"
    page = folder[:-1]
    name = page.rpartition("/")[2]
    indexes = tuple(folder + index for index in _INDEXES)
    # "/" has no form without slash; that of "/a//" or "/index.html/" is a spelling of "/a" or "/".
    return (page, folder, *indexes) if name and name not in _INDEXES else (folder, *indexes)
