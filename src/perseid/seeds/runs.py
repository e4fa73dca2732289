"""The runs of seeds that a process works on, and what a chain of each goes by."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from perseid.crawls.context import CrawlContext, Note
from perseid.model.crawl import Crawl
from perseid.model.ids import CrawlId
from perseid.model.options import CrawlOptions, ScrapeOptions
from perseid.ports.inspect import Inspect
from perseid.seeds.run import RunOptions, own_rule, read_options
from perseid.seeds.site import Site

_KEPT = 256
_KEPT_BYTES = 16_000_000
"""Of their options: a seed may name a hundred thousand addresses."""


class Run:
    """One run of a seed."""

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl
        self.options: RunOptions = read_options(crawl.options)
        self.own_rule = own_rule(self.options.seed)
        self._scrape = ScrapeOptions(headers=tuple(self.options.seed.source.headers.items()))
        self.concurrency = self.options.concurrency
        """Tasks at once, as far as this process knows; a newly published rule changes it."""
        self._site: Site | None = None
        self._context: CrawlContext | None = None

    def context(self, site: Site, blocked_hosts: Sequence[str]) -> CrawlContext:
        """For chains of the run, made anew where the site's rule or the operator's block list was changed."""
        blocked = (*blocked_hosts, *site.blocked_hosts)
        if self._context is None or self._site is not site or self._context.blocked_hosts != blocked:
            self._site = site
            self._context = CrawlContext(
                self.crawl,
                CrawlOptions(scrape=self._scrape),
                Note(),
                None,
                self.crawl.url,
                "",
                obey_robots=site.rule.fetch.robots,
                blocked_hosts=blocked,
                private_hosts=site.private_hosts,
            )
        return self._context


class Runs:
    """The runs in use, the least recently used forgotten."""

    def __init__(self, inspect: Inspect, blocked_hosts: Callable[[], Sequence[str]]) -> None:
        self._inspect = inspect
        self.blocked_hosts = blocked_hosts
        """The operator's own block list. Raises `ConfigError` while it can't be read."""
        self._known: OrderedDict[CrawlId, Run] = OrderedDict()
        self._size = 0

    async def get(self, crawl: CrawlId) -> Run:
        """Raises `NotFound` for one that was pruned."""
        run = self._known.get(crawl)
        if run is None:
            run = Run(await self._inspect.crawl_by_id(crawl))
            if crawl not in self._known:  # two tasks may have asked at once
                self._size += len(run.crawl.options)
                self._known[crawl] = run
            run = self._known[crawl]
        self._known.move_to_end(crawl)
        while len(self._known) > _KEPT or (self._size > _KEPT_BYTES and len(self._known) > 1):
            _number, forgotten = self._known.popitem(last=False)
            self._size -= len(forgotten.crawl.options)
        return run
