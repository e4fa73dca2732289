"""The page job, and the kickoff, which is the page job of the start page: fetch, read, judge the links."""

from __future__ import annotations

import msgspec

from perseid.answers.enrich import Enricher, for_asks
from perseid.content.pipeline import Built, Page
from perseid.content.pipeline import Failed as NoDocument
from perseid.crawls.chain import Arrival, Chain
from perseid.crawls.change import ChangeTracker
from perseid.crawls.context import CrawlContext, Note
from perseid.crawls.convert import Converter
from perseid.crawls.index import known_links, remembered
from perseid.crawls.pack import Packer
from perseid.dom import url as urls
from perseid.links.host import politeness_host
from perseid.links.robots import Robots
from perseid.links.sitemap.candidate import candidates
from perseid.model.document import Document
from perseid.model.job import JobKind
from perseid.model.verdict import Denial, DenialReason, FailureCode, Judged
from perseid.ports.blob import Blobs
from perseid.ports.clock import Clock
from perseid.ports.fetch import Response, RobotsSource
from perseid.ports.known import KnownUrls
from perseid.ports.work import Again, Done, End, Failed, Finished, Lease, NewUrl, Refused, StoredDocument

_NO_LINKS = Judged([], [], False)
# They judge a page by what it is, not by where it lies: a start page they refuse still gives its links.
_OWN_RULES = frozenset({DenialReason.INCLUDE_PATTERN, DenialReason.EXCLUDE_PATTERN, DenialReason.DEPTH_LIMIT})


