"""Crawls and batches as jobs: begun, watched page by page, called off, and gone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from perseid.testing import Answer, Site

from .conftest import Server

VERSIONS = pytest.mark.parametrize("version", ["v1", "v2"])
PATHS = pytest.mark.parametrize("path", ["/v1/crawl", "/v2/crawl", "/v1/batch/scrape", "/v2/batch/scrape"])
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
NOT_FOUND = {"success": False, "error": "Job not found"}


def body(path: str, url: str) -> dict[str, Any]:
    return {"url": url} if path.endswith("crawl") else {"urls": [url]}


@pytest.fixture(scope="module")
def five(server: Server, web: Site) -> str:
    """The id of a crawl of five pages that is over."""
    web.links({"/five/": [f"/five/{number}" for number in range(1, 5)]})
    uid = server.start("/v2/crawl", url=web.url("/five/"))
    assert server.ended(f"/v2/crawl/{uid}")["completed"] == 5
    return uid


@PATHS
def test_the_first_answer_tells_id_and_address(server: Server, web: Site, path: str) -> None:
    web.page("/begin", "<h1>Begin</h1>")
    told = server.told(path, **body(path, web.url("/begin")))
    assert UUID(told["id"]).version == 7
    assert told == {"success": True, "id": told["id"], "url": f"{server.base}{path}/{told['id']}"} | (
        {"invalidURLs": []} if path == "/v2/batch/scrape" else {}
    )


def test_the_address_follows_the_host_that_was_asked(idle: Server) -> None:
    told = idle.ask("POST", "/v2/crawl", {"url": "https://a.example/"}, Host="crawl.example:99").json()
    assert told["url"] == f"http://crawl.example:99/v2/crawl/{told['id']}"


@PATHS
def test_a_job_that_is_over_tells_all(server: Server, web: Site, path: str) -> None:
    web.page("/over", "<h1>Over</h1>")
    state = server.ended(f"{path}/{server.start(path, **body(path, web.url('/over')))}")
    new = {"createdAt", "completedAt", "duration"} if path.startswith("/v2") else set()
    common = {"success", "status", "completed", "total", "creditsUsed", "expiresAt", "data"}
    assert set(state) - {"warning", "id"} == common | new
    assert "warning" not in state or path == "/v2/crawl"
    assert (state["success"], state["status"], state["completed"], state["total"]) == (True, "completed", 1, 1)
    assert state["creditsUsed"] == 1
    [page] = state["data"]
    assert set(page) == {"markdown", "metadata"}
    assert (page["markdown"], page["metadata"]["sourceURL"]) == ("# Over", web.url("/over"))
    assert "concurrencyLimited" not in page["metadata"]


def test_results_are_kept_for_a_day_from_now(server: Server, five: str) -> None:
    text = server.told(f"/v2/crawl/{five}")["expiresAt"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z", text)
    left = datetime.fromisoformat(text) - datetime.now(UTC)
    assert timedelta(hours=23, minutes=50) < left < timedelta(hours=24, minutes=1)


def test_only_version_2_tells_the_times(server: Server, five: str) -> None:
    state = server.told(f"/v2/crawl/{five}")
    assert INSTANT.fullmatch(state["createdAt"])
    assert INSTANT.fullmatch(state["completedAt"])
    assert isinstance(state["duration"], int | float)
    assert not {"createdAt", "completedAt", "duration", "warning"} & set(server.told(f"/v1/crawl/{five}"))


def test_a_page_of_documents_names_the_next(server: Server, five: str) -> None:
    first = server.told(f"/v2/crawl/{five}?limit=2")
    assert len(first["data"]) == 2
    assert first["next"] == f"{server.base}/v2/crawl/{five}?skip=2&limit=2"
    second = server.told(first["next"])
    third = server.told(second["next"])
    assert "next" not in third
    assert (first["total"], second["total"], third["total"]) == (5, 5, 5)
    pages = [page["metadata"]["sourceURL"] for state in (first, second, third) for page in state["data"]]
    assert pages == [page["metadata"]["sourceURL"] for page in server.told(f"/v2/crawl/{five}")["data"]]


def test_next_without_a_limit_has_none(server: Server, web: Site) -> None:
    urls = [web.url(f"/many/{number}") for number in range(101)]
    web.otherwise(Answer(body="<h1>Many</h1>"))
    uid = server.start("/v2/batch/scrape", urls=urls)
    server.ended(f"/v2/batch/scrape/{uid}")
    first = server.told(f"/v2/batch/scrape/{uid}")
    assert (len(first["data"]), first["total"], first["completed"]) == (100, 101, 101)
    assert first["next"] == f"{server.base}/v2/batch/scrape/{uid}?skip=100"
    last = server.told(first["next"])
    assert (len(last["data"]), "next" in last) == (1, False)


@pytest.mark.parametrize(("query", "count"), [("skip=3", 2), ("skip=5", 0), ("skip=99", 0), ("skip=1&limit=3", 3)])
def test_documents_are_skipped(server: Server, five: str, query: str, count: int) -> None:
    state = server.told(f"/v2/crawl/{five}?{query}")
    assert (len(state["data"]), state["completed"], state["total"]) == (count, 5, 5)


@pytest.mark.parametrize("query", ["skip=-1", "skip=x", "limit=-1", "limit=x", "limit=0"])
def test_numbers_that_are_none_are_refused(server: Server, five: str, query: str) -> None:
    answer = server.get(f"/v2/crawl/{five}?{query}")
    assert (answer.status_code, answer.json()["success"]) == (400, False)


def test_a_page_of_documents_is_never_larger_than_ten_megabytes(server: Server, web: Site) -> None:
    words = "A stone is a stone is a stone. " * 130_000
    for number in range(4):
        web.page(f"/large/{number}", f"<main><h1>{number}</h1><p>{words}</p></main>")
    uid = server.start("/v2/batch/scrape", urls=[web.url(f"/large/{number}") for number in range(4)])
    state = server.ended(f"/v2/batch/scrape/{uid}")
    assert (len(state["data"]), state["next"]) == (2, f"{server.base}/v2/batch/scrape/{uid}?skip=2")


@VERSIONS
def test_ids_of_crawls_and_batches_do_for_one_another(server: Server, web: Site, five: str, version: str) -> None:
    web.page("/either", "<h1>Either</h1>")
    uid = server.start(f"/{version}/batch/scrape", urls=[web.url("/either")])
    assert server.ended(f"/{version}/crawl/{uid}")["completed"] == 1
    assert server.told(f"/{version}/batch/scrape/{five}?limit=1")["next"].startswith(
        f"{server.base}/{version}/batch/scrape/{five}?"
    )


@PATHS
def test_while_it_runs_its_state_is_told(idle: Server, path: str) -> None:
    uid = idle.start(path, **body(path, "https://a.example/"))
    state = idle.told(f"{path}/{uid}")
    assert (state["success"], state["status"], state["completed"], state["total"]) == (True, "scraping", 0, 1)
    assert (state["creditsUsed"], state["data"]) == (0, [])
    assert isinstance(state["expiresAt"], str)
    assert "completedAt" not in state


@PATHS
def test_jobs_that_nobody_knows(server: Server, path: str) -> None:
    uid = uuid4()
    for answer in (server.get(f"{path}/{uid}"), server.get(f"{path}/{uid}/errors")):
        assert (answer.status_code, answer.json()) == (404, NOT_FOUND)
    cancelled = server.delete(f"{path}/{uid}")
    assert (cancelled.status_code, cancelled.json()) == (404, {"error": "Job not found"})


@PATHS
def test_ids_that_are_none(server: Server, path: str) -> None:
    answer = server.get(f"{path}/nonsense")
    assert (answer.status_code, answer.json()["success"]) == (400, False)
    assert isinstance(answer.json()["error"], str)
    errors, cancelled = server.get(f"{path}/nonsense/errors"), server.delete(f"{path}/nonsense")
    assert errors.status_code == (400 if path == "/v2/crawl" else 404)
    assert cancelled.status_code == (400 if path.startswith("/v2") else 404)
    assert isinstance(errors.json()["error"], str)
    assert isinstance(cancelled.json()["error"], str)


@PATHS
def test_the_first_javascript_client_asks_for_errors_by_delete(server: Server, web: Site, path: str) -> None:
    web.page("/asked", "<p>x")
    uid = server.start(path, **body(path, web.url("/asked")))
    server.ended(f"{path}/{uid}")
    asked = server.delete(f"{path}/{uid}/errors")
    if path.startswith("/v2"):
        assert asked.status_code == 405
        return
    assert (asked.status_code, asked.json()) == (200, server.told(f"{path}/{uid}/errors"))
    assert server.told(f"{path}/{uid}")["status"] == "completed"


@PATHS
def test_a_job_is_called_off_and_stays_readable(idle: Server, path: str) -> None:
    uid = idle.start(path, **body(path, "https://a.example/"))
    for _ in range(2):
        answer = idle.delete(f"{path}/{uid}")
        assert (answer.status_code, answer.json()) == (200, {"status": "cancelled"})
        state = idle.told(f"{path}/{uid}")
        assert (state["success"], state["status"], state["data"]) == (True, "cancelled", [])
        assert "next" not in state
    assert idle.told(f"{path}/{uid}/errors")["errors"] == []


@PATHS
def test_what_is_over_can_not_be_called_off(server: Server, web: Site, path: str) -> None:
    web.page("/late", "<h1>Late</h1>")
    uid = server.start(path, **body(path, web.url("/late")))
    server.ended(f"{path}/{uid}")
    answer = server.delete(f"{path}/{uid}")
    assert (answer.status_code, answer.json()) == (409, {"error": "Crawl is already completed"})


@VERSIONS
def test_pages_that_were_read_before_the_end_stay(server: Server, web: Site, version: str) -> None:
    web.page("/cancel/done", "<h1>Done</h1>")
    web.respond(f"/cancel/hang-{version}", hang=True)
    path = f"/{version}/batch/scrape"
    uid = server.start(path, urls=[web.url("/cancel/done"), web.url(f"/cancel/hang-{version}")])
    web.wait(f"/cancel/hang-{version}")
    while server.told(f"{path}/{uid}")["completed"] < 1:
        pass
    assert server.delete(f"{path}/{uid}").json() == {"status": "cancelled"}
    state = server.told(f"{path}/{uid}")
    assert (state["status"], [page["markdown"] for page in state["data"]]) == ("cancelled", ["# Done"])
    assert (state["completed"], state["creditsUsed"]) == (1, 1)


def test_the_errors_of_a_job_that_had_none(server: Server, five: str) -> None:
    told = server.told(f"/v2/crawl/{five}/errors")
    assert (told["errors"], told["robotsBlocked"]) == ([], [])


@VERSIONS
def test_a_page_that_failed_is_an_error_and_in_no_number(server: Server, web: Site, version: str) -> None:
    web.links({"/errors/": ["/errors/file"]})
    web.respond("/errors/file", headers={"Content-Type": "application/zip"}, body=b"PK\x03\x04")
    uid = server.start(f"/{version}/crawl", url=web.url("/errors/"))
    state = server.ended(f"/{version}/crawl/{uid}")
    assert (state["status"], state["completed"], state["total"], len(state["data"])) == ("completed", 1, 1, 1)
    [error] = server.told(f"/{version}/crawl/{uid}/errors")["errors"]
    assert {"id", "url", "error", "timestamp", "code"} == set(error)
    assert (error["url"], error["code"]) == (web.url("/errors/file"), "SCRAPE_UNSUPPORTED_FILE_ERROR")
    UUID(error["id"])
    assert INSTANT.fullmatch(error["timestamp"])


@VERSIONS
def test_a_start_page_that_can_not_be_had_completes_its_crawl(server: Server, version: str) -> None:
    uid = server.start(f"/{version}/crawl", url="http://127.0.0.1:9/")
    state = server.ended(f"/{version}/crawl/{uid}")
    assert (state["success"], state["status"], state["total"], state["data"]) == (True, "completed", 0, [])
    assert len(server.told(f"/{version}/crawl/{uid}/errors")["errors"]) == 1


@VERSIONS
def test_pages_of_bad_status_are_pages(server: Server, web: Site, version: str) -> None:
    web.links({"/missing/": ["/missing/gone"]})
    web.respond("/missing/gone", 404, body="<h1>Gone</h1>")
    uid = server.start(f"/{version}/crawl", url=web.url("/missing/"))
    state = server.ended(f"/{version}/crawl/{uid}")
    assert (state["completed"], state["total"], state["creditsUsed"]) == (2, 2, 2)
    assert sorted(page["metadata"]["statusCode"] for page in state["data"]) == [200, 404]
    assert server.told(f"/{version}/crawl/{uid}/errors")["errors"] == []


@pytest.mark.parametrize("path", ["/v1/crawl/ongoing", "/v1/crawl/active", "/v2/crawl/ongoing", "/v2/crawl/active"])
def test_a_crawl_just_begun_is_listed(server: Server, web: Site, path: str) -> None:
    web.respond(f"/listed{path}", hang=True)
    kind = path.rpartition("/")[0]
    uid = server.start(kind, url=web.url(f"/listed{path}"), limit=7, scrapeOptions={"formats": ["html"]})
    told = server.told(path)
    assert told["success"] is True
    [listed] = [crawl for crawl in told["crawls"] if crawl["id"] == uid]
    assert set(listed) == {"id", "teamId", "url", "created_at", "options"}
    assert listed["url"] == web.url(f"/listed{path}")
    assert INSTANT.fullmatch(listed["created_at"])
    assert abs(datetime.fromisoformat(listed["created_at"]) - datetime.now(UTC)) < timedelta(minutes=5)
    assert listed["options"]["limit"] == 7
    assert "scrapeOptions" in listed["options"]
    server.delete(f"{kind}/{uid}")
    assert uid not in [crawl["id"] for crawl in server.told(path)["crawls"]]


def test_batches_are_not_listed(idle: Server) -> None:
    uid = idle.start("/v2/batch/scrape", urls=["https://a.example/"])
    assert uid not in [crawl["id"] for crawl in idle.told("/v2/crawl/ongoing")["crawls"]]


@pytest.mark.parametrize(
    ("path", "second"), [("/v1/crawl", 409), ("/v2/crawl", 409), ("/v1/batch/scrape", 409), ("/v2/batch/scrape", 200)]
)
def test_a_key_of_idempotency_works_once(idle: Server, path: str, second: int) -> None:
    key = str(uuid4())
    answers = [idle.ask("POST", path, body(path, "https://a.example/"), x_idempotency_key=key) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, second]
    if second == 409:
        assert answers[1].json() == {"success": False, "error": "Idempotency key already used"}


@pytest.mark.parametrize("path", ["/v1/crawl", "/v2/crawl", "/v1/batch/scrape"])
def test_a_key_of_idempotency_is_a_uuid(idle: Server, path: str) -> None:
    answer = idle.ask("POST", path, body(path, "https://a.example/"), x_idempotency_key="nonsense")
    assert (answer.status_code, answer.json()) == (409, {"success": False, "error": "Idempotency key already used"})
