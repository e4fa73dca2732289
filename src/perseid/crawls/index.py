"""The index of URLs that a team knows of sites: what a page adds to it, and what it gives a new crawl."""

from __future__ import annotations

from perseid.crawls.context import CrawlContext
from perseid.dom import url as urls
from perseid.links.host import authority, registrable_domain
from perseid.model.document import Document
from perseid.ports.known import KnownUrls
from perseid.ports.work import NewUrl, StoredDocument

MOST_TAKEN = 10_000
"""Known URLs that a crawl begins with, the newest of them."""
_LONGEST_DESCRIPTION = 500


def site_of(url: str) -> str:
    """The registrable domain of a URL's host, or where it has none host and port; "" for what has no host.

    >>> site_of("https://docs.example.co.uk/a"), site_of("http://127.0.0.1:8080/a")
    ('example.co.uk', '127.0.0.1:8080')
    """
    parsed = urls.parse(url)
    return "" if parsed is None else registrable_domain(parsed.host) or authority(parsed)


def remembered(stored: StoredDocument, document: Document, context: CrawlContext) -> StoredDocument:
    """A page that is there enters the index, where the crawl's terms say so."""
    if not context.remembers or not 200 <= document.status < 300:
        return stored
    description = document.metadata.get("description")
    if isinstance(description, list):
        description = description[0] if description else None
    return stored._replace(
        site=site_of(document.url) or None,
        description=None if description is None else str(description)[:_LONGEST_DESCRIPTION],
    )


async def known_links(index: KnownUrls, context: CrawlContext, start: str) -> list[NewUrl]:
    """What the team knows of the site that a crawl begins at, judged as links of its start page.

    None unless the crawl's terms say so, and where only the sitemap is to be crawled. Refusals are not entered
    anywhere: nobody links there now.
    """
    if not context.recalls or context.scope is None or context.options.sitemap == "only":
        return []
    known = await index.known_urls(context.crawl.team, site_of(start), limit=MOST_TAKEN)
    judged = context.scope.judge([each.url for each in known], base=start, page_url=start, page_depth=0)
    return [NewUrl(url, key, host) for url, key, host in judged.accepted]
