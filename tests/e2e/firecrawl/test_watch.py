"""Jobs over a WebSocket."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from perseid.testing import Site

from .conftest import Api


def frames(address: str, *subprotocols: str) -> tuple[list[dict[str, object]], int | None, str | None, str | None]:
    """All messages, then code and reason of the close, and the sub-protocol chosen."""
    found = []
    with connect(address.replace("http", "ws", 1), subprotocols=subprotocols or None) as socket:  # type: ignore[arg-type] # plain strings are sub-protocols
        try:
            while True:
                found.append(json.loads(socket.recv(timeout=30)))
        except ConnectionClosed:
            return found, socket.close_code, socket.close_reason, socket.subprotocol


@pytest.mark.parametrize("path", ["/v1/crawl", "/v2/crawl"])
def test_a_crawl_is_watched_to_its_end(api: Api, site: Site, path: str) -> None:
    uid = api.told(path, url=site.url("/"))["id"]
    [catchup, *documents], code, reason, _ = frames(f"{api.base}{path}/{uid}")
    assert catchup["type"] == "catchup"
    assert {document["type"] for document in documents} <= {"document"}
    seen = [*catchup["data"]["data"], *(document["data"] for document in documents)]
    assert sorted(page["metadata"]["sourceURL"] for page in seen) == sorted(
        site.url(each) for each in ("/", "/a", "/a/b", "/blog")
    )
    assert (code, json.loads(reason or "")) == (1000, {"type": "done"})


def test_a_job_that_is_over_is_caught_up_with(api: Api, site: Site) -> None:
    uid = api.told("/v2/batch/scrape", urls=[site.url("/a")])["id"]
    api.finished(f"/v2/batch/scrape/{uid}")
    [catchup], code, _, _ = frames(f"{api.base}/v2/batch/scrape/{uid}")
    data = catchup["data"]
    assert (data["success"], data["status"], data["total"], len(data["data"])) == (True, "completed", 1, 1)
    assert code == 1000


def test_the_key_may_come_as_the_sub_protocol(locked: str, site: Site) -> None:
    api = Api(locked, Authorization="Bearer fc-secret")
    with api.http:
        uid = api.told("/v2/crawl", url=site.url("/"))["id"]
        api.delete(f"/v2/crawl/{uid}")
        [catchup], code, _, chosen = frames(f"{api.base}/v2/crawl/{uid}", "fc-secret")
    assert (catchup["data"]["status"], code, chosen) == ("cancelled", 1000, "fc-secret")


def test_strangers_are_shown_out(locked: str) -> None:
    found, code, reason, _ = frames(f"{locked}/v2/crawl/{uuid4()}", "fc-wrong")
    assert (found, code, json.loads(reason or "")["type"]) == ([], 3000, "error")


def test_a_job_that_nobody_knows(api: Api) -> None:
    found, code, reason, _ = frames(f"{api.base}/v2/crawl/{uuid4()}")
    assert (found, code, json.loads(reason or "")) == ([], 1008, {"type": "error", "error": "Job not found"})


def test_what_is_no_id(api: Api) -> None:
    assert frames(f"{api.base}/v2/crawl/abc")[1:3] == (1008, "Invalid job ID")
