"""Who has no key gets in nowhere, and what is another team's is for nobody else: on every route that is described."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

UNKNOWN = "4a6f1b0e-3c7e-4b57-9f4e-0d6a3a0f1c11"
_BODIES: dict[str, Any] = {
    "POST /api/jobs/{job}/retry": None,
    "POST /api/jobs/{job}/cancel": None,
    "PATCH /api/hosts/{name}": {"pauseS": 1},
    "POST /api/rules/{name}/test": {"url": "http://127.0.0.1:3/", "content": "<h1>x</h1>"},
    "POST /api/rules/{name}/compare": {},
    "POST /api/rules/{name}/rollback": {"version": 1},
    "POST /api/configs/{kind}/{name}/rollback": {"version": 1},
    "POST /api/sites/{site}/pause": {"reason": "none"},
}
# The address of an upload is itself the right to it, so it is shown to nobody but who asked for it. Who publishes under a
# name has an object of his own.
_CAPABILITIES = {"PUT /v2/parse/upload/{upload_id}", "PUT /api/rules/{name}", "PUT /api/configs/{kind}/{name}"}


class Theirs(NamedTuple):
    """Team one's: a crawl, a batch, a scrape, an extract where a model is, a job that failed, and a task of a site.

    `site` is the name of a rule, a seed, a sink and a site.
    """

    crawl: str
    batch: str
    scrape: str
    job: int
    host: str
    site: str
    task: int


@pytest.fixture(scope="module")
def theirs(server: Any) -> Theirs:
    url = "http://127.0.0.1:3/"
    crawl, batch = (
        server.post("/v2/crawl", {"url": url})["id"],
        server.post("/v2/batch/scrape", {"urls": [url]})["id"],
    )
    server.ended(crawl)
    server.ended(batch)
    (job,) = server.get(f"/api/jobs?crawl={batch}")["items"]
    scrapes = server.ask("POST", "/v2/scrape", {"url": url, "timeout": 20000})
    assert scrapes.status == 500
    return Theirs(crawl, batch, crawl, job["id"], "127.0.0.1:3", "theirs", _task_of(server, "theirs", url))


def _task_of(server: Any, name: str, url: str) -> int:
    """A task of a seed, site, rule and sink of that name."""
    body = {"site_id": name, "fields": {"title": "h1"}, "sinks": [name]}
    assert server.ask("PUT", f"/api/rules/{name}", {"body": body}).status in {200, 201}
    assert server.ask("POST", "/dispatch", {"seed_id": name, "site_id": name, "urls": [url]}).status == 202
    run = server.until(lambda: server.get(f"/api/seeds/{name}/runs")["items"])[0]["id"]
    return int(server.until(lambda: server.get(f"/api/jobs?crawl={run}")["items"])[-1]["id"])


@pytest.mark.parametrize(
    "token",
    [
        None, "", "fc-wrong", "revoked", "x" * 8_000, "fc-\u00fcml\u00e4ut", "fc-one\x00", "null", "undefined", "*",
        f"fc-one{'0' * 28}", f"fc-one{'0' * 30}", f"FC-ONE{'0' * 29}",
    ],
    ids=[
        "none", "empty", "wrong", "revoked", "long", "non-ASCII", "NUL", "null", "undefined", "star", "a digit less",
        "a digit more", "upper case",
    ],
)  # fmt: skip
def test_whoever_has_no_key_of_ours_is_told_so(server: Any, token: str | None) -> None:
    for path in ("/v2/crawl/active", "/v1/team/queue-status", "/api/crawls", "/metrics", f"/v2/crawl/{UNKNOWN}"):
        headers = {} if token is None or token == "revoked" else {"Authorization": f"Bearer {token}"}
        try:
            reply = server.by("revoked" if token == "revoked" else None).ask("GET", path, headers=headers)
        except ValueError:  # the client's own library sends no such header
            head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
            assert server.exchange(head.encode()).split()[1] in {b"400", b"401"}
            continue
        # What is no header is refused before anybody looks for a key.
        assert reply.status == (400 if "\0" in (token or "") else 401), (path, reply)
        assert "fc-" not in reply.text


@pytest.mark.parametrize("header", ["Basic", "bearer", "Token"])
def test_the_scheme_of_the_header_is_not_looked_at_and_its_key_is(server: Any, header: str) -> None:
    assert server.ask("GET", "/api/crawls", headers={"Authorization": f"{header} {server.key}"}).status == 200
    assert server.ask("GET", "/api/crawls", headers={"Authorization": f"{header} fc-no"}).status == 401


def test_two_headers_let_nobody_in_by_the_wrong_one(server: Any) -> None:
    lines = f"Authorization: Bearer fc-no\r\nAuthorization: Bearer {server.key}\r\n"
    head = f"GET /api/crawls HTTP/1.1\r\nHost: x\r\n{lines}Connection: close\r\n\r\n"
    assert server.exchange(head.encode()).split()[1] == b"401"


def test_a_key_in_the_query_or_a_cookie_is_none(server: Any) -> None:
    for path, headers in (
        (f"/api/crawls?api_key={server.key}&token={server.key}", {}),
        ("/api/crawls", {"Cookie": f"token={server.key}"}),
        ("/api/crawls", {"X-API-Key": server.key}),
    ):
        assert server.by(None).ask("GET", path, headers=headers).status == 401


def _routes(server: Any) -> list[tuple[str, str, dict[str, Any]]]:
    document = server.by(None).get("/openapi.json")
    return [
        (method.upper(), path, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]


def test_every_route_with_an_id_answers_for_another_teams_as_for_an_unknown_one(server: Any, theirs: Theirs) -> None:
    two = server.by("two")
    seen = 0
    for method, path, _operation in _routes(server):
        names = re.findall(r"\{(\w+)\}", path)
        label = f"{method} {path}"
        if set(names) <= {"kind"} or label in _CAPABILITIES:
            continue
        for uid in (theirs.crawl, theirs.batch):
            name = theirs.host if "/hosts/" in path else theirs.site
            known = {"job_id": uid, "crawl_id": uid, "number": 1, "job": theirs.job, "name": name, "worker": 1}
            known |= {"seed": name, "site": name, "task": theirs.task, "kind": "rule", "version": 1}
            unknown = {"job_id": UNKNOWN, "crawl_id": UNKNOWN, "number": 1, "job": 2**50, "name": "unknown.example"}
            unknown |= {"worker": 2**50, "seed": "unknown.example", "site": "unknown.example", "task": 2**50}
            unknown |= {"kind": "rule", "version": 1}
            assert set(names) <= set(known), f"{label} has an id that this test does not know"
            body = _BODIES.get(label)
            told, of_none = (two.ask(method, path.format(**ids), body) for ids in (known, unknown))
            assert told.status == of_none.status, (label, told, of_none)
            assert _nameless(told.text, known) == _nameless(of_none.text, unknown), label
            assert told.status in {403, 404} or told.json in ({"jobs": 0}, {"items": 0}), (label, told)
            seen += 1
    assert seen > 40


def _nameless(text: str, ids: dict[str, Any]) -> str:
    for shown in {str(ids[name]) for name in ("crawl_id", "name", "task", "job")}:
        text = re.sub(rf"(?<![\w.]){re.escape(shown)}(?![\w.])", "", text)
    return text


def test_a_body_is_not_read_for_whoever_has_no_key(server: Any) -> None:
    seen = 0
    for method, path, operation in _routes(server):
        if "requestBody" in operation and f"{method} {path}" not in _CAPABILITIES:
            reply = server.by(None).ask(method, re.sub(r"\{\w+\}", "1", path), b"{")
            assert reply.status == 401, (path, reply)
            seen += 1
    assert seen > 15


def test_ids_in_queries_and_bodies_are_no_way_around(server: Any, theirs: Theirs) -> None:
    two = server.by("two")
    asks: list[tuple[str, str, Any]] = [
        ("GET", "/api/jobs?crawl={}", None),
        ("GET", "/api/explain?url=http://127.0.0.1:3/&crawl={}", None),
        ("POST", "/api/jobs/retry", {"crawl": "{}"}),
        ("POST", "/api/jobs/cancel", {"crawl": "{}"}),
        ("POST", "/v2/batch/scrape", {"urls": ["http://127.0.0.1:3/"], "appendToId": "{}"}),
        ("POST", "/v1/batch/scrape", {"urls": ["http://127.0.0.1:3/"], "appendToId": "{}"}),
    ]
    for method, path, body in asks:
        for uid in (theirs.crawl, theirs.batch):
            told, of_none = (
                two.ask(method, path.format(some), json.loads(json.dumps(body).replace("{}", some)) if body else None)
                for some in (uid, UNKNOWN)
            )
            assert told.status == of_none.status == 404, (path, told)
            assert told.text.replace(uid, "") == of_none.text.replace(UNKNOWN, "")
    assert two.post("/api/jobs/retry", {"ids": [theirs.job]}) == {"jobs": 0}
    assert two.post("/api/jobs/retry", {"state": "failed"}) == {"jobs": 0}


def test_listings_of_another_team_hold_nothing_of_this_one(server: Any, theirs: Theirs) -> None:
    two = server.by("two")
    for path in (
        "/api/crawls",
        "/api/jobs",
        "/v2/crawl/active",
        "/v1/crawl/ongoing",
        "/api/explain?url=http://127.0.0.1:3/",
    ):
        text = two.ask("GET", path).text
        assert theirs.crawl not in text
        assert theirs.batch not in text
    assert two.get("/v2/team/queue-status")["jobsInQueue"] == 0


def test_what_is_the_operators_is_not_a_teams(server: Any) -> None:
    for path in ("/api/hosts", "/api/workers", "/metrics"):
        assert server.ask("GET", path).status == 403
        assert server.by("fc-configured-s3cret").ask("GET", path).status == 200
    assert server.get("/api/stats")["figures"] == {}


def test_what_another_team_tried_has_left_its_jobs_as_they_were(server: Any, theirs: Theirs) -> None:
    assert server.get(f"/api/jobs?crawl={theirs.batch}")["items"][0]["state"] == "failed"
    assert server.get(f"/api/crawls/{theirs.crawl}")["status"] in {"completed", "failed"}


@pytest.mark.parametrize("path", ["/v1/crawl/{}", "/v2/crawl/{}", "/v2/batch/scrape/{}"])
@pytest.mark.parametrize("token", [None, "fc-wrong", "revoked", "two", "fc-" + "x" * 6_000])
def test_a_watcher_without_the_right_key_is_sent_away(
    server: Any, theirs: Theirs, path: str, token: str | None
) -> None:
    code, reason = _watched(server.by(token), path.format(theirs.crawl))
    wanted = 1008 if token == "two" else 3000
    assert code == wanted, reason
    if token == "two":
        assert (code, reason) == _watched(server.by("two"), path.format(UNKNOWN))


def test_a_watcher_with_the_key_as_sub_protocol_gets_in(server: Any, theirs: Theirs) -> None:
    assert _watched(server, f"/v2/crawl/{theirs.crawl}")[0] == 1000


def _watched(server: Any, path: str) -> tuple[int, str]:
    """How the connection was closed; the key goes as a browser has to send it."""
    url = server.url.replace("http", "ws") + path
    protocols = None if server.key is None else [server.key]
    try:
        with connect(url, subprotocols=protocols, open_timeout=30) as socket:
            while True:
                socket.recv(timeout=30)
    except ConnectionClosed as closed:
        return (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else (1006, "")
    except InvalidStatus as refused:
        return refused.response.status_code, ""
