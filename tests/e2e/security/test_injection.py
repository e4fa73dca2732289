"""What callers and pages write stays text: in requests to sites and receivers, in answers, and in the log."""

from __future__ import annotations

import json
from typing import Any

import pytest

from perseid.testing import Answer

_EVIL = [
    {"X-A": "b\r\nInjected: yes"},
    {"X-A\r\nInjected: yes\r\nX-B": "c"},
    {"X-A": "b\nInjected: yes"},
    {"X-A": "b\rInjected: yes"},
    {"X-A": "b\x00c"},
    {"X-A: b\r\nInjected": "yes"},
    {"": "empty"},
    {"X A": "space"},
    {"Transfer-Encoding": "chunked"},
    {"Content-Length": "5"},
    {"Connection": "upgrade", "Upgrade": "websocket"},
    {"X-\u00fc": "\u00e4"},
    {"X-Long": "y" * 200_000},
]
_CONTROLS = "\r\n\x1b[31m\x00\x07\u2028\u0085\u202e"


@pytest.mark.parametrize("headers", _EVIL)
@pytest.mark.parametrize("path", ["/v2/scrape", "/v2/map"])
def test_headers_of_a_caller_become_no_others(server: Any, site: Any, headers: dict[str, str], path: str) -> None:
    reply = server.ask("POST", path, {"url": site.url("/a"), "headers": headers, "timeout": 20000})
    assert "UNKNOWN_ERROR" not in reply.text, reply
    for request in site.requests:
        assert "injected" not in request.headers
        assert "transfer-encoding" not in request.headers
        assert request.headers.get("content-length", "0") == "0"
        assert request.method == "GET"


@pytest.mark.parametrize("headers", _EVIL)
def test_headers_for_a_receiver_become_no_others(server: Any, site: Any, headers: dict[str, str]) -> None:
    site.respond("/hook", 200)
    webhook = {"url": site.url("/hook"), "headers": headers, "events": ["completed"]}
    reply = server.ask("POST", "/v2/crawl", {"url": site.url("/a"), "limit": 1, "webhook": webhook})
    assert reply.status in {200, 400}, reply
    if reply.status == 200:
        server.ended(reply.json["id"])
        server.until(lambda: server.get(f"/api/crawls/{reply.json['id']}/deliveries")["items"])
    for request in site.requests:
        assert "injected" not in request.headers
        if request.bare_path == "/hook":
            assert json.loads(request.body)["type"] == "crawl.completed"


@pytest.mark.parametrize(
    "path",
    [
        "/a\r\nInjected: yes",
        "/a\nInjected: yes",
        "/a HTTP/1.1\r\nInjected: yes\r\n\r\n",
        "/a%0d%0aInjected:yes",
        "/a\x00b",
        "/a\tb",
    ],
)
def test_a_url_stays_one_request_line(server: Any, site: Any, path: str) -> None:
    site.otherwise(Answer(body="<p>x"))
    reply = server.ask("POST", "/v2/scrape", {"url": site.url(path), "timeout": 20000})
    assert "UNKNOWN_ERROR" not in reply.text
    assert len(site.requests) <= 1
    assert all("injected" not in request.headers for request in site.requests)


def test_a_redirect_of_a_site_stays_one_request_line(server: Any, site: Any) -> None:
    for number, to in enumerate(
        ("/a\rInjected: yes", "/a\x0bInjected", "/a\x00b", "http://127.0.0.1\x00.example/", "/\x7f\x01")
    ):
        head = f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"
        site.respond(f"/to/{number}", raw=head.encode())
        reply = server.ask("POST", "/v2/scrape", {"url": site.url(f"/to/{number}"), "timeout": 20000})
        assert "UNKNOWN_ERROR" not in reply.text, reply
    assert all("injected" not in request.headers for request in site.requests)


def test_answers_have_no_header_that_a_caller_wrote(server: Any) -> None:
    head = "GET /v2/crawl/%0d%0aInjected:%20yes HTTP/1.1\r\nHost: x%0d%0aInjected: yes\r\nOrigin: http://evil\r\n"
    answer = server.exchange((head + "Connection: close\r\n\r\n").encode())
    assert b"\ninjected" not in answer.lower().partition(b"\r\n\r\n")[0]


def test_the_log_stays_one_object_a_line_whatever_it_tells_of(server: Any, site: Any) -> None:
    site.respond("/c", 500, headers={"X-A": "b"}, body=f"<title>{_CONTROLS}</title>")
    site.links({"/d": [f"/{_CONTROLS}{{", '/"},{"event":"forged"}', "javascript:alert(1)"]})
    texts = [_CONTROLS, '"}\n{"event":"forged"}\n', "%0a%1b[2J", "\ud83d\ude00"]
    for text in texts:
        server.ask("POST", "/v2/scrape", {"url": site.url(f"/c?{text}"), "headers": {"X-A": "b"}, "timeout": 20000})
        server.ask("POST", "/v2/scrape", {"url": f"http://{text}/", "timeout": 20000})
        server.ask("POST", "/v2/crawl", {"url": site.url("/d"), "includePaths": [text, "(" * 50], "prompt": text})
        server.ask("POST", "/v2/map", {"url": site.url("/d"), "search": text})
        server.exchange(b"GET /\x1b[31m\xff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        server.exchange(b"\x16\x03\x01\n\x1b[31mforged\n\n")
    uid = server.post("/v2/crawl", {"url": site.url("/d")})["id"]
    server.ended(uid)
    lines = [line for line in server.stderr() if line and not line.startswith("perseid: ")]
    assert len(lines) > 20
    for line in lines:
        assert line.isprintable(), line
        assert line.startswith("{"), line
        told = json.loads(line)
        assert told.get("event") != "forged"
        assert {"at", "level", "pid"} <= told.keys()
