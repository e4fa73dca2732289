"""What a team may do is bounded by its keys' limits, and every refusal over HTTP says when or why."""

from __future__ import annotations

import concurrent.futures
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from perseid.testing import Answer, in_thread
from perseid.testing.child import command
from perseid.testing.ground import standing
from perseid.testing.service import serving
from perseid.testing.site import Site


@pytest.fixture(scope="module")
def web() -> Iterator[Site]:
    site = Site()
    site.links({"/": [f"/{number}" for number in range(20)]})
    site.respond("/slow", body="<p>slow", delay_s=3)
    with in_thread(site):
        yield site


@contextmanager
def team(folder: Path, *limits: str, workers: int = 1) -> Iterator[httpx.Client]:
    """Somebody of a team with these limits (flags of `perseid keys create`)."""
    arguments = ("keys", "create", "--team", "ours", "--data", str(folder / "data"), "--json", *limits)
    with standing() as ground:
        with command(*arguments, folder=folder, environment=ground.environment) as made:
            key = json.loads(made.wait(60).stdout)["key"]
        bearer = {"Authorization": f"Bearer {key}"}
        with (
            serving(folder, workers=workers, environment=ground.environment) as (url, _process),
            httpx.Client(base_url=url, timeout=60, headers=bearer) as http,
        ):
            yield http


def scraped(http: httpx.Client, url: str, **options: Any) -> httpx.Response:
    return http.post("/v2/scrape", json={"url": url, **options})


def test_more_requests_than_a_minute_has_are_asked_to_wait(web: Site, tmp_path: Path) -> None:
    with team(tmp_path, "--rate", "3", workers=0) as http:
        answers = [http.get("/v2/concurrency-check") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    refused = answers[-1]
    assert refused.json()["success"] is False
    assert "Rate limit exceeded" in refused.json()["error"]
    assert 1 <= int(refused.headers["Retry-After"]) <= 60


def test_more_pages_than_a_team_may_have_in_flight_wait_and_are_then_asked_to(web: Site, tmp_path: Path) -> None:
    with team(tmp_path, "--concurrency", "2", workers=0) as http, concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert http.get("/v2/concurrency-check").json()["maxConcurrency"] == 2
        held = [pool.submit(scraped, http, web.url("/slow")) for _ in range(2)]
        while http.get("/v2/concurrency-check").json()["concurrency"] < 2:
            time.sleep(0.01)
        refused = scraped(http, web.url("/"), timeout=1500)
        patient = scraped(http, web.url("/"), timeout=20_000)
        assert [each.result().status_code for each in held] == [200, 200]
    assert (refused.status_code, refused.json()["success"]) == (429, False)
    assert int(refused.headers["Retry-After"]) >= 1
    assert patient.json()["data"]["metadata"]["concurrencyLimited"] is True


def test_a_quota_lowers_limits_and_then_ends_it(web: Site, tmp_path: Path) -> None:
    with team(tmp_path, "--quota", "6") as http:
        assert scraped(http, web.url("/")).status_code == 200
        uid = http.post("/v2/crawl", json={"url": web.url("/"), "limit": 100}).json()["id"]
        while (crawl := http.get(f"/v2/crawl/{uid}").json())["status"] == "scraping":
            time.sleep(0.05)
        assert (crawl["status"], crawl["completed"]) == ("completed", 5)
        assert "lowered to 5 pages" in crawl["warning"]
        for path, body in (
            ("scrape", {"url": web.url("/")}),
            ("crawl", {"url": web.url("/")}),
            ("batch/scrape", {"urls": [web.url("/")]}),
        ):
            for version in ("v1", "v2"):
                refused = http.post(f"/{version}/{path}", json=body)
                assert (refused.status_code, refused.json()["success"]) == (402, False), path
                assert "6 of the 6 pages" in refused.json()["error"]
        usage = http.get("/v2/team/credit-usage").json()["data"]
        assert (usage["remainingCredits"], usage["planCredits"]) == (0, 6)
        assert http.get("/v2/team/credit-usage/historical").json()["periods"][0]["creditsUsed"] == 6
        assert http.post("/v2/map", json={"url": web.url("/")}).status_code == 200


def test_scrapes_that_begin_at_once_share_a_quota_to_the_page(web: Site, tmp_path: Path) -> None:
    site = Site()
    site.otherwise(lambda _request: Answer(body="<p>x"))
    with (
        in_thread(site),
        team(tmp_path, "--quota", "5", workers=0) as http,
        concurrent.futures.ThreadPoolExecutor(16) as pool,
    ):
        answers = list(pool.map(lambda number: scraped(http, site.url(f"/{number}")).status_code, range(16)))
        assert sorted(answers) == [200] * 5 + [402] * 11
        assert len(site.requests) == 5
