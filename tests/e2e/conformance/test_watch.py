"""Jobs watched over a WebSocket."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from perseid.testing import Site

from .conftest import Server

PATHS = pytest.mark.parametrize("path", ["/v1/crawl", "/v2/crawl", "/v1/batch/scrape", "/v2/batch/scrape"])


def watch(address: str, *keys: str) -> tuple[list[dict[str, Any]], int | None, str, str | None]:
    """All frames, then the code and the reason of the close, and the sub-protocol that was chosen."""
    frames = []
    with connect(address.replace("http", "ws", 1), subprotocols=list(keys) or None) as socket:  # type: ignore[arg-type] # plain strings are sub-protocols
        try:
            while True:
                frames.append(json.loads(socket.recv(timeout=30)))
        except ConnectionClosed:
            return frames, socket.close_code, socket.close_reason or "", socket.subprotocol


@PATHS
def test_a_job_is_watched_to_its_end(server: Server, web: Site, path: str) -> None:
    web.links({"/watch/": ["/watch/a", "/watch/b"]})
    urls = [web.url(each) for each in ("/watch/", "/watch/a", "/watch/b")]
    body = {"url": urls[0]} if path.endswith("crawl") else {"urls": urls}
    [catchup, *documents], code, reason, _ = watch(f"{server.base}{path}/{server.start(path, **body)}")
    assert catchup["type"] == "catchup"
    assert {"success", "status", "total", "completed", "creditsUsed", "expiresAt", "data"} <= set(catchup["data"])
    assert catchup["data"]["success"] is True
    assert all(set(frame) == {"type", "data"} and frame["type"] == "document" for frame in documents)
    pages = [*catchup["data"]["data"], *(frame["data"] for frame in documents)]
    assert sorted(page["metadata"]["sourceURL"] for page in pages) == urls
    assert (code, json.loads(reason)) == (1000, {"type": "done"})


def test_a_job_that_is_over_is_one_frame(server: Server, web: Site) -> None:
    web.page("/watched", "<h1>Watched</h1>")
    uid = server.start("/v2/crawl", url=web.url("/watched"))
    server.ended(f"/v2/crawl/{uid}")
    [catchup], code, reason, _ = watch(f"{server.base}/v2/crawl/{uid}")
    assert (catchup["data"]["status"], len(catchup["data"]["data"])) == ("completed", 1)
    assert "next" not in catchup["data"]
    assert (code, json.loads(reason)) == (1000, {"type": "done"})


@PATHS
def test_a_job_that_nobody_knows(server: Server, path: str) -> None:
    frames, code, reason, _ = watch(f"{server.base}{path}/{uuid4()}")
    assert (frames, code, json.loads(reason)["type"]) == ([], 1008, "error")


def test_an_id_that_is_none(server: Server) -> None:
    frames, code, reason, _ = watch(f"{server.base}/v2/crawl/nonsense")
    assert (frames, code, reason) == ([], 1008, "Invalid job ID")


def test_the_key_may_come_as_sub_protocol_and_is_echoed(locked: Server) -> None:
    headers = {"Authorization": "Bearer fc-first"}
    uid = locked.ask("POST", "/v2/crawl", {"url": "https://a.example/"}, **headers).json()["id"]
    locked.ask("DELETE", f"/v2/crawl/{uid}", **headers)
    [catchup], code, _, chosen = watch(f"{locked.base}/v2/crawl/{uid}", "fc-first")
    assert (catchup["data"]["status"], code, chosen) == ("cancelled", 1000, "fc-first")


@pytest.mark.parametrize("keys", [(), ("fc-wrong",)])
def test_strangers_are_shown_out(locked: Server, keys: tuple[str, ...]) -> None:
    frames, code, reason, _ = watch(f"{locked.base}/v2/crawl/{uuid4()}", *keys)
    assert (frames, code, json.loads(reason)["type"]) == ([], 3000, "error")
