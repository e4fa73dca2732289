"""Batches: which addresses are taken, and what becomes of the others."""

from __future__ import annotations

from uuid import uuid4

import pytest

from perseid.testing import Site

from .conftest import Server

VERSIONS = pytest.mark.parametrize("version", ["v1", "v2"])
GOOD = "https://a.example/"
BAD = ["nonsense", "ftp://a.example/", "http://", ""]


@VERSIONS
def test_each_page_is_read_by_the_options_of_the_top_level(server: Server, web: Site, version: str) -> None:
    web.links({"/batch/a": [], "/batch/b": ["/batch/c"]})
    urls = [web.url("/batch/a"), web.url("/batch/b")]
    uid = server.start(f"/{version}/batch/scrape", urls=urls, formats=["rawHtml"])
    state = server.ended(f"/{version}/batch/scrape/{uid}")
    assert sorted(page["metadata"]["sourceURL"] for page in state["data"]) == urls
    assert {frozenset(page) for page in state["data"]} == {frozenset({"rawHtml", "metadata"})}
    assert "/batch/c" not in web.counts()


@VERSIONS
def test_sources_are_to_the_letter_what_was_sent(server: Server, web: Site, version: str) -> None:
    web.page("/batch/x", "<h1>X</h1>")
    urls = [web.url("/batch/x?b=2&a=1#part"), web.url("/batch/x").removeprefix("http://")]
    uid = server.start(f"/{version}/batch/scrape", urls=urls)
    state = server.ended(f"/{version}/batch/scrape/{uid}")
    assert sorted(page["metadata"]["sourceURL"] for page in state["data"]) == sorted(urls)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(("version", "ignored"), [("v1", None), ("v1", False), ("v2", None), ("v2", False)])
def test_one_bad_address_spoils_a_batch_unless_that_is_set_aside(
    idle: Server, version: str, ignored: bool | None, bad: str
) -> None:
    options = {} if ignored is None else {"ignoreInvalidURLs": ignored}
    answer = idle.post(f"/{version}/batch/scrape", urls=[GOOD, bad], **options)
    assert (answer.status_code, answer.json()["success"]) == (400, False)
    assert {(issue["path"][0], issue["path"][1]) for issue in answer.json()["details"]} == {("urls", 1)}


@VERSIONS
def test_bad_addresses_may_be_set_aside(idle: Server, version: str) -> None:
    told = idle.told(f"/{version}/batch/scrape", urls=[BAD[0], GOOD, *BAD[1:]], ignoreInvalidURLs=True)
    assert told["invalidURLs"] == BAD
    assert idle.told(f"/{version}/batch/scrape/{told['id']}")["total"] == 1


@VERSIONS
def test_a_batch_of_bad_addresses_only(idle: Server, version: str) -> None:
    answer = idle.post(f"/{version}/batch/scrape", urls=BAD, ignoreInvalidURLs=True)
    told = answer.json()
    assert (answer.status_code, told["success"], told["error"]) == (400, False, "No valid URLs provided")


@pytest.mark.parametrize(
    ("version", "options", "expected"),
    [
        ("v1", {}, None),
        ("v1", {"ignoreInvalidURLs": False}, None),
        ("v1", {"ignoreInvalidURLs": True}, []),
        ("v2", {}, []),
        ("v2", {"ignoreInvalidURLs": False}, None),
        ("v2", {"ignoreInvalidURLs": True}, []),
    ],
)
def test_bad_addresses_are_listed_where_they_are_set_aside(
    idle: Server, version: str, options: dict[str, bool], expected: list[str] | None
) -> None:
    assert idle.told(f"/{version}/batch/scrape", urls=[GOOD], **options).get("invalidURLs") == expected


@VERSIONS
def test_a_batch_may_be_added_to(server: Server, web: Site, version: str) -> None:
    web.links({"/added/a": [], "/added/b": []})
    path = f"/{version}/batch/scrape"
    uid = server.start(path, urls=[web.url("/added/a")])
    told = server.told(path, urls=[web.url("/added/b")], appendToId=uid)
    assert (told["id"], told["url"]) == (uid, f"{server.base}{path}/{uid}")
    assert server.ended(f"{path}/{uid}")["completed"] == 2


@VERSIONS
def test_a_batch_that_nobody_knows_can_not_be_added_to(idle: Server, version: str) -> None:
    answer = idle.post(f"/{version}/batch/scrape", urls=[GOOD], appendToId=str(uuid4()))
    assert (answer.status_code, answer.json()) == (404, {"success": False, "error": "Job not found"})


@VERSIONS
def test_an_address_given_twice_is_counted_as_often_as_it_is_read(server: Server, web: Site, version: str) -> None:
    web.page("/twice/a", "<h1>A</h1>")
    path = f"/{version}/batch/scrape"
    uid = server.start(path, urls=[web.url("/twice/a")] * 2)
    state = server.ended(f"{path}/{uid}")
    assert (state["status"], state["completed"], state["total"]) == (
        "completed",
        len(state["data"]),
        len(state["data"]),
    )
    assert {page["metadata"]["sourceURL"] for page in state["data"]} == {web.url("/twice/a")}


@VERSIONS
def test_pages_that_failed_are_told_among_errors(server: Server, web: Site, version: str) -> None:
    web.respond("/spoilt/file", headers={"Content-Type": "application/zip"}, body=b"PK\x03\x04")
    web.page("/spoilt/a", "<h1>A</h1>")
    path = f"/{version}/batch/scrape"
    uid = server.start(path, urls=[web.url("/spoilt/file"), web.url("/spoilt/a")])
    state = server.ended(f"{path}/{uid}")
    assert (state["completed"], state["total"]) == (1, 1)
    errors = server.told(f"{path}/{uid}/errors")["errors"]
    assert [error["url"] for error in errors] == [web.url("/spoilt/file")]


def test_a_batch_heeds_no_robots(server: Server, web: Site) -> None:
    host = web.host("third")
    host.robots("User-agent: *\nDisallow: /\n")
    host.page("/a", "<h1>A</h1>")
    uid = server.start("/v2/batch/scrape", urls=[host.url("/a")])
    assert server.ended(f"/v2/batch/scrape/{uid}")["completed"] == 1


def test_a_thousand_addresses_are_taken_at_once(idle: Server) -> None:
    uid = idle.start("/v2/batch/scrape", urls=[f"https://a.example/{number}" for number in range(1000)])
    assert idle.told(f"/v2/batch/scrape/{uid}")["total"] == 1000
