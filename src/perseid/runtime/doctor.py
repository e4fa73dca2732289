"""The operator's first questions about a store, answered in one go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import WorkerId
from perseid.ports.truth import Check
from perseid.runtime.limiting import ask_shelf
from perseid.worker.enroll import host_identity, process_started

if TYPE_CHECKING:
    from perseid.runtime.engine import Engine


async def examine(engine: Engine) -> list[Check]:
    checks = await engine.store.checks()
    findings = await engine.store.audit()
    checks.append(
        Check(
            name="audit",
            ok=not findings,
            detail="counters agree with rows" if not findings else "; ".join(finding.what for finding in findings[:5]),
            advice="" if not findings else "this is a bug: please report it with the line above",
        )
    )
    checks.append(await _backlog(engine))
    checks.append(await _workers(engine))
    checks.append(await _hosts(engine))
    if engine.settings.delivery.url:
        checks.append(await _delivery(engine))
    if engine.settings.limit.url:
        checks.append(await _limits(engine))
    return checks


async def _delivery(engine: Engine) -> Check:
    """Whether the broker answers, and how many tickets nobody has taken."""
    async with engine.delivering(lambda: WorkerId(0), takes=False) as post:
        waiting = await post.delivery.waiting()
        health = post.delivery.health
    return Check(
        name="delivery",
        ok=health.up,
        detail=f"{health.detail}, {waiting:,} tickets wait" if health.up else health.detail,
        advice="" if health.up else "workers look at the store every few seconds instead; nothing is lost",
    )


async def _limits(engine: Engine) -> Check:
    """Whether what shares the limits of callers answers."""
    trouble = await ask_shelf(engine.settings.limit)
    return Check(
        name="limits",
        ok=not trouble,
        detail=trouble or "Redis answers",
        advice="limits go by the store until it is back; none is exceeded" if trouble else "",
    )


async def _backlog(engine: Engine) -> Check:
    running = [crawl for crawl in await engine.store.crawls(limit=1000) if crawl.status is CrawlStatus.SCRAPING]
    waiting = sum(crawl.counts.open for crawl in running)
    return Check(name="backlog", ok=True, detail=f"{len(running)} running crawls, {waiting:,} jobs that have not ended")


async def _workers(engine: Engine) -> Check:
    workers = await engine.store.workers()
    here = host_identity()
    dead = [w.pid for w in workers if w.host == here and process_started(w.pid) not in (0, w.pid_started)]
    return Check(
        name="workers",
        ok=not dead,
        detail=f"{len(workers)} registered" + (f", of which {len(dead)} are dead: {dead}" if dead else ""),
        advice="" if not dead else "the next worker that starts here takes their pages over",
    )


async def _hosts(engine: Engine) -> Check:
    hosts = await engine.store.hosts(limit=1000)
    strained = [f"{host.name} ({host.backoffs} back-offs)" for host in hosts if host.backoffs]
    return Check(
        name="throttling",
        ok=not strained,
        detail=f"{len(strained)} hosts ask us to slow down" + (f": {', '.join(strained[:5])}" if strained else ""),
        advice="" if not strained else "the crawl waits as they ask; a lower concurrency or a delay may help",
    )