class PageJob:
    """Runs page and kickoff leases; one instance serves a worker."""

    def __init__(  # noqa: PLR0913  # collaborators, each named where it is wired
        self,
        *,
        converter: Converter,
        blobs: Blobs,
        robots: RobotsSource,
        clock: Clock,
        blob_bytes: int,
        changes: ChangeTracker,
        enricher: Enricher,
        index: KnownUrls,
    ) -> None:
        self._converter = converter
        self._blobs = blobs
        self._robots = robots
        self._clock = clock
        self._blob_bytes = blob_bytes
        self._changes = changes
        self._enricher = enricher
        self._index = index
        self._packer = Packer()

    async def run(self, lease: Lease, chain: Chain) -> Finished:
        arrived = await chain.follow()
        if not isinstance(arrived, Arrival):
            return await self._finish(lease, chain, arrived, _NO_LINKS, "")
        response, context = arrived
        built = await self._build(lease, response, context)
        final = response.url if chain.redirected else ""
        if response.status >= 400:
            end: End = Failed(
                code=f"http_{response.status}",
                message=f"the site answered {response.status}",
                status=response.status,
                document=None if isinstance(built, NoDocument) else await self._store(chain, built.document),
            )
            return await self._finish(lease, chain, end, _NO_LINKS, final)
        if isinstance(built, NoDocument):
            end = self._no_document(lease, built, response)
            return await self._finish(lease, chain, end, _NO_LINKS, final)
        judged = self._judge(built, lease, response, context)
        return await self._finish(lease, chain, await self._end(chain, built, response.url), judged, final)

    def _no_document(self, lease: Lease, built: NoDocument, response: Response) -> End:
        """A failure, unless somebody started from a packed sitemap: its job reads it."""
        if (
            lease.kind is JobKind.KICKOFF
            and built.code is FailureCode.UNSUPPORTED_FILE
            and response.url.partition("?")[0].lower().endswith(".xml.gz")
        ):
            return Refused(denial=Denial(DenialReason.FILE_TYPE, "gz", ".gz"), uncount=True)
        return Failed(code=built.code.value, message=built.message, status=response.status)

    async def _end(self, chain: Chain, built: Built, final_url: str) -> End:
        """Done, unless it is a start page that its own rules refuse: that one only gives its links."""
        context = chain.context
        if chain.lease.kind is JobKind.KICKOFF and context.scope is not None:
            denial = context.scope.judge_url(final_url)
            if denial is not None and denial.reason in _OWN_RULES:
                return Refused(denial=denial, uncount=True)
        return Done(document=await self._store(chain, built.document))

    async def _build(self, lease: Lease, response: Response, context: CrawlContext) -> Built | NoDocument:
        page = Page(
            url=response.url,
            source_url=lease.payload or lease.url,
            status=response.status,
            headers=response.headers,
            body=response.body,
            fetched_at=response.cached_at or self._clock.now_us(),
        )
        built = await self._converter.document_of(page, for_asks(context.options.scrape))
        if isinstance(built, Built) and (context.cache.reads or context.cache.store):
            cached = response.cached_at is not None
            built = built._replace(document=msgspec.structs.replace(built.document, cached=cached))
        tracking = context.options.scrape.change_tracking
        if isinstance(built, Built) and tracking is not None and context.keeps:
            team = context.crawl.team
            tracked = await self._changes.track(built.document, tracking, team=team, lease=lease)
            built = built._replace(document=tracked)
        return built

    def _judge(self, built: Built, lease: Lease, response: Response, context: CrawlContext) -> Judged:
        if context.scope is None or context.options.sitemap == "only":
            return _NO_LINKS
        return context.scope.judge(built.hrefs, base=built.base, page_url=response.url, page_depth=lease.depth)

    async def _store(self, chain: Chain, document: Document) -> StoredDocument:
        lease, options = chain.lease, chain.context.options.scrape
        if options.asks:
            document = await self._enricher.enrich(document, options, spent_s=chain.spent_s)
        body = self._packer.pack(document)
        blob = None
        if len(body) > self._blob_bytes:
            blob = f"{lease.crawl}/{lease.lock}/document"
            await self._blobs.put(blob, body)
            body = b""
        stored = StoredDocument(
            document.url, document.status, document.title, body, blob, whole=document if chain.is_waited_for else None
        )
        return remembered(stored, document, chain.context)

    async def _finish(self, lease: Lease, chain: Chain, end: End, judged: Judged, final: str) -> Finished:
        context = chain.context
        urls_ = [NewUrl(url, key, host) for url, key, host in judged.accepted]
        note = None
        if lease.kind is JobKind.KICKOFF and not isinstance(end, Again):
            note, sitemaps = await self._kick_off(chain, end)
            urls_ += await known_links(self._index, context, chain.hops.url)
            urls_ += sitemaps
        return Finished(
            lease=lease,
            end=end,
            urls=urls_,
            denied=judged.denied,
            cut=judged.cut,
            final_key=context.key(final) if final else None,
            final_url=final,
            hosts=chain.learnt,
            note=note,
        )

    async def _kick_off(self, chain: Chain, end: End) -> tuple[bytes, list[NewUrl]]:
        """The start page's host is settled: its sitemaps become jobs, and what was found is noted."""
        context = chain.context
        start = chain.hops.url
        agent = context.options.scrape.robots_agent
        rules = await self._robots.cached(urls.origin(start) or "", agent=agent)
        tried = [] if context.options.sitemap == "skip" else self._sitemaps(start, rules)
        sitemaps = [
            NewUrl(
                url,
                context.sitemap_key(url),
                politeness_host(url),
                JobKind.SITEMAP,
                counted=False,
                payload="listed" if rules is not None and url in rules.sitemaps else "guessed",
            )
            for url in tried
        ]
        delay_s = rules.crawl_delay_s if rules is not None and context.obey_robots else None
        warnings = context.scope.warnings if context.scope else []
        longest_s = chain.policy.max_crawl_delay_s
        if delay_s is not None and delay_s > longest_s:
            warnings.append(f"robots.txt asks for {delay_s:g} s between requests; {longest_s:g} s is the most we wait")
        denial: Denial | None = end.denial if isinstance(end, Refused) else None
        note = Note(
            start=start if chain.redirected else "",
            robots=denial.message if denial is not None and denial.reason is DenialReason.ROBOTS_TXT else "",
            sitemaps=tried,
            crawl_delay_s=None if delay_s is None else min(delay_s, longest_s),
            warnings=warnings,
        )
        return msgspec.json.encode(note), sitemaps

    def _sitemaps(self, start: str, rules: Robots | None) -> list[str]:
        return candidates(start, rules.sitemaps if rules is not None else ())
