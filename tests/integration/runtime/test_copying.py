"""A whole store into another database and back: nothing is lost, numbers stay, and what was under way goes on there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from perseid.config.settings import Settings, StoreSettings, WorkerSettings
from perseid.errors import NotFound, StoreError
from perseid.model.crawl import CrawlKind, CrawlStatus
from perseid.model.job import JobKind, JobState
from perseid.model.options import CrawlOptions, ScrapeOptions
from perseid.ports.configs import ConfigKind, NewVersion
from perseid.ports.items import Alarm, FieldSeen, Harvest, KeptPage, NewException, NewItem, StoredItem
from perseid.ports.seeds import NewSeed
from perseid.ports.store import NewCrawl
from perseid.ports.teams import Team
from perseid.ports.transfer import OWN, TABLES
from perseid.ports.work import Again, Done, Finished, NewUrl
from perseid.runtime import Client
from perseid.runtime import copying as copies
from perseid.runtime.copying import Copied, Place, copy, place_of, reopen
from perseid.runtime.stores import open_store
from perseid.testing import Site
from perseid.testing.postgres import give_back, take_database, url_of

Tables = dict[str, list[tuple[Any, ...]]]


def silent(what: str, done: int, total: int) -> None:
    assert done <= total, what


async def copied(source: Place, target: Place) -> Copied:
    found = await copy(source, target, silent)
    assert found.findings == []
    return found


async def tables(place: Place) -> Tables:
    """All rows, but of what one database keeps for itself alone."""
    found: Tables = {}
    async with copies._side(place) as side:
        for table in TABLES:
            kept = [c for c in await side.columns(table.name) if c not in OWN.get(table.name, set())]
            if table.name == "team":
                kept.remove("ready")
            found[table.name] = sorted([row async for rows in side.rows(table, sorted(kept)) for row in rows], key=repr)
    return found


@pytest.fixture
async def postgres() -> AsyncIterator[Place]:
    name = await take_database()
    place = Place(Path(), settings(url_of(name)))
    yield place
    async with copies._side(place) as side:
        await side.stay()  # else it could not be emptied
    await give_back(name)


def settings(url: str = "", **store: Any) -> Settings:
    return Settings(store=StoreSettings(url=url, **store), worker=WorkerSettings(beat_s=0.2, poll_s=0.1))


@pytest.fixture
def sqlite(tmp_path: Path) -> Place:
    return Place(tmp_path / "store", settings(blob_bytes=1024))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "_WATCHED_S", 0.5)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site() as site:
        pages = [f"/p{number}" for number in range(30)]
        site.links({"/": pages[:10], **dict.fromkeys(pages[:10], pages[10:])})
        site.page(
            "/p3",
            "<title>Long</title>" + "".join(f"<p>Words {number**3} of the long page.</p>" for number in range(900)),
        )
        site.respond("/p4", 404)
        site.robots("User-agent: *\nDisallow: /p5\n")
        yield site


async def fill(place: Place, site: Site) -> tuple[str, str]:
    """A crawl that ended, one in its middle (with leases of a process that is no more), and what else there may be."""
    async with await Client.open(place.folder, place.settings) as client:
        done = await client.start_crawl(site.url("/"), CrawlOptions(scrape=ScrapeOptions(max_attempts=1)))
        await client.run(done.uid)
        open_ = await client.start_crawl(site.url("/"), CrawlOptions())
        store = client._engine.store
        worker = await store.register("a machine that is no more", 1, 1, slots=9)
        for _ in range(3):
            held = (await store.step(worker, [], 3)).leases
            finished = [await client._engine.executor.run(lease) for lease in held]
            await store.step(worker, finished, 0)
        held = (await store.step(worker, [], 4)).leases
        assert len(held) == 4
        await store.step(worker, [Finished(lease=held[0], end=Again(delay_us=3_600_000_000, attempted=True))], 0)
        team = await store.put_team(Team(id=0, name="crew", max_active=7, requests_per_minute=60))
        await store.add_key(team.id, name="of the crew", hint="fc-123456", digest=b"\1" * 32)
        await store.put_robots("http://elsewhere.example", 200, b"User-agent: *\n\0\xff")
        return done.uid, open_.uid


async def collect(place: Place, *items: str) -> StoredItem:
    """A task of a seed that gave these items and an exception, with its page; the newest item."""
    async with await Client.open(place.folder, place.settings) as client:
        store = client._engine.store
        rule = NewVersion(team=1, kind=ConfigKind.RULE, name="shop", body=b"{%d}" % len(items), author="ann")
        published = await store.configs.publish(rule)
        assert published.version == 3 - len(items), "numbers go on where they were"
        seed = await store.seeds.put_seed(NewSeed(team=1, seed="s", site="shop", spec=b"{}", next_at=1))
        first = (NewUrl("https://shop.example/", 1, "shop.example", JobKind.TASK),)
        uid = f"run of {' '.join(items)}"
        new = NewCrawl(uid=uid, url="", options=b"{}", key_seed=1, kind=CrawlKind.SEED, first=first)
        run = await store.seeds.start_run(seed, new, next_at=2)
        assert run is not None
        assert (await store.seeds.runs(seed))[0] == run
        shop = (await store.seeds.put_site(1, "shop")).id
        worker = await store.register("here", 1, 1)
        (lease,) = (await store.step(worker, [], 1, crawl=run)).leases
        found = Harvest(
            team=1, site=shop, rule_version=1, url=lease.url, fetched_at=time.time_ns() // 1_000, key=b"\1" * 32,
            page=KeptPage(lease.url, 200, b"[]", b"\0\xff", "detail", 1, 0), sinks=["out"],
            items=[NewItem(key, b"{}") for key in items], exceptions=[NewException("", b"{}", b"[]", "missing:title")],
            seen=[FieldSeen("title", 2, 1)],
        )  # fmt: skip
        await store.step(worker, [Finished(lease=lease, end=Done(), harvest=found)], 0)
        alarm = Alarm(id=0, team=1, site="shop", rule_version=len(items), field="title", rate=0.5, n=2, at=1)
        assert await store.items.raise_alarm(shop, alarm) is not None
        return (await store.items.items(1))[-1]


async def test_there_and_back_all_rows_are_the_same(sqlite: Place, postgres: Place, site: Site, tmp_path: Path) -> None:
    done, open_ = await fill(sqlite, site)
    newest = await collect(sqlite, "a", "b")
    first = await copied(sqlite, postgres)
    assert first.leases_returned == 3
    assert first.bodies == 2, "the long page of both crawls"
    assert first.rows["crawl"] == 3
    before = await tables(sqlite)
    assert await tables(postgres) == before
    again = Place(tmp_path / "again", sqlite.settings)
    await copied(postgres, again)
    assert await tables(again) == before
    async with await Client.open(again.folder, again.settings) as client:
        documents = [document async for _seq, _line, document in client.documents(done)]
        assert max(len(document.markdown or "") for document in documents) > 10_000, "the body apart from the tables"
        assert (await client.crawl(open_)).status is CrawlStatus.SCRAPING
        key = await client._engine.store.key(b"\1" * 32)
        assert key is not None
        assert key.name == "of the crew"
        assert (await client._engine.store.items.items(1))[-1] == newest
        seeds = client._engine.store.seeds
        assert await seeds.collected((await seeds.put_site(1, "shop")).id, [b"\1" * 32, b"\2" * 32]) == [True, False]
    assert (await collect(again, "c")).change > newest.change


@pytest.mark.parametrize("there", ["postgresql", "sqlite"])
async def test_a_crawl_goes_on_where_it_was_copied_to(
    there: str, sqlite: Place, postgres: Place, site: Site, tmp_path: Path
) -> None:
    source, target = (sqlite, postgres) if there == "postgresql" else (postgres, sqlite)
    _done, uid = await fill(source, site)
    await copied(source, target)
    async with await Client.open(target.folder, target.settings) as client:
        before = [seq async for seq, _line, _document in client.documents(uid)]
        retrying = await client.jobs(uid, state=JobState.RETRYING)
        assert len(retrying) == 1
        running = asyncio.create_task(client.run(uid))
        while (await client.progress(uid)).queued or (await client.progress(uid)).active:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        assert not running.done(), "one page waits for an hour"
        await client.cancel(uid)
        await running
        crawl = await client.crawl(uid)
        seqs = [seq async for seq, _line, _document in client.documents(uid)]
        assert seqs[: len(before)] == before
        assert seqs == sorted(set(seqs))
        assert crawl.counts.done + crawl.counts.failed + crawl.counts.denied + crawl.counts.open_pages == (
            crawl.counts.discovered
        )
        assert crawl.counts.open_pages == 1
        assert await client.audit() == []
        fresh = await client.start_crawl(site.url("/"), CrawlOptions(limit=3))
        assert fresh.id > crawl.id
        await client.run(fresh.uid)
        assert (await client.crawl(fresh.uid)).counts.done == 3


async def test_a_source_that_was_left_refuses_every_write(sqlite: Place, postgres: Place, site: Site) -> None:
    for source, target in ((sqlite, postgres), (postgres, Place(sqlite.folder / "back", sqlite.settings))):
        if source is sqlite:
            await fill(source, site)
        held = await open_store(source.folder, source.settings)
        await copied(source, target)
        with pytest.raises(Exception, match="truth no longer"):
            await held.store.register("here", 1, 1)
        await held.store.close()
        with pytest.raises(StoreError, match=r"was copied to .* name that one in store.url"):
            await open_store(source.folder, source.settings)
        with pytest.raises(StoreError, match=r"copied to .* already"):
            await copy(source, target, silent)


async def test_a_source_may_be_taken_back(sqlite: Place, postgres: Place, site: Site) -> None:
    _done, uid = await fill(sqlite, site)
    await copied(sqlite, postgres)
    assert await reopen(sqlite)
    assert not await reopen(sqlite)
    async with await Client.open(sqlite.folder, sqlite.settings) as client:
        assert await client.cancel(uid)


async def test_a_copy_that_was_cut_off_goes_on(
    sqlite: Place, postgres: Place, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(sqlite, site)
    monkeypatch.setattr("perseid.store.sqlite.transfer._ROWS", 7)
    whole = copies._copy_table

    for stop_in in ("usage", "url", "document", "robots"):

        async def cut(table: Any, old: Any, new: Any, tell: Any, stop_in: str = stop_in) -> int:
            def stop(what: str, done: int, total: int) -> None:
                if what == stop_in:
                    raise KeyboardInterrupt

            return await whole(table, old, new, stop)

        monkeypatch.setattr(copies, "_copy_table", cut)
        with pytest.raises(KeyboardInterrupt):
            await copy(sqlite, postgres, silent)
        with pytest.raises(StoreError, match="being filled from"):
            await open_store(postgres.folder, postgres.settings)
        with pytest.raises(StoreError, match="is not whole"):
            await reopen(postgres)
    monkeypatch.setattr(copies, "_copy_table", whole)
    await copied(sqlite, postgres)
    assert await tables(postgres) == await tables(sqlite)


async def test_a_store_at_work_is_not_copied(sqlite: Place, postgres: Place) -> None:
    opened = await open_store(sqlite.folder, sqlite.settings)
    worker = await opened.store.register("a machine far away", 1, 1)

    async def beat() -> None:
        while True:
            await opened.store.beat(worker)
            await asyncio.sleep(0.1)

    beating = asyncio.create_task(beat())
    with pytest.raises(StoreError, match=r"1 processes are at work on this store .* stop all workers"):
        await copy(sqlite, postgres, silent)
    beating.cancel()
    await opened.store.close()


async def test_a_target_that_holds_something_is_refused(sqlite: Place, postgres: Place, site: Site) -> None:
    await fill(sqlite, site)
    async with await Client.open(postgres.folder, postgres.settings) as client:
        await client.start_crawl(site.url("/"), CrawlOptions())
    with pytest.raises(StoreError, match="holds rows already"):
        await copy(sqlite, postgres, silent)
    opened = await open_store(sqlite.folder, sqlite.settings)
    await opened.store.close()


async def test_a_folder_without_a_store_is_none(tmp_path: Path, postgres: Place) -> None:
    with pytest.raises(NotFound, match="holds no store"):
        await copy(place_of(str(tmp_path), Settings()), postgres, silent)
    assert not (tmp_path / "perseid.db").exists()


def test_places_are_named_as_people_do(tmp_path: Path) -> None:
    (tmp_path / "out" / ".perseid").mkdir(parents=True)
    assert place_of(str(tmp_path / "out"), Settings()).folder == tmp_path / "out" / ".perseid"
    assert place_of(str(tmp_path / "data" / "perseid.db"), Settings()).folder == tmp_path / "data"
    assert place_of("postgresql://u@h/d", Settings()).settings.store.url == "postgresql://u@h/d"
