"""The sitemap job: read one file as a stream, admit its pages in chunks, queue the files it names."""

from __future__ import annotations

from perseid.crawls.chain import Arrival, Chain
from perseid.dom import url as urls
from perseid.links.host import politeness_host
from perseid.links.sitemap import SitemapEntry, SitemapParser
from perseid.model.job import JobKind
from perseid.model.verdict import Denied
from perseid.ports.fetch import Response
from perseid.ports.store import Store
from perseid.ports.work import Again, Done, End, Failed, Finished, Lease, NewUrl

MAX_NESTING = 5
"""Indexes within indexes; the protocol allows none (sitemaps.org, "Sitemap index files")."""
CHUNK = 1_000
_BITE = 64 * 1024
_ABSENT = frozenset({401, 403, 404, 405, 410})


class SitemapJob:
    """Runs sitemap leases; one instance serves a worker."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run(self, lease: Lease, chain: Chain) -> Finished:
        arrived = await chain.follow()
        if not isinstance(arrived, Arrival):
            return self._finish(lease, chain, _forgiven(lease, arrived), [], [])
        response = arrived.response
        if response.status >= 400:
            if response.status in _ABSENT and _guessed(lease):
                return self._finish(lease, chain, Done(), [], [])
            end = Failed(
                code=f"http_{response.status}",
                message=f"the sitemap answered {response.status}",
                status=response.status,
            )
            return self._finish(lease, chain, end, [], [])
        return await self._read(lease, chain, response)

    async def _read(self, lease: Lease, chain: Chain, response: Response) -> Finished:
        parser = SitemapParser(content_type=response.header("content-type"))
        nested: list[NewUrl] = []
        pages: list[NewUrl] = []
        denied: list[Denied] = []
        body = memoryview(response.body)
        for start in range(0, len(body) + _BITE, _BITE):
            last = start >= len(body)
            entries = parser.close() if last else parser.feed(bytes(body[start : start + _BITE]))
            if parser.kind == "index":
                nested += self._nested(lease, chain, response.url, entries)
            else:
                self._judge(chain, response.url, entries, pages, denied)
            while len(pages) > CHUNK or len(denied) > CHUNK:
                await self._store.add(lease.crawl, pages[:CHUNK], parent=lease, denied=denied[:CHUNK])
                del pages[:CHUNK], denied[:CHUNK]
        end: End = Done()
        if parser.error is not None and not (_guessed(lease) and parser.kind is None):
            end = Failed(code=parser.error.value, message=f"the sitemap could not be read ({parser.error.value})")
        if nested and _nesting(lease) >= MAX_NESTING:
            nested = []
            end = Failed(code="sitemap_nesting_too_deep", message=f"indexes are nested more than {MAX_NESTING} deep")
        return self._finish(lease, chain, end, pages + nested, denied)

    def _judge(
        self, chain: Chain, base: str, entries: list[SitemapEntry], pages: list[NewUrl], denied: list[Denied]
    ) -> None:
        """Sitemap URLs pass the same filter as links; pages of a sitemap are as near as the start page."""
        scope = chain.context.scope
        if scope is None or not entries:
            return
        judged = scope.judge(
            [entry.url for entry in entries], base=base, page_url=chain.context.start_url, page_depth=-1
        )
        pages += [NewUrl(url, key, host, sitemap=True) for url, key, host in judged.accepted]
        denied += judged.denied

    def _nested(self, lease: Lease, chain: Chain, base: str, entries: list[SitemapEntry]) -> list[NewUrl]:
        found = []
        for entry in entries:
            url = urls.join(entry.url, base)
            if url is not None and url.startswith(("http://", "https://")):
                url = url.partition("#")[0]
                found.append(
                    NewUrl(
                        url,
                        chain.context.sitemap_key(url),
                        politeness_host(url),
                        JobKind.SITEMAP,
                        counted=False,
                        payload=f"nested {_nesting(lease) + 1}",
                    )
                )
        return found

    def _finish(self, lease: Lease, chain: Chain, end: End, found: list[NewUrl], denied: list[Denied]) -> Finished:
        return Finished(lease=lease, end=end, urls=found, denied=denied, hosts=chain.learnt)


def _guessed(lease: Lease) -> bool:
    return lease.payload == "guessed"


def _nesting(lease: Lease) -> int:
    kind, _, depth = lease.payload.partition(" ")
    return int(depth) if kind == "nested" else 0


def _forgiven(lease: Lease, end: End) -> End:
    """A guessed address that can't be reached says nothing about the site, and is not worth a second try."""
    useless = isinstance(end, Failed) or (isinstance(end, Again) and end.attempted)
    return Done() if _guessed(lease) and useless else end
