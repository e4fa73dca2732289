"""The task job: one page of a site, from the moment it begins to what is written down of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from perseid.crawls.chain import Arrival
from perseid.crawls.executor import Work
from perseid.crawls.pack import squeeze
from perseid.errors import ConfigError
from perseid.links.foreign import trusted
from perseid.model.item import Extraction
from perseid.model.rule import PageKind, Rule
from perseid.model.verdict import FailureCode
from perseid.observe import log
from perseid.ports.fetch import Response
from perseid.ports.items import Harvest, KeptPage
from perseid.ports.seeds import Begin, Seeds
from perseid.ports.store import Store
from perseid.ports.work import Again, Done, End, Failed, Finished, HostNote, Lease, NewUrl
from perseid.rules.harvesting import Origin, harvest
from perseid.seeds.chain import LONGEST_DELAY_S, Gear, TaskChain
from perseid.seeds.reading import HEAVY_BYTES, Found, Reader
from perseid.seeds.run import Address, TaskPayload, address, read_payload
from perseid.seeds.runs import Run, Runs
from perseid.seeds.session import page_of, shows
from perseid.seeds.site import NoRule, Site, Sites

LONGEST_S = 1_200.0
"""No task takes longer: twice the longest time that a rule may give a request."""
CROWDED_US = 500_000
"""A task that finds its site's slots taken by other runs looks again after about so long."""
PAUSED_US = 1_000_000
"""A task that met the pause of its site goes back to the queue, which holds all of them."""
UNREADY_US = 30_000_000
_ENOUGH = 3
"""Logins that brought no page to show the sign: pages of this site don't."""
_UNKEPT = frozenset({"set-cookie"})
"""Headers that nobody is to read later."""


def unready(lease: Lease, error: ConfigError) -> End:
    """What the rule names is missing, a pool or a secret: no page is to blame, and somebody is to mend it."""
    return Again(delay_us=UNREADY_US, code=error.code, message=str(error), hops=lease.hops)


class Settled:
    """A task that ends before anything is asked. See `perseid.crawls.executor.Work`."""

    shown = True
    deadline_s = LONGEST_DELAY_S
    max_attempts = 1
    learnt: Sequence[HostNote] = ()

    def __init__(self, lease: Lease, crawl: str, end: End) -> None:
        self.crawl = crawl
        self._lease = lease
        self._end = end

    async def run(self) -> Finished:
        return Finished(lease=self._lease, end=self._end)


class Tasks:
    """Runs task leases; one instance serves a worker. See `perseid.crawls.executor.Runner`."""

    def __init__(self, *, gear: Gear, runs: Runs, sites: Sites, seeds: Seeds, store: Store, reader: Reader) -> None:
        self.gear = gear
        self._store = store
        self.seeds = seeds
        self.reader = reader
        self._runs = runs
        self._sites = sites

    async def begin(self, lease: Lease) -> Work:
        run = await self._runs.get(lease.crawl)
        payload = read_payload(lease.payload)
        asked = address(lease.url, payload)
        uid, options = run.crawl.uid, run.options
        if asked is None:
            message = "this is no address of the web"
            return Settled(lease, uid, Failed(code=FailureCode.BAD_RESPONSE.value, message=message))
        met = await self.seeds.begin(options.site, asked.page_key, lease.job)
        try:
            site = await self._sites.current(
                run.crawl.team, options.seed.site_id, changed=met.changed, own=run.own_rule
            )
        except NoRule as error:
            return Settled(lease, uid, Failed(code=FailureCode.NO_RULE.value, message=str(error)))
        except ConfigError as error:
            return Settled(lease, uid, unready(lease, error))
        await self._slow_down(run, site)
        kind = payload.kind or site.rule.start_kind()
        end = self._settled(lease, site, met, kind, force=options.seed.force)
        if end is not None:
            return Settled(lease, uid, end)
        chain = TaskChain(lease, run.context(site, self._runs.blocked_hosts()), site, payload, self.gear)
        return Task(self, lease, _Page(run, site, payload, asked, kind), chain)

    async def _slow_down(self, run: Run, site: Site) -> None:
        """Or speed up: a version published since the run began may say otherwise."""
        if run.concurrency != site.limits.concurrency:
            run.concurrency = site.limits.concurrency
            await self._store.set_crawl_limits(run.crawl.id, max_concurrency=run.concurrency)

    def _settled(self, lease: Lease, site: Site, met: Begin, kind: PageKind, *, force: bool) -> End | None:
        rule = site.rule
        if met.paused:
            return Again(delay_us=PAUSED_US, message="the site is paused")
        if met.before >= site.limits.concurrency:
            delay_us = int(CROWDED_US * random.uniform(0.5, 1.5))  # noqa: S311 - spreads tasks, guards nothing
            return Again(delay_us=delay_us, message="other runs of the site have all its slots")
        if rule.fetch.browser != "never":
            message = f"the rule wants a browser ({rule.fetch.browser}), and there is none"
            return Failed(code=FailureCode.FEATURE_UNAVAILABLE.value, message=message)
        fresh = met.collected_at is not None and met.collected_at >= collected_since(rule, self.gear.clock.now_us())
        if not fresh or kind != "detail" or force:
            return None
        # Another run, or this task before its process died, brought the page already.
        log.event("task.duplicate", task=lease.job, url=lease.url, collected_at=met.collected_at)
        return Done()


