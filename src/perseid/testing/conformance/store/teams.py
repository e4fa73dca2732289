"""Tenants: their limits, their keys, and what they have used."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from perseid.errors import NotFound, StoreError
from perseid.model.crawl import CrawlKind
from perseid.ports.teams import Load, Team, Usage
from perseid.ports.work import Done, Failed
from perseid.testing.conformance.store.backend import SECOND
from perseid.testing.conformance.store.desk import Bench, Desk, document, ended

DAY = 86_400 * SECOND
NEW = Team(id=0, name="ours", max_active=3, requests_per_minute=60, pages_per_period=1_000)


async def test_there_is_a_default_team(desk: Desk) -> None:
    team = await desk.store.team(1)
    assert (team.name, team.requests_per_minute, team.pages_per_period) == ("default", None, None)
    assert await desk.store.teams() == [team]


async def test_a_team_is_made_and_changed(desk: Desk) -> None:
    made = await desk.store.put_team(NEW)
    assert made == Team(id=made.id, name="ours", max_active=3, requests_per_minute=60, pages_per_period=1_000)
    assert await desk.store.team(made.id) == made
    changed = Team(id=made.id, name="theirs", max_active=None)
    assert await desk.store.put_team(changed) == changed
    assert [team.id for team in await desk.store.teams()] == [1, made.id]


async def test_an_unknown_team_is_not_found(desk: Desk) -> None:
    with pytest.raises(NotFound):
        await desk.store.team(99)
    with pytest.raises(NotFound):
        await desk.store.put_team(Team(id=99, name="x"))
    with pytest.raises(NotFound):
        await desk.store.add_key(99, name="k", hint="psd_", digest=b"d")


async def test_a_name_is_one_teams(desk: Desk) -> None:
    made = await desk.store.put_team(NEW)
    with pytest.raises(StoreError, match="ours"):
        await desk.store.put_team(NEW)
    with pytest.raises(StoreError, match="default"):
        await desk.store.put_team(Team(id=made.id, name="default"))
    assert await desk.store.put_team(Team(id=made.id, name="ours", max_active=5)) != made


async def test_a_teams_limit_binds_the_next_claim(desk: Desk) -> None:
    await desk.store.put_team(Team(id=1, name="default", max_active=2))
    await desk.start(*"abcdef")
    assert len(await desk.claim_all()) == 2
    await desk.store.put_team(Team(id=1, name="default", max_active=5))
    assert len(await desk.claim_all()) == 3
    await desk.store.put_team(Team(id=1, name="default", max_active=1))
    assert await desk.claim_all() == []
    await desk.store.put_team(Team(id=1, name="default", max_active=None))
    assert len(await desk.claim_all()) == 1


async def test_a_key_is_known_by_its_digest(desk: Desk, bench: Bench) -> None:
    key = await desk.store.add_key(1, name="laptop", hint="psd_ab", digest=b"\x00" * 32)
    assert (key.team, key.name, key.hint, key.created_at) == (1, "laptop", "psd_ab", desk.clock.now)
    assert (key.revoked_at, key.used_at) == (None, None)
    twin = await bench.twin(desk)
    assert await twin.store.key(b"\x00" * 32) == key
    assert await twin.store.key(b"\x01" * 32) is None


async def test_a_digest_is_one_keys(desk: Desk) -> None:
    await desk.store.add_key(1, name="a", hint="h", digest=b"d")
    with pytest.raises(StoreError):
        await desk.store.add_key(1, name="b", hint="h", digest=b"d")


async def test_keys_are_listed_by_team(desk: Desk) -> None:
    team = await desk.store.put_team(NEW)
    first = await desk.store.add_key(1, name="a", hint="h", digest=b"a")
    second = await desk.store.add_key(team.id, name="b", hint="h", digest=b"b")
    assert await desk.store.keys() == [first, second]
    assert await desk.store.keys(team.id) == [second]


async def test_a_revoked_key_stays_known_as_revoked(desk: Desk) -> None:
    key = await desk.store.add_key(1, name="a", hint="h", digest=b"a")
    desk.clock.advance(SECOND)
    assert await desk.store.revoke(key.id)
    assert await desk.store.key(b"a") == key._replace(revoked_at=desk.clock.now)
    desk.clock.advance(SECOND)
    assert not await desk.store.revoke(key.id)
    assert not await desk.store.revoke(12345)


async def test_the_latest_use_of_a_key_is_kept(desk: Desk) -> None:
    key = await desk.store.add_key(1, name="a", hint="h", digest=b"a")
    await desk.store.touch_keys([(key.id, 5), (key.id, 9), (777, 3)])
    await desk.store.touch_keys([(key.id, 7)])
    assert await desk.store.key(b"a") == key._replace(used_at=9)


def month(us: int) -> str:
    return datetime.fromtimestamp(us / SECOND, UTC).strftime("%Y-%m")


async def test_use_is_one_for_each_document(desk: Desk) -> None:
    await desk.start(*"abcd")
    a, b, c, d = await desk.claim_all()
    kept = Failed(code="http_404", message="", status=404, document=document(b.url, status=404))
    lost = Failed(code="timeout", message="")
    await desk.step([ended(a), ended(b, end=kept), ended(c, end=lost), ended(d, end=Done())])
    assert await desk.store.usage(1) == [Usage(month(desk.clock.now), 2)]


async def test_what_was_finished_in_vain_is_not_counted(desk: Desk) -> None:
    crawl = await desk.start("a")
    lease = await desk.one()
    await desk.store.cancel(crawl)
    await desk.finish(lease)
    assert await desk.store.usage(1) == []


async def test_use_is_counted_by_team_and_month(desk: Desk) -> None:
    months = []
    for _ in range(3):
        await desk.start("a", "b", team=1)
        await desk.start("a", team=2)
        await desk.drain()
        months.append(month(desk.clock.now))
        desk.clock.advance(31 * DAY)
    assert await desk.store.usage(1) == [Usage(period, 2) for period in reversed(months)]
    assert await desk.store.usage(2, periods=1) == [Usage(months[-1], 1)]


async def test_use_survives_its_crawls(desk: Desk) -> None:
    await desk.start("a")
    await desk.drain()
    assert len(await desk.store.prune(ended_before_us=2**62)) == 1
    assert [usage.pages for usage in await desk.store.usage(1)] == [1]


async def test_the_load_of_a_team_is_what_it_has_under_way(desk: Desk) -> None:
    assert await desk.store.load(1) == Load(0, 0, 0, None)
    await desk.start(*"abc", team=1)
    await desk.start("a", team=1, kind=CrawlKind.BATCH)
    await desk.start("a", team=1, kind=CrawlKind.SCRAPE)
    theirs = await desk.start("a", team=2)
    held = await desk.claim(3)
    ours = [lease for lease in held if lease.crawl != theirs]
    load = await desk.store.load(1)
    assert (load.active, load.waiting, load.crawls) == (len(ours), 5 - len(ours), 2)
    desk.clock.advance(SECOND)
    await desk.finish(ours[0])
    assert (await desk.store.load(1)).last_success_at == desk.clock.now
