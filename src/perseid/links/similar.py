"""Spellings of one page that sites serve alike: http/https, www or not, trailing slash, index.html/php.

Every page belongs to exactly one set of spellings, so the sets of different pages never overlap: each rule
below folds a spelling only where the folded form isn't a page of another set.
"""

from __future__ import annotations

from functools import lru_cache

from perseid.dom import url as urls
from perseid.links.host import is_ip
from perseid.links.key import normalize

_WEB = ("https://", "http://")
_INDEXES = ("index.html", "index.php")


def canonical(url: str) -> str:
    """The one spelling that stands for all: https, no www, no index file, no trailing slash.

    >>> canonical("http://www.example.org/docs/index.html")
    'https://example.org/docs'
    """
    return canonical_form(normalize(url))


def canonical_form(normalized: str) -> str:
    """`canonical` for a URL that is already normalised."""
    if not normalized.startswith(_WEB):
        return normalized
    root, path, tail = _split(normalized)
    return f"{_roots(root)[0]}{_paths(path)[0]}{tail}"


def permutations(url: str) -> tuple[str, ...]:
    """All spellings of the page of `url`, normalised, the canonical one first; never empty.

    Every member yields the same tuple. What is not an http(s) URL has one spelling.
    """
    url = normalize(url)
    if not url.startswith(_WEB):
        return (url,)
    root, path, tail = _split(url)
    return tuple(f"{each}{spelling}{tail}" for each in _roots(root) for spelling in _paths(path))


def _split(url: str) -> tuple[str, str, str]:
    """Scheme with authority, path, and the rest, of a serialised http(s) URL."""
    start = url.find("/", 8)
    if start < 0:  # not serialised: what can't be parsed is compared as it stands
        return url, "", ""
    ends = [at for at in (url.find("?", start), url.find("#", start)) if at >= 0]
    end = min(ends, default=len(url))
    return url[:start], url[start:end], url[end:]


@lru_cache(maxsize=4096)
def _roots(root: str) -> tuple[str, ...]:
    parts = urls.parse(root)
    if parts is None:
        return (root,)
    credentials, at, hostport = root.partition("://")[2].rpartition("@")
    port = hostport[len(parts.host) :]
    # A port that is written out serves one of the two schemes only.
    schemes = (parts.scheme,) if port else ("https", "http")
    return tuple(f"{scheme}://{credentials}{at}{host}{port}" for scheme in schemes for host in _hosts(parts.host))


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
    if not path:
        return ("",)
    folder, _, last = path.rpartition("/")
    folder = f"{folder}/" if last in _INDEXES or not last else f"{path}/"
    page = folder[:-1]
    name = page.rpartition("/")[2]
    indexes = (f"{folder}index.html", f"{folder}index.php")
    # "/" has no form without slash; that of "/a//" or "/index.html/" is a spelling of "/a" or "/".
    return (page, folder, *indexes) if name and name not in _INDEXES else (folder, *indexes)
