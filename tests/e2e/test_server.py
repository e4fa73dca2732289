"""`perseid serve` as its users have it: a process, asked over HTTP, killed, and started again."""

from __future__ import annotations

import concurrent.futures
import json
import signal
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from perseid.testing import Answer, in_thread
from perseid.testing.child import Command, command
from perseid.testing.ground import Ground, standing
from perseid.testing.service import serving
from perseid.testing.site import Site


class Api:
    """The server at an address."""

    def __init__(self, url: str, key: str | None = None) -> None:
        self.url = url
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})

    def ask(self, method: str, path: str, body: Any = None, *, timeout_s: float = 60) -> tuple[int, Any]:
        """(status, JSON or text)."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data, self._headers, method=method)
        try:
            with urlopen(request, timeout=timeout_s) as answer:
                return answer.status, _content(answer)
        except HTTPError as error:
            return error.code, _content(error)

    def get(self, path: str) -> Any:
        status, content = self.ask("GET", path)
        assert status == 200, content
        return content

    def post(self, path: str, body: Any) -> Any:
        status, content = self.ask("POST", path, body)
        assert status == 200, content
        return content

    def ended(self, uid: str, *, within_s: float = 60) -> dict[str, Any]:
        """The crawl once it has ended."""
        until = time.monotonic() + within_s
        while time.monotonic() < until:
            crawl: dict[str, Any] = self.get(f"/api/crawls/{uid}")
            if crawl["status"] != "scraping":
                return crawl
            time.sleep(0.05)
        raise TimeoutError(crawl)


def _content(answer: Any) -> Any:
    body = answer.read()
    return json.loads(body) if "json" in answer.headers.get("content-type", "") else body.decode()


@pytest.fixture
def web() -> Iterator[Site]:
    site = Site()
    with in_thread(site):
        site.links({"/": ["/a", "/b", "https://elsewhere.example/"], "/a": ["/b", "/gone"]})
        site.respond("/gone", 404, body="<title>Gone</title>")
        site.handle("/slow", lambda _request: Answer(body="<p>slow", delay_s=20))
        yield site


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with serving(tmp_path_factory.mktemp("server")) as (url, _process):
        yield Api(url)


def test_a_crawl_can_be_followed_through_all_its_resources(api: Api, web: Site) -> None:
    uid = api.post("/v2/crawl", {"url": web.url("/")})["id"]
    crawl = api.ended(uid)
    assert (crawl["status"], crawl["counts"]["done"], crawl["counts"]["failed"]) == ("completed", 3, 1)
    documents = api.get(f"/api/crawls/{uid}/documents")["items"]
    assert sorted(item["document"]["url"] for item in documents if item["document"]["status"] == 200) == [
        web.url("/"), web.url("/a"), web.url("/b"),
    ]  # fmt: skip
    assert api.get(f"/api/crawls/{uid}/documents/1")["document"]["url"] == web.url("/")
    assert [item["reason"] for item in api.get(f"/api/crawls/{uid}/skipped")["items"]] == ["EXTERNAL_LINK"]
    assert [item["code"] for item in api.get(f"/api/crawls/{uid}/failures")["items"]] == ["http_404"]
    assert uid in [item["id"] for item in api.get("/api/crawls?status=completed")["items"]]
    (told,) = api.get(f"/api/explain?url={web.url('/gone')}&crawl={uid}")
    assert (told["state"], told["referrers"]) == ("failed", [web.url("/a"), web.url("/")])


def test_listings_go_on_at_their_cursor(api: Api, web: Site) -> None:
    uid = api.post("/v2/crawl", {"url": web.url("/")})["id"]
    api.ended(uid)
    seen: list[int] = []
    cursor = ""
    while True:
        page = api.get(f"/api/jobs?crawl={uid}&limit=2{cursor}")
        seen += [job["id"] for job in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert len(seen) == len(set(seen)) >= 4


def test_failed_pages_can_be_tried_again(api: Api, web: Site) -> None:
    uid = api.post("/v2/crawl", {"url": web.url("/")})["id"]
    api.ended(uid)
    web.page("/gone", "<p>back again")
    assert api.post("/api/jobs/retry", {"crawl": uid, "state": "failed"}) == {"jobs": 1}
    crawl = api.ended(uid)
    assert (crawl["counts"]["done"], crawl["counts"]["failed"]) == (4, 0)
    assert api.ask("POST", "/api/jobs/retry", {})[0] == 400


def test_events_bring_every_document_once_and_end(api: Api, web: Site) -> None:
    uid = api.post("/v2/crawl", {"url": web.url("/")})["id"]
    events = _events(api.url, uid)
    documents = [fields["url"] for name, fields in events if name == "document"]
    assert sorted(documents) == [web.url("/"), web.url("/a"), web.url("/b"), web.url("/gone")]
    assert events[-1][0] == "done"
    again = _events(api.url, uid, last=2)
    assert [fields["number"] for name, fields in again if name == "document"] == [3, 4]


def _events(url: str, uid: str, *, last: int | None = None) -> list[tuple[str, dict[str, Any]]]:
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    found = []
    with urlopen(Request(f"{url}/api/crawls/{uid}/events", headers=headers), timeout=60) as answer:
        for block in answer.read().decode().split("\n\n"):
            fields = dict(line.partition(": ")[::2] for line in block.splitlines())
            if "event" in fields:
                found.append((fields["event"], json.loads(fields["data"])))
    return found


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/crawls/none", 404, "not_found"),
        ("GET", "/api/nothing", 404, "not_found"),
        ("GET", "/api/crawls?limit=0", 422, "invalid_request"),
        ("GET", "/api/crawls?cursor=%21", 400, "config_error"),
        ("DELETE", "/api/hosts", 405, "method_not_allowed"),
    ],
)
def test_errors_are_problems_that_say_what_is_wrong(api: Api, method: str, path: str, status: int, code: str) -> None:
    found, problem = api.ask(method, path)
    assert (found, problem["status"], problem["title"]) == (status, status, code)
    assert problem["detail"]


def test_hosts_can_be_paused_and_let_go_on(api: Api, web: Site) -> None:
    api.post("/v2/scrape", {"url": web.url("/")})
    host = next(host for host in api.get("/api/hosts") if host["name"] == web.url("/").split("/")[2])
    paused = api.ask("PATCH", f"/api/hosts/{host['name']}", {"pauseS": 3600})[1]
    assert paused["pausedUntil"]
    assert api.ask("POST", "/v2/scrape", {"url": web.url("/"), "timeout": 1500})[0] == 429
    api.ask("PATCH", f"/api/hosts/{host['name']}", {"pauseS": 0})
    assert api.post("/v2/scrape", {"url": web.url("/"), "timeout": 20000})["success"]
    assert api.ask("PATCH", "/api/hosts/unknown.example", {"pauseS": 1})[0] == 404


def test_probes_metrics_and_the_description_are_there(api: Api, web: Site) -> None:
    api.post("/v2/scrape", {"url": web.url("/")})
    assert api.get("/health/live") == api.get("/health/ready") == {"status": "ok"}
    metrics = api.get("/metrics")
    assert 'perseid_http_requests_total{method="POST",route="/v2/scrape",status="200"}' in metrics
    assert 'perseid_jobs_total{kind="page",outcome="done"}' in metrics
    assert "perseid_crawls{" in metrics
    page = api.get("/docs")
    assert "http://" not in page.replace("http://127.0.0.1", "")
    assert "https://" not in page
    assert api.get("/openapi.json")["openapi"].startswith("3.1")


@pytest.fixture
def ground() -> Iterator[Ground]:
    """For several programs on one store."""
    with standing() as ground:
        yield ground


def test_beyond_loopback_it_wants_a_key_and_then_lets_nobody_in_without(
    tmp_path: Path, web: Site, ground: Ground
) -> None:
    def told(*words: str) -> AbstractContextManager[Command]:
        return command(*words, "--data", str(tmp_path / "data"), folder=tmp_path / "r", environment=ground.environment)

    with told("serve", "--host", "0.0.0.0", "--port", "0") as one:
        ended = one.wait(30)
    assert ended.status == 2
    assert "perseid keys create" in ended.stderr
    with told("keys", "create", "--name", "t", "--json") as made:
        key = json.loads(made.wait(30).stdout)
    with serving(tmp_path, "--host", "0.0.0.0", environment=ground.environment) as (address, _process):
        url = address.replace("0.0.0.0", "127.0.0.1")
        assert Api(url).ask("GET", "/api/stats")[0] == 401
        assert Api(url, "fc-wrong").ask("GET", "/v2/concurrency-check")[0] == 401
        assert Api(url, key["key"]).post("/v2/scrape", {"url": web.url("/")})["success"]
        with told("keys", "revoke", str(key["id"])) as gone:
            assert gone.wait(30).status == 0
        time.sleep(2.5)
        assert Api(url, key["key"]).ask("GET", "/api/stats")[0] == 401
    secret = key["key"].encode()
    assert not any(secret in path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())


def test_teams_see_their_own_crawls_only(tmp_path: Path, web: Site, ground: Ground) -> None:
    keys = []
    for team in ("one", "two"):
        arguments = ("keys", "create", "--team", team, "--data", str(tmp_path / "data"), "--json")
        with command(*arguments, folder=tmp_path / team, environment=ground.environment) as made:
            keys.append(json.loads(made.wait(30).stdout)["key"])
    with serving(tmp_path, environment=ground.environment) as (url, _process):
        one, two = Api(url, keys[0]), Api(url, keys[1])
        uid = one.post("/v2/crawl", {"url": web.url("/"), "limit": 2})["id"]
        one.ended(uid)
        for path in (f"/api/crawls/{uid}", f"/v2/crawl/{uid}", f"/v1/crawl/{uid}", f"/v2/crawl/{uid}/errors",
                     f"/api/crawls/{uid}/documents", f"/api/crawls/{uid}/events"):  # fmt: skip
            assert two.ask("GET", path)[0] == 404, path
        assert two.ask("DELETE", f"/v2/crawl/{uid}")[0] == 404
        assert two.get("/api/crawls")["items"] == two.get("/api/jobs")["items"] == []
        assert two.ask("GET", "/api/hosts")[0] == 403
        assert [item["id"] for item in one.get("/api/crawls")["items"]] == [uid]


@pytest.mark.slow
def test_kill_9_with_fifty_in_flight_leaves_nothing_active(tmp_path: Path, web: Site, ground: Ground) -> None:
    with serving(tmp_path, workers=0, environment=ground.environment) as (url, process):
        api = Api(url)
        api.post("/v2/scrape", {"url": web.url("/")})  # now it is known for a host of our own, without a limit
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            for _ in range(50):
                pool.submit(_swallow, api, {"url": web.url("/slow"), "timeout": 60000})
            _until(lambda: api.get("/api/stats")["team"]["active"] == 50, 20)
            # Another server on the same store sees them, and that they are gone.
            with serving(
                tmp_path / "other", "--data", str(tmp_path / "data"), workers=0, environment=ground.environment
            ) as (other, _process):
                process.kill()
                _until(lambda: Api(other).get("/api/stats")["team"]["active"] == 0, 35)
                assert Api(other).post("/v2/scrape", {"url": web.url("/")})["success"]


def _swallow(api: Api, body: dict[str, Any]) -> None:
    try:
        api.ask("POST", "/v2/scrape", body, timeout_s=90)
    except OSError:
        return


def _until(true: Any, within_s: float) -> None:
    until = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < until, "it did not come to pass in time"
        time.sleep(0.1)


def test_a_signal_ends_the_server_with_what_is_in_flight(tmp_path: Path, web: Site) -> None:
    web.page("/soon", "<p>x", delay_s=1.0)
    with serving(tmp_path) as (url, process), concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(Api(url).post, "/v2/scrape", {"url": web.url("/soon")})
        _until(lambda: Api(url).get("/api/stats")["team"]["active"] == 1, 10)
        process.process.send_signal(signal.SIGTERM)
        assert answer.result(30)["success"]
        assert process.wait(30).status == 0
        assert _workers_gone(process)


def _workers_gone(process: Command) -> bool:
    _until(lambda: not process.workers(), 15)
    return True


def test_a_port_that_is_taken_is_said_to_be(tmp_path: Path) -> None:
    with serving(tmp_path, workers=0) as (url, _process):
        port = url.rpartition(":")[2]
        with command(
            "serve", "--port", port, "--workers", "0", "--data", str(tmp_path / "b"), folder=tmp_path / "c"
        ) as b:
            ended = b.wait(30)
    assert ended.status == 1
    assert port in ended.stderr
