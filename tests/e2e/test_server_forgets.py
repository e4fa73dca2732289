"""Zero retention: what was delivered is gone from every file of the store, and the counters stay."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from perseid.testing.service import serving
from perseid.testing.site import Site, in_thread

pytestmark = pytest.mark.slow

_MARK = "zxqvmarker"


def _ask(url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(url, data, {"Content-Type": "application/json"}), timeout=60) as answer:
        told: dict[str, Any] = json.load(answer)
        return told


def _holding(folder: Path) -> list[str]:
    """Files that hold the mark, which stands in every URL, title, text and header of the site."""
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and _MARK.encode() in path.read_bytes()
    ]


def test_nothing_of_a_delivered_crawl_is_left_in_any_file(tmp_path: Path) -> None:
    site = Site()
    start = f"/{_MARK}/"
    site.page(
        start, f'<title>{_MARK}</title><p>{_MARK} <a href="/{_MARK}/a">{_MARK}</a> <a href="/x.{_MARK}.png">i</a>'
    )
    site.page(f"/{_MARK}/a", f"<title>{_MARK}</title><p>{_MARK}" + "<p>long text of no importance " * 20_000)
    environment = {"PERSEID_WORKER__PRUNE_S": "0.2", "PERSEID_LOG__LEVEL": "debug"}
    with in_thread(site), serving(tmp_path, environment=environment) as (url, process):
        body = {"url": site.url(start), "zeroDataRetention": True, "scrapeOptions": {"storeInCache": True}}
        uid = _ask(f"{url}/v2/crawl", body)["id"]
        status = _until_completed(f"{url}/v2/crawl/{uid}")
        assert status["completed"] == 2
        scraped = _ask(f"{url}/v2/scrape", {"url": site.url(start), "zeroDataRetention": True})
        assert _MARK in scraped["data"]["markdown"]
        _until_gone(tmp_path / "data")
        assert _ask(f"{url}/v2/crawl/{uid}")["completed"] == 2
        assert _MARK not in process.stderr


def _until_completed(url: str, within_s: float = 60) -> dict[str, Any]:
    until = time.monotonic() + within_s
    while (status := _ask(url))["status"] != "completed":
        assert time.monotonic() < until, status
        time.sleep(0.1)
    return status


def _until_gone(folder: Path, within_s: float = 150) -> None:
    until = time.monotonic() + within_s
    while left := _holding(folder):
        assert time.monotonic() < until, left
        time.sleep(0.2)
