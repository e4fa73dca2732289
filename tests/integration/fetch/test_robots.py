"""robots.txt over the wire: the statuses of RFC 9309, 2.3.1, with the real fetcher."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perseid.fetch.guard import Allowance
from perseid.fetch.robots_cache import RobotsCache
from perseid.ports.fetch import FetchRequest


class PatientClock:
    """Real requests, but pauses that take no time."""

    def __init__(self) -> None:
        self.us = 1_000_000_000_000

    def now_us(self) -> int:
        return self.us

    def monotonic_s(self) -> float:
        return self.us / 1e6

    async def sleep(self, seconds: float) -> None:
        self.us += int(seconds * 1e6)


def case(shared: Path, name: str) -> dict:
    lines = (shared / "cases" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return next(entry for entry in map(json.loads, lines) if entry["id"] == name)


async def test_statuses_decide_as_the_rfc_says(shared, serve, page, fetcher):
    expected = case(shared, "R07")
    path = expected["input"]["url"]
    allowed = []
    for status in expected["input"]["robots_status"]:

        async def silent(_head, _writer):
            return False

        site = await serve(silent if status == "timeout" else page(b"", status=f"{status} X"))
        cache = RobotsCache(fetcher, PatientClock())
        robots = await cache.fetch(site.base, request=FetchRequest(url=site.base + path, timeout_s=1))
        allowed.append(robots.allows(site.base + path).allowed)
    assert allowed == expected["expected"]["allowed"]


async def test_the_start_of_a_huge_file_counts(serve, page, fetcher):
    body = b"User-agent: *\nDisallow: /private\n" + b"# padding\n" * 500_000
    site = await serve(page(body, "Content-Type: text/plain"))
    cache = RobotsCache(fetcher, PatientClock())
    robots = await cache.fetch(site.base, request=FetchRequest(url=site.base))
    assert not robots.allows(f"{site.base}/private").allowed
    assert robots.allows(f"{site.base}/public").allowed


async def test_a_body_cut_off_is_no_set_of_rules(serve, page, fetcher):
    async def respond(_head, writer):
        writer.write(page(b"User-agent: *\nAllow: /\n", length=1000))
        return False

    site = await serve(respond)
    cache = RobotsCache(fetcher, PatientClock())
    robots = await cache.fetch(site.base, request=FetchRequest(url=site.base))
    assert not robots.allows(f"{site.base}/x").allowed
    assert len(site.heads) == 3


async def test_a_redirect_to_another_private_host_is_stopped_by_the_guard(serve, page, make_fetcher):
    secret = await serve(page(b"User-agent: *\nAllow: /\n"))
    site = await serve(page(b"", f"Location: http://localhost:{secret.port}/robots.txt", status="302 X"))
    cache = RobotsCache(make_fetcher(), PatientClock())
    robots = await cache.fetch(site.base, request=FetchRequest(url=site.base, named_host="127.0.0.1"))
    verdict = robots.allows(f"{site.base}/x")
    assert not verdict.allowed
    assert "loopback" in verdict.rule
    assert secret.connections == 0


async def test_a_redirect_to_another_host_is_followed(serve, page, make_fetcher):
    other = await serve(page(b"User-agent: *\nDisallow: /x\n"))
    site = await serve(page(b"", f"Location: http://localhost:{other.port}/robots.txt", status="301 X"))
    cache = RobotsCache(make_fetcher(allowance=Allowance(allow_private=True)), PatientClock())
    robots = await cache.fetch(site.base, request=FetchRequest(url=site.base))
    assert not robots.allows(f"{site.base}/x").allowed
    assert robots.allows(f"{site.base}/y").allowed


@pytest.mark.parametrize("body", [b"\xff\xfe\x00garbage", b"<!doctype html><h1>Home</h1>", b""])
async def test_a_file_that_says_nothing_allows_all(serve, page, fetcher, body):
    site = await serve(page(body))
    robots = await RobotsCache(fetcher, PatientClock()).fetch(site.base, request=FetchRequest(url=site.base))
    assert robots.allows(f"{site.base}/x").allowed
