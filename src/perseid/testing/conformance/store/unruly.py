"""Hosts that throttle, fall silent and limp, all at once: every crawl ends, and good hosts lose no page."""

from __future__ import annotations

import random

import pytest

from perseid.model.crawl import CrawlStatus
from perseid.model.ids import CrawlId
from perseid.ports.store import HostDefaults
from perseid.ports.work import Again, Failed, Finished, HostNote, Lease
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Bench, Desk, ended, page

HOSTS = ("good.example", "slow.example", "busy.example", "shut.example", "down.example", "flaky.example")
DEFAULTS = HostDefaults(max_active=3, burst=5, give_up_after=4)


def _note(lease: Lease, chance: random.Random) -> HostNote:
    """What the host of a lease is like."""
    host = lease.host
    often = chance.random() < 0.3
    if host == "shut.example" or (host == "busy.example" and often):
        return HostNote(host=host, throttled=True, retry_after_us=chance.choice([None, 2 * SECOND]))
    if host == "down.example":
        return HostNote(host=host, down=True)
    gap = 2 * SECOND if host == "slow.example" else None
    return HostNote(host=host, answered=True, request_age_us=chance.randrange(SECOND), gap_us=gap)


def _visit(lease: Lease, chance: random.Random) -> Finished:
    note = _note(lease, chance)
    if note.throttled:
        return ended(lease, end=Again(), hosts=[note])
    if note.down or (lease.host == "flaky.example" and chance.random() < 0.5):
        if lease.attempts >= 2:
            return ended(lease, end=Failed(code="timeout", message="no answer"), hosts=[note])
        return ended(lease, end=Again(attempted=True, delay_us=SECOND), hosts=[note])
    number = int(lease.url.rpartition("/")[2])
    links = [f"https://{host}/{number * 2 + more}" for more, host in enumerate(chance.sample(HOSTS, 3), start=1)]
    return ended(lease, *(link for link in links if number < 15), hosts=[note])


async def _work(desk: Desk, crawls: list[CrawlId], chance: random.Random) -> None:
    held: list[Lease] = []
    for _ in range(5_000):
        chance.shuffle(held)
        cut = chance.randint(min(1, len(held)), len(held))
        result = await desk.step([_visit(lease, chance) for lease in held[:cut]], chance.randint(1, 8))
        assert all(result.kept)
        held = held[cut:] + result.leases
        if chance.random() < 0.1:
            await desk.store.sweep()
        if held:
            desk.clock.advance(chance.choice([1_000, 50_000, SECOND]))
            continue
        if all([(await desk.look(crawl)).status is not CrawlStatus.SCRAPING for crawl in crawls]):
            return
        if not result.leases:
            assert result.wait_us is not None, "work waits, and nothing says for when"
            desk.clock.advance(max(1, result.wait_us))
    raise AssertionError("the crawls come to no end")


@pytest.mark.parametrize("seed", range(6))
async def test_every_crawl_ends_whatever_its_hosts_do(bench: Bench, seed: int) -> None:
    chance = random.Random(seed)
    desk = await bench.desk(DEFAULTS)
    crawls = [
        await desk.start_with(
            [page(f"https://{host}/1") for host in chance.sample(HOSTS, 4)],
            max_concurrency=chance.choice([None, 2]),
            delay_us=chance.choice([0, 0, SECOND]),
        )
        for _ in range(4)
    ]
    await _work(desk, crawls, chance)
    for crawl in crawls:
        seen = await desk.look(crawl)
        assert seen.status is CrawlStatus.COMPLETED
        failures = await desk.store.failures(crawl)
        assert {row.code for row in failures if row.url.startswith("https://shut")} <= {"rate_limited"}
        assert {row.code for row in failures if row.url.startswith("https://down")} <= {"host_down", "timeout"}
        sound = ("https://good", "https://slow")
        assert [row for row in failures if row.url.startswith(sound)] == []
        assert seen.counts.done + seen.counts.failed == seen.counts.discovered
