"""Where a site's sitemaps may lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.dom import url as urls
from perseid.links.host import registrable_domain

if TYPE_CHECKING:
    from collections.abc import Iterable


def candidates(start_url: str, robots_sitemaps: Iterable[str] = ()) -> list[str]:
    """The addresses to try, in order and without duplicates; none for a URL that is not http(s).

    Those of robots.txt; the start URL itself if it is an XML file, else `sitemap.xml` below it (beside it,
    where its path ends in a file name); that of the site's root; and on a sub-domain that of the domain it
    belongs to, whose links the caller filters to those that point back.

    >>> for url in candidates("https://docs.acme.example/guide/"):
    ...     print(url)
    https://docs.acme.example/guide/sitemap.xml
    https://docs.acme.example/sitemap.xml
    https://acme.example/sitemap.xml
    """
    start = urls.parse(start_url)
    if start is None or not start.is_web:
        return []
    found = [urls.join(listed, start.href) for listed in robots_sitemaps]
    if start.path.lower().endswith((".xml", ".xml.gz")):
        found.append(start.href.partition("#")[0])
    else:
        folder, _, name = start.path.rpartition("/")
        below = folder if "." in name else start.path.rstrip("/")
        found.append(f"{start.origin}{below}/sitemap.xml")
    found.append(f"{start.origin}/sitemap.xml")
    domain = registrable_domain(start.host)
    if domain is not None and domain != start.host:
        found.append(start.origin.replace(start.host, domain, 1) + "/sitemap.xml")
    parsed = [urls.parse(url) for url in found if url is not None]
    return list(dict.fromkeys(url.href.partition("#")[0] for url in parsed if url is not None and url.is_web))
