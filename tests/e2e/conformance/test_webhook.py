"""What receivers are sent."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import Any
from uuid import UUID

import pytest

from perseid.testing import Answer, Site
from perseid.testing.answer import Request

from .conftest import Server

VERSIONS = pytest.mark.parametrize("version", ["v1", "v2"])


def delivered(web: Site, path: str, last: str, within_s: float = 30) -> list[Request]:
    """What came to a receiver until an event of type `last` did."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        got = [request for request in list(web.requests) if request.path == path]
        if any(json.loads(request.body)["type"] == last for request in got):
            return got
        time.sleep(0.03)
    raise TimeoutError(last)


@pytest.fixture(scope="module", autouse=True)
def pages(web: Site) -> None:
    web.links({"/hooked/": ["/hooked/a", "/hooked/file"]})
    web.respond("/hooked/file", headers={"Content-Type": "application/zip"}, body=b"PK\x03\x04")
    web.otherwise(lambda request: Answer(status=200 if request.method == "POST" else 404))


def events(requests: list[Request]) -> list[dict[str, Any]]:
    return [json.loads(request.body) for request in requests]


@VERSIONS
def test_a_crawl_tells_of_its_start_its_pages_and_its_end(server: Server, web: Site, version: str) -> None:
    path = f"/receive/crawl-{version}"
    hook = {"url": web.url(path), "headers": {"X-Own": "1"}, "metadata": {"order": "7"}}
    uid = server.start(f"/{version}/crawl", url=web.url("/hooked/"), webhook=hook)
    requests = delivered(web, path, "crawl.completed")
    told = events(requests)
    assert sorted(event["type"] for event in told) == ["crawl.completed", *["crawl.page"] * 3, "crawl.started"]
    assert {event["id"] for event in told} == {uid}
    assert len({UUID(event["webhookId"]) for event in told}) == 5
    assert all(event["metadata"] == {"order": "7"} for event in told)
    assert all(event["data"] == [] for event in told if event["type"] != "crawl.page")
    assert all(set(event) - {"error"} == {"success", "type", "id", "webhookId", "data", "metadata"} for event in told)
    assert {request.headers["content-type"] for request in requests} == {"application/json"}
    assert {request.headers["x-own"] for request in requests} == {"1"}
    assert {request.method for request in requests} == {"POST"}


def test_a_page_comes_with_its_document_or_its_error(server: Server, web: Site) -> None:
    server.start("/v2/crawl", url=web.url("/hooked/"), webhook=web.url("/receive/pages"))
    pages = [event for event in events(delivered(web, "/receive/pages", "crawl.completed")) if event["data"]]
    good = [event for event in pages if event["success"]]
    [bad] = [event for event in pages if not event["success"]]
    assert sorted(event["data"][0]["metadata"]["sourceURL"] for event in good) == [
        web.url("/hooked/"), web.url("/hooked/a"),
    ]  # fmt: skip
    assert all(event["data"][0]["markdown"] for event in good)
    assert all("error" not in event for event in good)
    assert bad["data"] == [{"metadata": {"sourceURL": web.url("/hooked/file")}}]
    assert isinstance(bad["error"], str)
    assert all(event["metadata"] == {} for event in pages)


@VERSIONS
def test_a_batch_has_names_of_its_own(server: Server, web: Site, version: str) -> None:
    path = f"/receive/batch-{version}"
    server.start(f"/{version}/batch/scrape", urls=[web.url("/hooked/a")], webhook=web.url(path))
    told = events(delivered(web, path, "batch_scrape.completed"))
    assert sorted(event["type"] for event in told) == [
        "batch_scrape.completed", "batch_scrape.page", "batch_scrape.started",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "kinds"),
    [
        (["completed"], {"crawl.completed"}),
        (["page", "completed"], {"crawl.page", "crawl.completed"}),
        (["started", "failed", "completed"], {"crawl.started", "crawl.completed"}),
        ([], {"crawl.started", "crawl.page", "crawl.completed"}),
    ],
)
def test_events_may_be_chosen(server: Server, web: Site, wanted: list[str], kinds: set[str]) -> None:
    path = f"/receive/{'-'.join(wanted) or 'all'}"
    server.start("/v2/crawl", url=web.url("/hooked/"), webhook={"url": web.url(path), "events": wanted})
    assert {event["type"] for event in events(delivered(web, path, "crawl.completed"))} == kinds


def test_each_delivery_is_signed_over_its_very_bytes(server: Server, web: Site, hook_secret: bytes) -> None:
    server.start("/v2/crawl", url=web.url("/hooked/"), webhook=web.url("/receive/signed"))
    for request in delivered(web, "/receive/signed", "crawl.completed"):
        signature = hmac.new(hook_secret, request.body, hashlib.sha256).hexdigest()
        assert request.headers["x-firecrawl-signature"] == f"sha256={signature}"


@VERSIONS
def test_a_job_that_is_called_off_says_so_once_and_floods_nobody(server: Server, web: Site, version: str) -> None:
    path = f"/receive/off-{version}"
    kinds = ["started", "page", "completed", "failed", "cancelled"]
    urls = [web.url(f"/off-{version}/{number}") for number in range(200)]
    uid = server.start(
        f"/{version}/batch/scrape", urls=urls, maxConcurrency=1, webhook={"url": web.url(path), "events": kinds}
    )
    assert server.delete(f"/{version}/batch/scrape/{uid}").status_code == 200
    told = [event["type"] for event in events(delivered(web, path, "batch_scrape.cancelled"))]
    assert told.count("batch_scrape.cancelled") == 1
    assert "batch_scrape.failed" not in told
    assert "batch_scrape.completed" not in told
    assert told.count("batch_scrape.page") < 100
