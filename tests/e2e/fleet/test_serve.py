"""The HTTP server beside workers of their own, on a store that both share."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from perseid.testing import Site
from perseid.testing.service import serving

pytestmark = pytest.mark.slow

PAGES = 300


def ask(url: str, method: str = "GET", body: Any = None) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(url, data, {"Content-Type": "application/json"}, method=method), timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def until_completed(url: str, uid: str) -> dict[str, Any]:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        _status, told = ask(f"{url}/v2/crawl/{uid}?limit=1")
        if told["status"] != "scraping":
            return dict(told)
        time.sleep(0.1)
    raise TimeoutError(told)


@pytest.fixture
def server(fleet: Any, tmp_path: Path) -> Any:
    with serving(tmp_path / "api", workers=0, environment=fleet.environment) as (url, running):
        yield url, running


def test_workers_crawl_what_the_server_is_asked_for(fleet: Any, site: Site, server: Any) -> None:
    url, running = server
    if not fleet.url:
        # One folder: SQLite is shared by processes of one machine.
        fleet.folder = Path(running._stderr).parent
    with fleet.worker(2) as worker:
        worker.ready(2)
        status, begun = ask(f"{url}/v2/crawl", "POST", {"url": site.url("/"), "limit": 1000})
        assert status == 200, begun
        site.wait(n=40, timeout_s=60)
        rows = [row for row in ask(f"{url}/api/workers")[1] if row["slots"]]
        assert {row["pid"] for row in rows} == worker.pids()
        leaving = rows[0]
        assert ask(f"{url}/api/workers/{leaving['id']}/drain", "POST", {"replace": True}) == (
            202,
            {"id": leaving["id"], "drain": "replace"},
        )
        assert until_completed(url, begun["id"])["completed"] == PAGES
        while leaving["pid"] in worker.pids():
            assert worker.command.running(), worker.command.stderr
            time.sleep(0.05)
        worker.ready(2)
        told = ask(f"{url}/v2/crawl/{begun['id']}")[1]
        assert len(told["data"]) == 100, "a page of the listing"
        # A scrape runs at the server's own desk.
        scraped = ask(f"{url}/v2/scrape", "POST", {"url": site.url("/page-7")})[1]
        assert "What stands on page 7" in scraped["data"]["markdown"]
    counts = {path: times for path, times in site.counts().items() if path.startswith("/page-") and path != "/page-7"}
    assert set(counts.values()) == {1}


def test_a_server_is_not_asked_to_go_as_a_worker(fleet: Any, server: Any) -> None:
    url, _running = server
    (row,) = ask(f"{url}/api/workers")[1]
    assert row["slots"] == 0
    status, problem = ask(f"{url}/api/workers/{row['id']}/drain", "POST")
    assert (status, problem["status"]) == (404, 404)
    assert ask(f"{url}/api/workers/99999/drain", "DELETE")[0] == 404


def test_the_server_is_ready_once_the_store_answers(server: Any) -> None:
    url, _running = server
    assert ask(f"{url}/health/ready") == (200, {"status": "ok"})
