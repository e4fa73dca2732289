"""What a receiver is told, word for word, and who it is."""

from __future__ import annotations

import msgspec
import pytest

from perseid.crawls.events import event_type, payload, receiver_of
from perseid.model.crawl import Counts, Crawl, CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId
from perseid.model.terms import EventKind, Terms, Webhook
from perseid.ports.outbox import Event


def crawl(kind: CrawlKind = CrawlKind.CRAWL, webhook: Webhook | None = None) -> Crawl:
    return Crawl(
        id=CrawlId(1),
        uid="the-uid",
        team=1,
        kind=kind,
        url="https://site.example/",
        options=b"{}",
        key_seed=1,
        status=CrawlStatus.SCRAPING,
        counts=Counts(),
        created_at=0,
        terms=msgspec.json.encode(Terms(webhook=webhook)) if webhook else b"",
    )


def event(kind: EventKind) -> Event:
    return Event(1, CrawlId(1), kind, None, 0, 0, "the-event", 1)


@pytest.mark.parametrize(
    ("kind", "told", "name"),
    [
        (CrawlKind.CRAWL, EventKind.STARTED, "crawl.started"),
        (CrawlKind.CRAWL, EventKind.PAGE, "crawl.page"),
        (CrawlKind.BATCH, EventKind.PAGE, "batch_scrape.page"),
        (CrawlKind.BATCH, EventKind.COMPLETED, "batch_scrape.completed"),
        (CrawlKind.CRAWL, EventKind.FAILED, "crawl.failed"),
        (CrawlKind.CRAWL, EventKind.CANCELLED, "crawl.cancelled"),
    ],
)
def test_types_bear_what_was_started_and_what_happened(kind: CrawlKind, told: EventKind, name: str) -> None:
    assert event_type(kind, told) == name


def test_success_has_no_error() -> None:
    data = [{"markdown": "# A"}]
    assert payload(crawl(), event(EventKind.PAGE), {"k": "v"}, data) == {
        "success": True,
        "type": "crawl.page",
        "id": "the-uid",
        "webhookId": "the-event",
        "data": data,
        "metadata": {"k": "v"},
    }


def test_failure_has_one() -> None:
    told = payload(crawl(), event(EventKind.PAGE), {}, [], "too slow")
    assert (told["success"], told["error"]) == (False, "too slow")


def test_the_callers_receiver_comes_before_the_operators() -> None:
    own = receiver_of(crawl(webhook=Webhook(url="HTTPS://Receiver.example:443/a b")), "https://operator.example/")
    assert own is not None
    assert (own.name, own.hook.url) == ("https://receiver.example", "https://receiver.example/a%20b")
    assert not own.trusted


def test_the_operators_receiver_learns_the_id_in_its_url() -> None:
    default = receiver_of(crawl(), "http://10.0.0.1:8080/{{JOB_ID}}/x")
    assert default is not None
    assert (default.hook.url, default.trusted) == ("http://10.0.0.1:8080/the-uid/x", True)


@pytest.mark.parametrize("url", ["", "nowhere", "ftp://receiver.example/"])
def test_nobody_is_told_at_what_is_no_web_address(url: str) -> None:
    assert receiver_of(crawl(), url) is None


@pytest.mark.parametrize("host", ["0x7f.1", "2130706433", "127.1", "017700000001", "127.0.0.1"])
def test_every_way_to_write_an_address_is_that_address(host: str) -> None:
    receiver = receiver_of(crawl(webhook=Webhook(url=f"http://{host}/")), "")
    assert receiver is not None
    assert receiver.name == "http://127.0.0.1"
