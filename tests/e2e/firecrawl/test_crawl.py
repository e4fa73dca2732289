"""Crawls and batches over HTTP: from the first answer to the last page of documents."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest

from perseid.testing import Answer, Site

from .conftest import Api

VERSIONS = pytest.mark.parametrize("version", ["v1", "v2"])
PATHS = pytest.mark.parametrize("path", ["/v1/crawl", "/v1/batch/scrape", "/v2/crawl", "/v2/batch/scrape"])
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def sources(state: dict[str, object]) -> set[str]:
    documents = state["data"]
    assert isinstance(documents, list)
    return {document["metadata"]["sourceURL"] for document in documents}


@VERSIONS
def test_a_crawl_ends_with_its_pages(api: Api, site: Site, version: str) -> None:
    state = api.crawled(f"/{version}/crawl", url=site.url("/"), limit=10)
    assert sources(state) == {site.url(path) for path in ("/", "/a", "/a/b", "/blog")}
    assert (state["success"], state["status"], state["completed"], state["total"], state["creditsUsed"]) == (
        True,
        "completed",
        4,
        4,
        4,
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z", state["expiresAt"])
    assert "next" not in state


def test_only_version_2_tells_the_times(api: Api, site: Site) -> None:
    uid = api.told("/v2/crawl", url=site.url("/blog"))["id"]
    new, old = api.finished(f"/v2/crawl/{uid}"), api.finished(f"/v1/crawl/{uid}")
    assert set(new) - set(old) >= {"createdAt", "completedAt", "duration"}
    assert INSTANT.fullmatch(new["createdAt"])


def test_the_first_answer_names_the_address_of_the_job(api: Api, site: Site) -> None:
    told = api.told("/v2/crawl", url=site.url("/blog"))
    assert told == {"success": True, "id": told["id"], "url": f"{api.base}/v2/crawl/{told['id']}"}


def test_limit_bounds_the_pages(api: Api, site: Site) -> None:
    assert api.crawled(url=site.url("/"), limit=2)["completed"] == 2


def test_include_paths_keep_the_links_of_the_start_page(api: Api, site: Site) -> None:
    assert sources(api.crawled(url=site.url("/"), includePaths=["^/a"])) == {site.url("/a"), site.url("/a/b")}


def test_pages_that_are_not_there_are_documents_and_no_errors(api: Api, site: Site) -> None:
    site.page("/", '<a href="/gone">gone</a>')
    site.respond("/gone", 404, {}, "<h1>Gone</h1>")
    uid = api.told("/v2/crawl", url=site.url("/"))["id"]
    state = api.finished(f"/v2/crawl/{uid}")
    assert sorted(document["metadata"]["statusCode"] for document in state["data"]) == [200, 404]
    assert api.told(f"/v2/crawl/{uid}/errors") == {"success": True, "errors": [], "robotsBlocked": []}


def test_pages_that_failed_are_errors_and_in_no_number(api: Api, site: Site) -> None:
    site.page("/", '<a href="/cut">cut</a>')
    site.handle("/cut", lambda _request: Answer(body="x" * 100, cut_after=10))
    uid = api.told("/v2/crawl", url=site.url("/"))["id"]
    state = api.finished(f"/v2/crawl/{uid}")
    [error] = api.told(f"/v2/crawl/{uid}/errors")["errors"]
    assert (state["completed"], state["total"]) == (1, 1)
    assert (error["url"], error["code"]) == (site.url("/cut"), "SCRAPE_SITE_ERROR")


def test_links_that_robots_forbid_are_told(api: Api, site: Site) -> None:
    uid = api.told("/v2/crawl", url=site.url("/"))["id"]
    api.finished(f"/v2/crawl/{uid}")
    told = api.told(f"/v2/crawl/{uid}/errors")
    assert told["robotsBlocked"] == [site.url("/private")]
    assert [(each["url"], each["code"]) for each in told["errors"]] == [(site.url("/private"), "CRAWL_DENIAL")]


def test_a_start_page_that_robots_forbid_is_an_error_with_a_warning(api: Api, site: Site) -> None:
    uid = api.told("/v2/crawl", url=site.url("/private"))["id"]
    state = api.finished(f"/v2/crawl/{uid}")
    assert (state["status"], state["total"], state["data"]) == ("completed", 0, [])
    assert "robots" in state["warning"]
    told = api.told(f"/v2/crawl/{uid}/errors")
    assert told["robotsBlocked"] == [site.url("/private")]
    assert [each["code"] for each in told["errors"]] == ["CRAWL_DENIAL"]


def test_robots_may_be_ignored(api: Api, site: Site) -> None:
    assert site.url("/private") in sources(api.crawled(url=site.url("/"), ignoreRobotsTxt=True))


def test_documents_come_page_by_page(api: Api, site: Site) -> None:
    uid = api.told("/v2/crawl", url=site.url("/"))["id"]
    whole = api.finished(f"/v2/crawl/{uid}")
    part, seen, addresses = api.told(f"/v2/crawl/{uid}?limit=3"), [], []
    while True:
        seen += part["data"]
        if "next" not in part:
            break
        addresses.append(part["next"])
        part = api.told(part["next"])
    assert seen == whole["data"]
    assert addresses == [f"{api.base}/v2/crawl/{uid}?skip=3&limit=3"]


def test_past_the_end_there_is_nothing(api: Api, site: Site) -> None:
    uid = api.told("/v2/crawl", url=site.url("/blog"))["id"]
    api.finished(f"/v2/crawl/{uid}")
    state = api.told(f"/v2/crawl/{uid}?skip=99")
    assert (state["data"], "next" in state) == ([], False)


@pytest.mark.parametrize("query", ["skip=-1", "skip=x", "limit=0", "limit=NaN"])
def test_numbers_of_a_page_are_numbers(api: Api, site: Site, query: str) -> None:
    uid = api.told("/v2/crawl", url=site.url("/blog"))["id"]
    assert api.get(f"/v2/crawl/{uid}?{query}").status_code == 400


def test_while_it_runs_an_empty_page_names_no_next_one_to_who_follows(idle: Api, site: Site) -> None:
    uid = idle.told("/v2/crawl", url=site.url("/"))["id"]
    first = idle.told(f"/v2/crawl/{uid}")
    assert (first["status"], first["total"], first["data"]) == ("scraping", 1, [])
    assert first["next"] == f"{idle.base}/v2/crawl/{uid}?skip=0"
    assert "next" not in idle.told(first["next"])


def test_a_crawl_just_begun_is_listed(idle: Api, site: Site) -> None:
    uid = idle.told("/v2/crawl", url=site.url("/blog"), limit=7)["id"]
    for path in ("/v1/crawl/ongoing", "/v1/crawl/active", "/v2/crawl/ongoing", "/v2/crawl/active"):
        [listed] = [crawl for crawl in idle.told(path)["crawls"] if crawl["id"] == uid]
        assert (listed["url"], listed["options"]["limit"]) == (site.url("/blog"), 7)
        assert INSTANT.fullmatch(listed["created_at"])
        assert isinstance(listed["teamId"], str)


def test_batches_are_not_listed_among_crawls(idle: Api, site: Site) -> None:
    uid = idle.told("/v2/batch/scrape", urls=[site.url("/a")])["id"]
    assert uid not in {crawl["id"] for crawl in idle.told("/v2/crawl/active")["crawls"]}


@PATHS
def test_a_job_is_called_off_at_once(idle: Api, site: Site, path: str) -> None:
    body = {"url": site.url("/")} if path.endswith("crawl") else {"urls": [site.url("/")]}
    uid = idle.told(path, **body)["id"]
    answers = [idle.delete(f"{path}/{uid}") for _ in range(2)]
    assert [(answer.status_code, answer.json()) for answer in answers] == [(200, {"status": "cancelled"})] * 2
    state = idle.told(f"{path}/{uid}")
    assert (state["status"], state["total"], state["data"], "next" in state) == ("cancelled", 0, [], False)


def test_a_job_that_is_over_can_not_be_called_off(api: Api, site: Site) -> None:
    uid = api.told("/v2/crawl", url=site.url("/blog"))["id"]
    api.finished(f"/v2/crawl/{uid}")
    answer = api.delete(f"/v2/crawl/{uid}")
    assert (answer.status_code, answer.json()) == (409, {"error": "Crawl is already completed"})


@PATHS
def test_jobs_that_nobody_knows(api: Api, path: str) -> None:
    uid = uuid4()
    status, errors, cancelled = api.get(f"{path}/{uid}"), api.get(f"{path}/{uid}/errors"), api.delete(f"{path}/{uid}")
    assert (status.status_code, status.json()) == (404, {"success": False, "error": "Job not found"})
    assert (errors.status_code, errors.json()) == (404, {"success": False, "error": "Job not found"})
    assert (cancelled.status_code, cancelled.json()) == (404, {"error": "Job not found"})


@PATHS
def test_what_is_no_id_is_a_bad_request(api: Api, path: str) -> None:
    assert api.get(f"{path}/abc").status_code == 400


def test_ids_of_batches_and_crawls_are_taken_for_one_another(api: Api, site: Site) -> None:
    uid = api.told("/v1/batch/scrape", urls=[site.url("/a"), site.url("/blog")])["id"]
    state = api.finished(f"/v1/crawl/{uid}")
    assert state["completed"] == 2
    assert api.told(f"/v1/crawl/{uid}?limit=1")["next"] == f"{api.base}/v1/crawl/{uid}?skip=1&limit=1"
    assert api.told(f"/v1/batch/scrape/{uid}?limit=1")["next"] == f"{api.base}/v1/batch/scrape/{uid}?skip=1&limit=1"


@VERSIONS
def test_a_batch_reads_each_page(api: Api, site: Site, version: str) -> None:
    state = api.crawled(f"/{version}/batch/scrape", urls=[site.url("/a"), site.url("/blog")], formats=["links"])
    assert sources(state) == {site.url("/a"), site.url("/blog")}
    assert [set(document) - {"warning"} for document in state["data"]] == [{"links", "metadata"}] * 2


def test_bad_urls_of_a_batch_are_set_aside_where_that_is_asked(api: Api, site: Site) -> None:
    told = api.told("/v2/batch/scrape", urls=[site.url("/a"), "not-a-url"], ignoreInvalidURLs=True)
    assert told["invalidURLs"] == ["not-a-url"]
    assert api.finished(f"/v2/batch/scrape/{told['id']}")["completed"] == 1


def test_a_batch_of_nothing_but_bad_urls(api: Api) -> None:
    answer = api.post("/v2/batch/scrape", urls=["not-a-url"], ignoreInvalidURLs=True)
    assert answer.status_code == 400


def test_a_batch_can_be_added_to(api: Api, site: Site) -> None:
    uid = api.told("/v2/batch/scrape", urls=[site.url("/a")])["id"]
    again = api.told("/v2/batch/scrape", urls=[site.url("/blog")], appendToId=uid)
    assert again["id"] == uid
    assert api.finished(f"/v2/batch/scrape/{uid}")["completed"] == 2


def test_a_batch_that_nobody_knows_can_not_be_added_to(api: Api, site: Site) -> None:
    answer = api.post("/v2/batch/scrape", urls=[site.url("/a")], appendToId=str(uuid4()))
    assert (answer.status_code, answer.json()["error"]) == (404, "Job not found")


@pytest.mark.parametrize(
    ("path", "second"), [("/v1/crawl", 409), ("/v2/crawl", 409), ("/v1/batch/scrape", 409), ("/v2/batch/scrape", 200)]
)
def test_an_idempotency_key_is_used_once(idle: Api, site: Site, path: str, second: int) -> None:
    body = {"url": site.url("/")} if path.endswith("crawl") else {"urls": [site.url("/")]}
    headers = {"x-idempotency-key": str(uuid4())}
    answers = [idle.http.post(path, json=body, headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, second]


def test_an_idempotency_key_is_a_uuid(idle: Api, site: Site) -> None:
    answer = idle.http.post("/v2/crawl", json={"url": site.url("/")}, headers={"x-idempotency-key": "mine"})
    assert (answer.status_code, answer.json()["error"]) == (409, "Idempotency key already used")


def test_a_pattern_that_is_none_is_told_with_its_fault(api: Api, site: Site) -> None:
    answer = api.post("/v2/crawl", url=site.url("/"), includePaths=["(("])
    assert answer.status_code == 400
    assert "((" in answer.json()["error"]


def test_a_start_page_too_deep_for_version_1(api: Api, site: Site) -> None:
    answer = api.post("/v1/crawl", url=site.url("/a/b/c"), maxDepth=2)
    assert (answer.status_code, answer.json()["error"]) == (400, "URL depth exceeds the specified maxDepth")
