"""Cases Q03 and Q06: cancelling a crawl that has a webhook, and reading a crawl of 250 pages while it runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from perseid.testing import Answer
from perseid.testing.service import serving
from perseid.testing.site import Site, in_thread


@pytest.fixture
def web() -> Iterator[Site]:
    site = Site()
    links = "".join(f'<li><a href="/{n}">Page {n}</a>' for n in range(1, 500))
    site.page("/", f"<title>Start</title><h1>Start</h1><ul>{links}</ul>")
    site.otherwise(lambda request: Answer(body=f"<title>{request.path}</title><p>{request.path}", delay_s=0.05))
    site.robots("")
    site.respond("/sitemap.xml", 404)
    site.respond("/hook", 204)
    with in_thread(site):
        yield site


def _ask(method: str, url: str, body: dict[str, Any] | None = None, host: str | None = None) -> dict[str, Any]:
    headers = {"Content-Type": "application/json"} | ({"Host": host} if host else {})
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(url, data, headers, method=method), timeout=60) as answer:
        told: dict[str, Any] = json.load(answer)
        return told


def _until(look: Callable[[], Any], within_s: float = 60) -> Any:
    until = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return found


def test_cancelling_tells_so_once_and_fetches_nothing_more(tmp_path: Path, web: Site) -> None:
    with serving(tmp_path, environment={"ALLOW_LOCAL_WEBHOOKS": "true"}) as (url, _process):
        hook = {"url": web.url("/hook"), "events": ["failed", "cancelled"]}
        body = {"url": web.url("/"), "limit": 500, "maxConcurrency": 8, "webhook": hook}
        job = f"{url}/v2/crawl/{_ask('POST', f'{url}/v2/crawl', body)['id']}"
        _until(lambda: _ask("GET", f"{job}?limit=1")["completed"] >= 50)
        assert _ask("DELETE", job)["status"] == "cancelled"
        told = _until(lambda: [json.loads(each.body) for each in web.requests if each.path == "/hook"])
        time.sleep(5)
        fetched = len(web.requests)
        time.sleep(1)
        assert len(web.requests) == fetched
        told = [json.loads(each.body)["type"] for each in web.requests if each.path == "/hook"]
        assert told == ["crawl.cancelled"]
        status = _ask("GET", job)
        assert (status["status"], status["completed"] >= 50, len(status["data"]) >= 50) == ("cancelled", True, True)


def test_a_running_crawl_answers_at_once_and_next_leads_to_the_end_of_it(tmp_path: Path, web: Site) -> None:
    with serving(tmp_path) as (url, _process):
        uid = _ask("POST", f"{url}/v2/crawl", {"url": web.url("/"), "limit": 250})["id"]
        _until(lambda: _ask("GET", f"{url}/v2/crawl/{uid}?limit=1")["completed"] >= 5)
        assert _ask("GET", f"{url}/v2/crawl/{uid}")["success"]
        _until(lambda: _ask("GET", f"{url}/v2/crawl/{uid}?limit=1")["status"] == "completed")
        seen: list[str] = []
        page = _ask("GET", f"{url}/v2/crawl/{uid}", host="crawl.example:8080")
        while True:
            assert len(page["data"]) <= 100
            seen += [each["metadata"]["sourceURL"] for each in page["data"]]
            if "next" not in page:
                break
            assert page["next"].startswith(f"http://crawl.example:8080/v2/crawl/{uid}?")
            page = _ask("GET", page["next"].replace("http://crawl.example:8080", url), host="crawl.example:8080")
        assert len(seen) == len(set(seen)) == 250