def collected_since(rule: Rule, now_us: int) -> int:
    """Pages collected then or later are not collected again; µs."""
    return 0 if rule.recollect_after_s is None else now_us - int(rule.recollect_after_s * 1_000_000)


class _Page(NamedTuple):
    """What a task is about."""

    run: Run
    site: Site
    payload: TaskPayload
    asked: Address
    kind: PageKind


class Task:
    """One lease of a task. See `perseid.crawls.executor.Work`."""

    shown = True

    def __init__(self, tasks: Tasks, lease: Lease, page: _Page, chain: TaskChain) -> None:
        self._tasks = tasks
        self._lease = lease
        self._page = page
        self._chain = chain
        self._fetched_at = 0

    @property
    def crawl(self) -> str:
        return self._page.run.crawl.uid

    @property
    def deadline_s(self) -> float:
        """Twice the time for its requests, those of a login included, beside what they may wait for."""
        site = self._page.site
        return min(2 * site.rule.fetch.timeout_s * (1 + len(site.opening.hosts)) + LONGEST_DELAY_S, LONGEST_S)

    @property
    def max_attempts(self) -> int:
        return self._page.site.rule.fetch.backoff.attempts

    @property
    def learnt(self) -> Sequence[HostNote]:
        return self._chain.learnt

    async def run(self) -> Finished:
        if log.enabled("task.start"):
            log.event("task.start", **self._named(), attempt=self._lease.attempts + 1)
        brought = await self._bring()
        if not isinstance(brought, _Brought):
            return self._finished(brought)
        if isinstance(brought.found, Failed):
            return self._finished(brought.found)
        answer, extraction = brought.answer, brought.found.extraction
        urls = await self._onward(extraction)
        harvested = await self._harvest(answer, extraction)
        self._tell(answer, extraction, harvested)
        return self._finished(Done(), urls, harvested)

    def _finished(self, end: End, urls: Sequence[NewUrl] = (), harvested: Harvest | None = None) -> Finished:
        return Finished(lease=self._lease, end=end, urls=urls, hosts=self._chain.learnt, harvest=harvested)

    async def _bring(self) -> _Brought | End:
        """The page and what is on it; where the login turns out to be lost, after another one."""
        brought = await self._fetch()
        session, task = self._chain.session, self._lease.job
        if not isinstance(brought, _Brought):
            return brought
        if task in session.doubted:
            session.doubted.discard(task)
            session.unhelped = session.unhelped if self._logged_out(brought) else 0
            return brought
        if session.unhelped >= _ENOUGH or not self._logged_out(brought):
            return brought
        session.lose(self._chain.generation)
        if self._lease.gap_us > 0:
            # Others ask before this task does again: its doubt counts from now on.
            session.doubted.add(task)
            session.unhelped += 1
            return Again(message="the login was lost")
        self._chain.start_over()
        brought = await self._fetch()
        if isinstance(brought, _Brought):
            session.unhelped = session.unhelped + 1 if self._logged_out(brought) else 0
        return brought

    async def _fetch(self) -> _Brought | End:
        arrived = await self._chain.follow()
        if not isinstance(arrived, Arrival):
            return arrived
        answer = arrived.response
        self._chain.arrived(answer)
        self._fetched_at = self._tasks.gear.clock.now_us()
        if answer.status >= 400:
            message = f"the site answered {answer.status}"
            return _Brought(answer, Failed(code=f"http_{answer.status}", message=message, status=answer.status))
        page = self._page
        found = await self._tasks.reader.read(
            page.site, answer, page.kind, list_page=page.payload.list_page, fetched_at=self._fetched_at
        )
        if isinstance(found, Found):
            return _Brought(answer, found)
        return _Brought(answer, Failed(code=found.code.value, message=found.message, status=answer.status))

    def _logged_out(self, brought: _Brought) -> bool:
        """The answer is one to strangers, as far as the rule says how to tell."""
        opening = self._page.site.opening
        if not opening.login:
            return False
        if brought.answer.status == 401 or brought.answer.url in [step.url for step in opening.login]:
            return True
        if opening.sign is None or not isinstance(brought.found, Found):
            return False
        return not shows(opening.sign, brought.found.page or page_of(brought.answer))

    async def _onward(self, extraction: Extraction) -> list[NewUrl]:
        """The pages that this one leads to, those left out that would end at once."""
        page, crawl = self._page, self._page.run.crawl
        home = page.payload.home or self._lease.url
        found = []
        for each in extraction.follow:
            asked = address(each.url)
            depth = page.payload.depth + (each.kind == "list" and each.list_page == 1)
            if asked is not None and depth <= page.site.rule.list_depth:
                led = "" if trusted(home, asked.url) else home
                found.append((asked, TaskPayload(kind=each.kind, list_page=each.list_page, depth=depth, home=led)))
        if not page.run.options.seed.force:
            found = await self._uncollected(found)
        return [asked.task(payload, crawl.key_seed) for asked, payload in found]

    async def _uncollected(self, found: list[tuple[Address, TaskPayload]]) -> list[tuple[Address, TaskPayload]]:
        keys = [asked.page_key for asked, payload in found if payload.kind == "detail"]
        if not keys:
            return found
        since = collected_since(self._page.site.rule, self._tasks.gear.clock.now_us())
        had = await self._tasks.seeds.collected(self._page.site.id, keys, since=since)
        known = {key for key, was in zip(keys, had, strict=True) if was}
        return [each for each in found if each[1].kind != "detail" or each[0].page_key not in known]

    async def _harvest(self, answer: Response, extraction: Extraction) -> Harvest:
        page, site = self._page, self._page.site
        origin = Origin(
            team=site.team,
            site=site.id,
            version=site.version,
            seed=page.run.options.seed.seed_id,
            url=self._lease.url,
            found_at=answer.url,
            kind=page.kind,
            fetched_at=self._fetched_at,
            list_page=page.payload.list_page,
        )
        key = page.asked.page_key if page.kind == "detail" else b""
        found = harvest(site.rule, extraction, origin, key=key)
        if site.rule.holds_items(page.kind) or found.exceptions:
            return msgspec.structs.replace(found, page=await self._kept(answer))
        return found

    async def _kept(self, answer: Response) -> KeptPage:
        large = len(answer.body) > HEAVY_BYTES
        body = await asyncio.to_thread(squeeze, answer.body) if large else squeeze(answer.body)
        headers = [pair for pair in answer.headers if pair[0] not in _UNKEPT]
        return KeptPage(
            url=answer.url,
            status=answer.status,
            headers=msgspec.json.encode(headers),
            body=body,
            kind=self._page.kind,
            list_page=self._page.payload.list_page,
            fetched_at=self._fetched_at,
        )

    def _tell(self, answer: Response, extraction: Extraction, harvested: Harvest) -> None:
        if log.enabled("fetch.ok"):
            named = self._named()
            log.event("fetch.ok", **named, status=answer.status, bytes=len(answer.body))
            fields = sum(value not in (None, "", [], {}) for item in extraction.items for value in item.fields.values())
            log.event(
                "extract.ok",
                **named,
                rule_version=self._page.site.version,
                fields=fields,
                items=len(harvested.items),
                exceptions=len(harvested.exceptions),
                links=len(extraction.follow),
            )

    def _named(self) -> dict[str, object]:
        """Who is spoken of: seeds tell effects, tasks single cases."""
        return {
            "task": self._lease.job,
            "seed": self._page.run.options.seed.seed_id,
            "site": self._page.site.name,
            "run": self.crawl,
            "url": self._lease.url,
        }


class _Brought(NamedTuple):
    """An answer, and what is on the page, or why nothing can be read there."""

    answer: Response
    found: Found | Failed
