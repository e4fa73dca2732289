"""What a worker process knows of a crawl while it works on it: options, scope, robots; compiled once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from perseid.dom import url as urls
from perseid.links.key import normalize, url_key
from perseid.links.robots import Robots
from perseid.links.scope import Scope
from perseid.links.startpath import confining
from perseid.model.crawl import Counts, Crawl, CrawlStatus
from perseid.model.ids import CrawlId
from perseid.model.options import CachePolicy, CrawlOptions, ScopeRules
from perseid.model.terms import Terms
from perseid.model.verdict import Denial, DenialReason
from perseid.ports.fetch import RobotsSource
from perseid.ports.inspect import Inspect
from perseid.ports.store import NewCrawl

_KEPT = 256
_NO_CACHE = CachePolicy()


class Note(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the kickoff found out; stored with the crawl, read by every worker and by the summary."""

    start: str = ""
    """Final URL of the start page where it was redirected."""
    robots: str = ""
    """Why robots.txt keeps us out, where it does."""
    sitemaps: list[str] = []
    """The sitemap addresses tried."""
    crawl_delay_s: float | None = None
    warnings: list[str] = []


@dataclass(slots=True)
class CrawlContext:
    """Compiled state of one crawl. `scope` is None for a batch, which follows no links."""

    crawl: Crawl
    options: CrawlOptions
    note: Note
    scope: Scope | None
    start_url: str
    start_host: str
    obey_robots: bool
    blocked_hosts: tuple[str, ...] = ()
    cache: CachePolicy = _NO_CACHE
    """As asked for, as far as the crawl's terms let us keep anything."""
    revalidate: bool = False
    realm: bytes = b""
    """Whose cache: that of the crawl's team."""
    keeps: bool = True
    """False with zero retention: nothing of a page outlives its delivery."""
    remembers: bool = False
    """Pages enter the team's index of known URLs."""
    recalls: bool = False
    """That index feeds the kickoff."""
    private_hosts: dict[str, bool] = field(default_factory=dict)
    _gate: Scope | None = None

    def blocked(self, url: str) -> Denial | None:
        """The operator's block list holds for every request: batches, sitemaps and redirects have no scope."""
        if not self.blocked_hosts:
            return None
        if self._gate is None:
            self._gate = Scope(ScopeRules(external=True), url, key_seed=0, blocked_hosts=self.blocked_hosts)
        denial = self._gate.judge_url(url)
        return denial if denial is not None and denial.reason is DenialReason.BLOCKED_HOST else None

    def key(self, url: str) -> int:
        return self.scope.key(url) if self.scope else url_key(normalize(url), self.crawl.key_seed)

    def sitemap_key(self, url: str) -> int:
        """A sitemap file may be a page as well (a feed, say): it has a key of its own."""
        return url_key(f"sitemap:{normalize(url)}", self.crawl.key_seed)


def compile_context(
    crawl: Crawl, *, robots: Robots | None, blocked_hosts: Sequence[str], start: str | None = None
) -> CrawlContext:
    """`robots` are those of the start page's origin, so that forbidden links are refused where they are found."""
    options = msgspec.json.decode(crawl.options, type=CrawlOptions)
    note = msgspec.json.decode(crawl.note, type=Note) if crawl.note else Note()
    is_batch = not crawl.kind.follows_links
    obey = options.scrape.obey_robots if options.scrape.obey_robots is not None else not is_batch
    start_url = start or note.start or urls.serialize(crawl.url) or crawl.url
    parsed = urls.parse(start_url)
    scope = None
    if not is_batch:
        own = {parsed.origin: robots} if parsed and robots is not None and obey else {}
        scope = Scope(
            options.scope,
            confining(urls.serialize(crawl.url) or crawl.url, start_url),
            key_seed=crawl.key_seed,
            blocked_hosts=blocked_hosts,
            robots=own,
            year=1970 + crawl.created_at // 31_556_952_000_000,
        )
    start_host = parsed.host if parsed else ""
    cache = options.scrape.cache
    if options.scrape.change_tracking is not None and not cache.offline:
        # What is to be compared with earlier versions is asked of the site.
        cache = msgspec.structs.replace(cache, max_age_s=None)
    terms = msgspec.json.decode(crawl.terms, type=Terms) if crawl.terms else Terms()
    keeps = not terms.zero_retention
    return CrawlContext(
        crawl,
        options,
        note,
        scope,
        start_url,
        start_host,
        obey,
        tuple(blocked_hosts),
        cache=cache if keeps else _without_traces(cache),
        revalidate=options.scrape.revalidate and keeps,
        realm=b"%d" % crawl.team,
        keeps=keeps,
        remembers=terms.remember_urls and keeps,
        recalls=terms.recall_urls and keeps,
    )


