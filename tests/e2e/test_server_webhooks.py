"""Webhooks of the real server, as a receiver gets them."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from perseid.testing import Answer
from perseid.testing.service import serving
from perseid.testing.site import Site, in_thread

_SECRET = "s3cret"


@pytest.fixture
def web() -> Iterator[Site]:
    site = Site()
    site.links({"/": ["/a", "/broken"]})
    site.respond("/broken", reset=True)
    site.handle("/hook", lambda _request: Answer(status=204))
    site.sequence("/shaky", [Answer(status=503), Answer(status=204)])
    with in_thread(site):
        yield site


def _post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        told: dict[str, Any] = json.load(answer)
        return told


def _told(site: Site, path: str, last: str, within_s: float = 60) -> list[tuple[dict[str, Any], dict[str, str], bytes]]:
    """What a receiver was sent until an event of type `last` came."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        got = [request for request in site.requests if request.path == path]
        told = [(json.loads(request.body), request.headers, request.body) for request in got]
        if any(event["type"] == last for event, _headers, _body in told):
            return told
        time.sleep(0.05)
    raise TimeoutError(last)


def test_a_receiver_is_told_everything_signed_and_the_end_last(tmp_path: Path, web: Site) -> None:
    environment = {"SELF_HOSTED_WEBHOOK_HMAC_SECRET": _SECRET, "ALLOW_LOCAL_WEBHOOKS": "true"}
    with serving(tmp_path, environment=environment) as (url, _process):
        hook = {"url": web.url("/hook"), "headers": {"X-Own": "1"}, "metadata": {"order": "7"}}
        uid = _post(f"{url}/v2/crawl", {"url": web.url("/"), "webhook": hook})["id"]
        told = _told(web, "/hook", "crawl.completed")
    events = [event for event, _headers, _body in told]
    assert {event["id"] for event in events} == {uid}
    assert {event["type"] for event in events} == {"crawl.started", "crawl.page", "crawl.completed"}
    assert events[-1]["type"] == "crawl.completed"
    assert all(event["metadata"] == {"order": "7"} for event in events)
    assert len({event["webhookId"] for event in events}) == len(events)
    pages = [event for event in events if event["type"] == "crawl.page"]
    assert sorted(event["data"][0]["metadata"]["sourceURL"] for event in pages) == [
        web.url("/"), web.url("/a"), web.url("/broken"),
    ]  # fmt: skip
    assert [event["success"] for event in pages].count(False) == 1
    assert all(event["data"][0]["markdown"] for event in pages if event["success"])
    for _event, headers, body in told:
        assert headers["x-own"] == "1"
        signature = hmac.new(_SECRET.encode(), body, hashlib.sha256).hexdigest()
        assert headers["x-firecrawl-signature"] == f"sha256={signature}"


def test_the_operators_receiver_hears_of_crawls_that_name_none(tmp_path: Path, web: Site) -> None:
    environment = {"SELF_HOSTED_WEBHOOK_URL": web.url("/hook?job={{JOB_ID}}")}
    with serving(tmp_path, environment=environment) as (url, _process):
        uid = _post(f"{url}/v1/batch/scrape", {"urls": [web.url("/a")]})["id"]
        told = _told(web, f"/hook?job={uid}", "batch_scrape.completed")
    assert [event["type"] for event, _headers, _body in told] == [
        "batch_scrape.started", "batch_scrape.page", "batch_scrape.completed",
    ]  # fmt: skip


def test_a_refused_delivery_is_tried_again_under_the_same_id_and_logged(tmp_path: Path, web: Site) -> None:
    with serving(tmp_path, environment={"ALLOW_LOCAL_WEBHOOKS": "true"}) as (url, _process):
        hook = {"url": web.url("/shaky"), "events": ["completed"]}
        uid = _post(f"{url}/v2/crawl", {"url": web.url("/a"), "webhook": hook})["id"]
        _told(web, "/shaky", "crawl.completed")
        web_ids = _wait_for(lambda: [json.loads(r.body)["webhookId"] for r in web.requests if r.path == "/shaky"], 2)
        log = _wait_for(lambda: _get(f"{url}/api/crawls/{uid}/deliveries")["items"], 2)
    assert len(set(web_ids)) == 1
    assert [(item["status"], item["attempt"], item["final"]) for item in log] == [(503, 1, False), (204, 2, True)]


def _get(url: str) -> dict[str, Any]:
    with urlopen(url, timeout=60) as answer:
        told: dict[str, Any] = json.load(answer)
        return told


def _wait_for(look: Any, number: int, within_s: float = 30) -> Any:
    until = time.monotonic() + within_s
    while len(found := look()) < number:
        assert time.monotonic() < until, found
        time.sleep(0.05)
    return found


def test_a_private_receiver_is_refused_unless_it_is_allowed(tmp_path: Path, web: Site) -> None:
    with serving(tmp_path) as (url, _process):
        hook = {"url": web.url("/hook"), "events": ["completed"]}
        uid = _post(f"{url}/v2/crawl", {"url": web.url("/a"), "webhook": hook})["id"]
        (attempt,) = _wait_for(lambda: _get(f"{url}/api/crawls/{uid}/deliveries")["items"], 1)
    assert attempt["final"]
    assert attempt["status"] is None
    assert "PERSEID_WEBHOOK__ALLOW_PRIVATE" in attempt["error"]
    assert not [request for request in web.requests if request.path == "/hook"]
