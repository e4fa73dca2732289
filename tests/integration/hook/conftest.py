"""A store, its clock in hand, receivers on loopback, and the duty that tells them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from perseid.crawls.events import Courier
from perseid.crawls.pack import Packer
from perseid.crawls.start import new_batch, tell_operator
from perseid.fetch.guard import Allowance, judge_for
from perseid.fetch.resolver import Resolver
from perseid.hook.sender import Sender
from perseid.model.crawl import Crawl
from perseid.model.document import Document
from perseid.model.ids import CrawlId, WorkerId
from perseid.model.options import ScrapeOptions
from perseid.model.terms import Terms, Webhook
from perseid.observe.telemetry import LogTelemetry
from perseid.ports.truth import Truth
from perseid.ports.work import Done, End, Failed, Finished, Lease, StoredDocument
from perseid.store.blobs import FileBlobs
from perseid.testing import FakeClock, Site
from perseid.testing.conformance.store.desk import FREE
from perseid.testing.ground import Ground, give_back, open_store, take
from perseid.worker.duties.webhooks import WebhookOptions, Webhooks


def render(crawl: Crawl, number: int, document: Document) -> dict[str, Any]:
    """Stands for the translation of an API version, which lies above."""
    return {
        "of": f"{crawl.uid}/{number}",
        "markdown": document.markdown,
        "metadata": {"sourceURL": document.source_url},
    }


class Post:
    """Everything between a crawl and its receiver."""

    def __init__(self, folder: Path, ground: Ground, store: Truth, clock: FakeClock) -> None:
        self.folder = folder
        self.ground = ground
        self.store = store
        self.clock = clock
        self.blobs = FileBlobs(folder / "blobs")
        self.worker = WorkerId(0)
        self.crawls = 0
        self.senders: list[Sender] = []
        self.duty = self.webhooks()

    def webhooks(self, *, operators: str = "", secret: str = "", timeout_s: float = 5.0, **options: Any) -> Webhooks:
        judge = judge_for(Allowance.parse("127.0.0.1"), setting="PERSEID_WEBHOOK__ALLOW_PRIVATE")
        sender = Sender(judge=judge, lookup=Resolver().lookup, secret=secret, timeout_s=timeout_s)
        self.senders.append(sender)
        return Webhooks(
            self.store.outbox,
            Courier(self.store, self.store.outbox, self.blobs, render=render, operators=operators),
            sender,
            WebhookOptions(timeout_s=timeout_s, **options),
            clock=self.clock,
            telemetry=LogTelemetry(),
        )

    async def start(self, receiver: str | None, urls: int = 1, **hook: Any) -> CrawlId:
        """A batch of so many pages whose caller named this receiver."""
        self.crawls += 1
        terms = Terms(webhook=Webhook(url=receiver, **hook)) if receiver else Terms()
        named = [f"https://site.example/{self.crawls}/{n}" for n in range(urls)]
        new = new_batch(named, ScrapeOptions(), uid=f"crawl-{self.crawls}", key_seed=1, terms=terms)
        return await self.store.start(new if receiver else tell_operator(new))

    async def leases(self, crawl: CrawlId) -> list[Lease]:
        return (await self.store.step(self.worker, [], 1_000, crawl=crawl)).leases

    async def fetch(self, crawl: CrawlId, end: End | None = None) -> None:
        """Bring all pages home."""
        leases = await self.leases(crawl)
        await self.store.step(self.worker, [Finished(lease=lease, end=end or done(lease)) for lease in leases], 0)

    async def tell(self, duty: Webhooks | None = None) -> None:
        """Deliver all that is due now."""
        duty = duty or self.duty
        for _ in range(200):
            await duty.round()
            await duty.settled()
            wait = await self.store.outbox.next_event_us()
            if wait is None or wait > 0:
                return
        raise AssertionError("telling comes to no end")

    async def log(self, crawl: CrawlId) -> list[tuple[int | None, bool]]:
        return [(entry.status, entry.final) for _n, entry in await self.store.outbox.attempts(crawl, limit=10_000)]


def done(lease: Lease) -> Done:
    document = Document(url=lease.url, source_url=lease.payload or lease.url, status=200, markdown=f"# {lease.url}")
    return Done(document=StoredDocument(lease.url, 200, None, Packer().pack(document)))


def failed(message: str = "too slow") -> Failed:
    return Failed(code="timeout", message=message)


def told(site: Site, path: str = "/hook") -> list[dict[str, Any]]:
    """The bodies that arrived."""
    return [msgspec.json.decode(request.body) for request in site.requests if request.bare_path == path]


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Post]:
    clock = FakeClock()
    ground = await take()
    store = await open_store(ground, tmp_path / "perseid.db", defaults=FREE, clock=clock.now_us)
    office = Post(tmp_path, ground, store, clock)
    office.worker = await store.register("here", 1, 1)
    yield office
    for sender in office.senders:
        await sender.close()
    await store.close()
    await give_back(ground)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site() as site:
        site.respond("/hook", 204)
        yield site