def _begun(crawl_id: CrawlId, new: NewCrawl) -> Crawl:
    return Crawl(
        id=crawl_id,
        uid=new.uid,
        team=new.team,
        kind=new.kind,
        url=new.url,
        options=new.options,
        key_seed=new.key_seed,
        status=CrawlStatus.SCRAPING,
        counts=Counts(),
        created_at=0,
        terms=new.terms,
    )


def _without_traces(policy: CachePolicy) -> CachePolicy:
    """Nothing is kept, and nothing kept is used unless nothing else may be: to fetch would leave more traces."""
    return msgspec.structs.replace(policy, store=False) if policy.offline else _NO_CACHE


class Contexts:
    """The contexts in use, the least recently used forgotten."""

    def __init__(self, inspect: Inspect, robots: RobotsSource, blocked_hosts: Callable[[], Sequence[str]]) -> None:
        self._inspect = inspect
        self._robots = robots
        self._blocked_hosts = blocked_hosts
        self._known: OrderedDict[CrawlId, CrawlContext] = OrderedDict()

    async def get(self, crawl_id: CrawlId) -> CrawlContext:
        """Compiled anew when the block list has changed.

        Raises `NotFound` when the crawl was pruned meanwhile, and `ConfigError` when the list can't be read.
        """
        context = self._known.get(crawl_id)
        if context is None or context.blocked_hosts != tuple(self._blocked_hosts()):
            context = await self._compile(crawl_id)
            self._keep(context)
        else:
            self._known.move_to_end(crawl_id)
        return context

    def expect(self, crawl_id: CrawlId, new: NewCrawl) -> None:
        """One of pages named one by one, which has just begun: its context is made of what is at hand.

        Raises `ConfigError` as `get` does.
        """
        self._keep(compile_context(_begun(crawl_id, new), robots=None, blocked_hosts=self._blocked_hosts()))

    def _keep(self, context: CrawlContext) -> None:
        self._known[context.crawl.id] = context
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)

    async def rebase(self, context: CrawlContext, start: str) -> CrawlContext:
        """The start page was redirected: scope and robots are those of where it really is."""
        agent = context.options.scrape.robots_agent
        robots = await self._robots.cached(urls.origin(start) or "", agent=agent)
        return compile_context(context.crawl, robots=robots, blocked_hosts=self._blocked_hosts(), start=start)

    def forget(self, crawl_id: CrawlId) -> None:
        self._known.pop(crawl_id, None)

    async def _compile(self, crawl_id: CrawlId) -> CrawlContext:
        crawl = await self._inspect.crawl_by_id(crawl_id)
        start = (msgspec.json.decode(crawl.note, type=Note).start if crawl.note else "") or crawl.url
        robots = None
        if crawl.kind.follows_links and (origin := urls.origin(start)):
            agent = msgspec.json.decode(crawl.options, type=CrawlOptions).scrape.robots_agent
            robots = await self._robots.cached(origin, agent=agent)
        return compile_context(crawl, robots=robots, blocked_hosts=self._blocked_hosts())
