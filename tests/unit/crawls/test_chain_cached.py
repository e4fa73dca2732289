"""A chain whose answers come from the cache: no request, so no pause and nothing learnt of the host."""

from __future__ import annotations

import msgspec

from perseid.crawls.chain import Arrival, Chain, FetchPolicy
from perseid.crawls.context import CrawlContext, compile_context
from perseid.model.crawl import Counts, Crawl, CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId, JobId, LockToken
from perseid.model.job import JobKind
from perseid.model.options import CachePolicy, CrawlOptions, ScrapeOptions
from perseid.model.terms import Terms
from perseid.ports.fetch import FetchFailure, FetchRequest, Response
from perseid.ports.work import Again, Lease
from perseid.testing.clock import FakeClock

START, END = "http://e.test/a", "http://e.test/b"
GAP_US = 60_000_000


class Answers:
    def __init__(self, *, cached: bool) -> None:
        self.cached_at = 5 if cached else None
        self.requests: list[FetchRequest] = []

    async def fetch(self, request: FetchRequest) -> Response | FetchFailure:
        self.requests.append(request)
        if request.url == START:
            return Response(
                url=START, status=302, headers=(("location", "/b"),), body=b"", cached_at=self.cached_at, private=True
            )
        return Response(url=END, status=200, headers=(), body=b"<p>x</p>", cached_at=self.cached_at, private=True)

    async def close(self) -> None: ...


def context(*, cache: CachePolicy = CachePolicy(), terms: Terms | None = None, **scrape: object) -> CrawlContext:  # noqa: B008 - frozen
    options = CrawlOptions(scrape=ScrapeOptions(cache=cache, **scrape))  # type: ignore[arg-type]
    crawl = Crawl(
        id=CrawlId(1), uid="u", team=7, kind=CrawlKind.BATCH, url=START, options=msgspec.json.encode(options), key_seed=1,
        status=CrawlStatus.SCRAPING, counts=Counts(), created_at=0, terms=msgspec.json.encode(terms) if terms else b"",
    )  # fmt: skip
    return compile_context(crawl, robots=None, blocked_hosts=())


def chain(fetcher: Answers, of: CrawlContext) -> Chain:
    lease = Lease(
        job=JobId(1), crawl=CrawlId(1), lock=LockToken(1), kind=JobKind.PAGE, url=START, key=1, depth=0, host="e.test",
        gap_us=GAP_US, attempts=0, stalls=0, counted=True, payload="", hops=b"", expires_at=0, throttled=True,
    )  # fmt: skip
    nobody: object = None
    return Chain(
        lease, of, fetcher=fetcher, robots=nobody, contexts=nobody, policy=FetchPolicy(), clock=FakeClock()  # type: ignore[arg-type]
    )  # fmt: skip


async def test_a_chain_from_the_cache_waits_for_no_pause_and_tells_nothing_of_its_host() -> None:
    followed = chain(Answers(cached=True), context())
    assert isinstance(await followed.follow(), Arrival)
    assert followed.learnt == ()


async def test_a_chain_from_the_site_does() -> None:
    followed = chain(Answers(cached=False), context())
    assert isinstance(await followed.follow(), Again)
    assert [(note.private, note.request_age_us) for note in followed.learnt] == [(True, None), (None, 0)]


async def test_requests_carry_the_policy_and_the_realm_of_the_team() -> None:
    policy = CachePolicy(max_age_s=9, store=True)
    fetcher = Answers(cached=True)
    await chain(fetcher, context(cache=policy, revalidate=True)).follow()
    assert {(r.cache, r.realm, r.revalidate) for r in fetcher.requests} == {(policy, b"7", True)}


async def test_zero_retention_neither_reads_nor_fills_a_cache() -> None:
    fetcher = Answers(cached=False)
    asked = context(cache=CachePolicy(max_age_s=9, store=True), revalidate=True, terms=Terms(zero_retention=True))
    await chain(fetcher, asked).follow()
    assert [(r.cache.reads, r.cache.store, r.revalidate) for r in fetcher.requests] == [(False, False, False)]


async def test_zero_retention_reads_where_nothing_may_be_fetched() -> None:
    asked = context(cache=CachePolicy(only=True, store=True), terms=Terms(zero_retention=True))
    assert (asked.cache.offline, asked.cache.store) == (True, False)
