"""What a server lets go of by itself, and zero retention over every file of a server's folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from perseid.config.settings import Settings, StoreSettings
from perseid.crawls.start import new_batch, new_crawl
from perseid.errors import NotFound
from perseid.model.crawl import CrawlKind
from perseid.model.ids import CrawlId
from perseid.model.job import JobKind
from perseid.model.options import CrawlOptions, ScrapeOptions
from perseid.model.terms import EventKind, Terms, Webhook
from perseid.observe.log import setup
from perseid.ports.items import FieldSeen, Harvest, KeptPage, NewException
from perseid.ports.known import Snapshot
from perseid.ports.outbox import Attempt
from perseid.ports.store import NewCrawl
from perseid.ports.work import Done, Finished, NewUrl, StoredDocument
from perseid.runtime import Client
from perseid.store.blobs import FileBlobs
from perseid.store.sqlite.store import SqliteStore
from perseid.testing import FakeClock, Site
from perseid.testing.conformance.store.desk import FREE
from perseid.worker.duties.pruner import Keeping, Pruner, Shelves

MARK = "zq7vk3marker"
DAY = 86_400


class Cellar:
    """A store, its bodies, and the duty that clears them up."""

    def __init__(self, folder: Path, store: SqliteStore, clock: FakeClock) -> None:
        self.store = store
        self.clock = clock
        self.blobs = FileBlobs(folder / "blobs")
        shelves = Shelves(
            store=store,
            inspect=store,
            pages=store.pages,
            known=store.known,
            items=store.items,
            outbox=store.outbox,
            blobs=self.blobs,
        )
        keeping = Keeping(cache_s=DAY, known_s=2 * DAY, page_s=4 * DAY, log_s=3 * DAY)
        self.pruner = Pruner(shelves, keeping, clock=clock, telemetry=Silent())

    async def crawl(self, uid: str, *, body: bytes = b"", events: int = 0, **terms: Any) -> CrawlId:
        """A crawl of one page that has ended; its body lies outside."""
        hook = Webhook(url="https://r.example/", events=events) if events else None
        new = new_batch(
            [f"https://site.example/{MARK}"], ScrapeOptions(), uid=uid, key_seed=1, terms=Terms(webhook=hook, **terms)
        )
        crawl = await self.store.start(new)
        worker = await self.store.register("here", 1, 1)
        (lease,) = (await self.store.step(worker, [], 1, crawl=crawl)).leases
        blob = f"{crawl}/{lease.lock}/document" if body else None
        if blob:
            await self.blobs.put(blob, body)
        end = Done(document=StoredDocument(lease.url, 200, "t", b"", blob, "site.example"))
        await self.store.step(worker, [Finished(lease=lease, end=end)], 0)
        while await self.store.sweep():
            pass
        return crawl


class Silent:
    """Nobody listens."""

    def trouble(self, event: str, message: str) -> None:
        raise AssertionError(f"{event}: {message}")


@pytest.fixture
async def cellar(tmp_path: Path) -> AsyncIterator[Cellar]:
    clock = FakeClock()
    store = await SqliteStore.open(tmp_path / "perseid.db", defaults=FREE, clock=clock.now_us)
    yield Cellar(tmp_path, store, clock)
    await store.close()


async def test_a_crawl_goes_when_its_time_is_over_and_its_bodies_with_it(cellar: Cellar) -> None:
    old = await cellar.crawl("old", body=b"x", ttl_s=60.0)
    kept = await cellar.crawl("kept", body=b"x")
    await cellar.clock.advance(61)
    await cellar.pruner.round()
    with pytest.raises(NotFound):
        await cellar.store.crawl_by_id(old)
    assert await cellar.blobs.prefixes() == [kept]


async def test_bodies_of_crawls_that_others_pruned_go_too(cellar: Cellar) -> None:
    await cellar.blobs.put("77/1/document", b"x")
    await cellar.blobs.put("78/1/document", b"x")
    kept = await cellar.crawl("kept", body=b"x")
    await cellar.pruner.round()
    assert await cellar.blobs.prefixes() == [kept]


async def test_pages_of_sites_are_kept_for_their_time_unless_something_is_wrong_with_them(cellar: Cellar) -> None:
    store, now = cellar.store, cellar.clock.now_us()
    shop = (await store.seeds.put_site(1, "shop")).id
    first = tuple(NewUrl(f"https://shop.example/{n}", n, "shop.example", JobKind.TASK) for n in range(2))
    await store.start(NewCrawl(uid="run", url="", options=b"{}", key_seed=1, kind=CrawlKind.SEED, first=first))
    worker = await store.register("here", 1, 1)
    leases = (await store.step(worker, [], 2)).leases
    page = KeptPage("https://shop.example/", 200, b"[]", b"x", "detail", 1, now)
    common: dict[str, Any] = {"team": 1, "site": shop, "rule_version": 1, "fetched_at": now, "page": page}
    sound = Harvest(url=leases[0].url, seen=[FieldSeen("title", 1, 1)], **common)
    broken = Harvest(url=leases[1].url, exceptions=[NewException("", b"{}", b"[]", "missing:title")], **common)
    found = zip(leases, (sound, broken), strict=True)
    await store.step(worker, [Finished(lease=lease, end=Done(), harvest=it) for lease, it in found], 0)
    await cellar.clock.advance(4 * DAY - 1)
    await cellar.pruner.round()
    assert len(await store.items.pages(shop)) == 2
    assert len(await store.items.field_rates(shop, since=0)) == 1
    await cellar.clock.advance(120)
    await cellar.pruner.round()
    assert [row.url for row in await store.items.pages(shop)] == [leases[1].url]
    assert await store.items.field_rates(shop, since=0) == []


async def test_known_urls_snapshots_and_the_log_are_kept_for_their_time(cellar: Cellar) -> None:
    crawl = await cellar.crawl("a", events=int(EventKind.STARTED))
    outbox, known = cellar.store.outbox, cellar.store.known
    await known.put_snapshot(1, "https://a.example/", "", Snapshot(cellar.clock.now_us(), b"x"))
    (event,) = await outbox.take_events(1, lease_us=1)
    attempt = Attempt(cellar.clock.now_us(), event.uid, event.kind, "", 1, 200, "", 1, final=True)
    await outbox.settle(event, attempt, again_in_us=None)
    await cellar.clock.advance(2 * DAY - 1)
    await cellar.pruner.round()
    assert len(await known.known_urls(1, "site.example")) == 1
    assert await known.snapshot(1, "https://a.example/", "") is not None
    await cellar.clock.advance(2)
    await cellar.pruner.round()
    assert await known.known_urls(1, "site.example") == []
    assert await known.snapshot(1, "https://a.example/", "") is None
    assert len(await outbox.attempts(crawl)) == 1
    await cellar.clock.advance(DAY)
    await cellar.pruner.round()
    assert await outbox.attempts(crawl) == []


async def test_zero_retention_is_kept_when_all_was_read(cellar: Cellar, tmp_path: Path) -> None:
    crawl = await cellar.crawl("u", body=MARK.encode(), zero_retention=True)
    await cellar.pruner.round()
    assert traces(tmp_path) != []
    await cellar.store.mark_delivered(crawl, 1)
    await cellar.clock.advance(120)
    await cellar.pruner.round()
    assert traces(tmp_path) == []
    assert (await cellar.store.crawl_by_id(crawl)).counts.done == 1


async def test_zero_retention_takes_what_a_worker_writes_too_late(cellar: Cellar, tmp_path: Path) -> None:
    crawl = await cellar.crawl("u", zero_retention=True)
    await cellar.clock.advance(3_601)
    await cellar.pruner.round()
    await cellar.blobs.put(f"{crawl}/1/document", MARK.encode())
    await cellar.pruner.round()
    assert traces(tmp_path) == []


async def test_zero_retention_is_kept_after_an_hour_whoever_read_it(cellar: Cellar, tmp_path: Path) -> None:
    await cellar.crawl("u", body=MARK.encode(), zero_retention=True)
    await cellar.clock.advance(3_601)
    await cellar.pruner.round()
    assert traces(tmp_path) == []


def traces(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and MARK.encode() in path.read_bytes()]


async def test_a_crawl_under_zero_retention_leaves_nothing_in_any_file_or_line_of_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fetched for real, with failures, redirects, refused links, sitemaps and a body outside the database."""
    setup("debug", "json")
    settings = Settings(store=StoreSettings(blob_bytes=2_000))
    async with Site() as site, await Client.open(tmp_path, settings) as client:
        _marked_site(site)
        terms = Terms(zero_retention=True, remember_urls=True, recall_urls=True, request={"url": MARK})
        options = CrawlOptions(scrape=ScrapeOptions(revalidate=True, max_attempts=2))
        new = new_crawl(site.url(f"/{MARK}/"), options, uid="u", key_seed=1, terms=terms)
        crawl = await client._store.start(new)
        await client.run("u", concurrency=4)
        assert traces(tmp_path) != []
        assert (await client.crawl("u")).counts.done > 10
        engine = client._engine
        shelves = Shelves(
            store=engine.store, inspect=engine.store, pages=engine.store.pages, known=engine.store.known,
            items=engine.store.items, outbox=engine.store.outbox, blobs=engine.blobs,
        )  # fmt: skip
        keeping = Keeping(cache_s=DAY, known_s=DAY, page_s=DAY, log_s=DAY)
        pruner = Pruner(shelves, keeping, clock=engine.clock, telemetry=engine.telemetry)
        while await engine.store.sweep():
            pass
        await engine.store.mark_delivered(crawl, 1_000)
        await _age(engine.store, crawl)
        await pruner.round()
        assert traces(tmp_path) == []
        assert (await client.crawl("u")).counts.done > 10
        assert await client.audit() == []
    assert traces(tmp_path) == []
    setup("warning", "json")
    assert MARK not in capsys.readouterr().err


async def _age(store: SqliteStore, crawl: CrawlId) -> None:
    """The minute of grace is over."""
    await store._write(lambda tx: tx.execute("UPDATE erasure SET due_at = 0 WHERE crawl = ?", (crawl,)))


def _marked_site(site: Site) -> None:
    pages = {f"/{MARK}/{n}": [f"/{MARK}/{n + 1}", f"https://elsewhere.example/{MARK}/{n}"] for n in range(20)}
    site.links({f"/{MARK}/": [*pages, f"/{MARK}/gone", f"/{MARK}/moved", f"/{MARK}/broken"], **pages})
    site.page(f"/{MARK}/3", f"<title>{MARK}</title><main><p>" + f"{MARK} word " * 4_000 + "</p></main>")
    site.respond(f"/{MARK}/gone", 404, body=MARK)
    site.respond(f"/{MARK}/broken", reset=True)
    site.redirect(f"/{MARK}/moved", f"/{MARK}/target")
    site.page(f"/{MARK}/target", f"<p>{MARK}</p>", headers={"ETag": f'"{MARK}"'})
    site.sitemap("/sitemap.xml", [f"/{MARK}/from-sitemap"])
    site.robots("User-agent: *\nDisallow: /nowhere\n")
