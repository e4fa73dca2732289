"""One page over HTTP: what comes back, and each way in which it can fail."""

from __future__ import annotations

from uuid import UUID

import pytest

from perseid.testing import Answer, Site

from .conftest import Api

VERSIONS = pytest.mark.parametrize("version", ["v1", "v2"])


@VERSIONS
def test_a_page_as_markdown(api: Api, site: Site, version: str) -> None:
    told = api.told(f"/{version}/scrape", url=site.url("/blog"))
    assert told["success"] is True
    assert set(told["data"]) == {"markdown", "metadata"}
    assert told["data"]["markdown"].startswith("# Page /blog")


@VERSIONS
def test_metadata_of_a_page(api: Api, site: Site, version: str) -> None:
    url = site.url("/blog")
    metadata = api.told(f"/{version}/scrape", url=url)["data"]["metadata"]
    assert UUID(metadata["scrapeId"])
    assert metadata | {"scrapeId": ""} == {
        "title": "Page /blog",
        "language": "en",
        "sourceURL": url,
        "url": url,
        "statusCode": 200,
        "contentType": "text/html; charset=utf-8",
        "cacheState": "miss",
        "proxyUsed": "basic",
        "scrapeId": "",
        "creditsUsed": 1,
        "concurrencyLimited": False,
    }


def test_source_url_is_what_was_sent_and_url_where_it_led(api: Api, site: Site) -> None:
    site.redirect("/old", "/blog")
    metadata = api.told("/v2/scrape", url=site.url("/old?A=%7e#part"))["data"]["metadata"]
    assert (metadata["sourceURL"], metadata["url"]) == (site.url("/old?A=%7e#part"), site.url("/blog"))


def test_a_url_without_scheme_is_asked_for_by_http(api: Api, site: Site) -> None:
    bare = site.url("/blog").removeprefix("http://")
    metadata = api.told("/v2/scrape", url=bare)["data"]["metadata"]
    assert (metadata["sourceURL"], metadata["url"]) == (bare, site.url("/blog"))


def test_formats_of_a_fetch(api: Api, site: Site) -> None:
    site.page("/f", '<main><p>Text <a href="/x">x</a> <img src="/i.png" alt="i"></p></main>')
    data = api.told("/v2/scrape", url=site.url("/f"), formats=["markdown", "html", "rawHtml", "links", "images"])[
        "data"
    ]
    assert (data["links"], data["images"]) == ([site.url("/x")], [site.url("/i.png")])
    assert data["rawHtml"].startswith("<main>")
    assert "<p>" in data["html"]


def test_no_formats_are_metadata_only(api: Api, site: Site) -> None:
    assert set(api.told("/v2/scrape", url=site.url("/a"), formats=[])["data"]) == {"metadata"}


@VERSIONS
def test_a_page_that_is_not_there_is_a_success_with_its_status(api: Api, site: Site, version: str) -> None:
    site.respond("/gone", 404, {}, "<h1>Gone</h1>")
    told = api.told(f"/{version}/scrape", url=site.url("/gone"))
    assert told["success"] is True
    assert (told["data"]["metadata"]["statusCode"], told["data"]["markdown"]) == (404, "# Gone")


def test_a_format_that_can_not_be_made_is_missing_with_a_warning(api: Api, site: Site) -> None:
    data = api.told("/v2/scrape", url=site.url("/a"), formats=["markdown", "screenshot"])["data"]
    assert "screenshot" not in data
    assert "screenshot" in data["warning"]


def test_headers_reach_the_site(api: Api, site: Site) -> None:
    api.told("/v2/scrape", url=site.url("/a"), headers={"X-One": "1"}, location={"languages": ["de"]})
    sent = site.requests[-1].headers
    assert (sent["x-one"], sent["accept-language"]) == ("1", "de")


@VERSIONS
def test_a_name_that_does_not_resolve_is_an_answer_without_success(api: Api, version: str) -> None:
    answer = api.post(f"/{version}/scrape", url="http://no-such-name.invalid/")
    assert answer.status_code == 200
    assert (answer.json()["success"], answer.json()["code"]) == (False, "SCRAPE_DNS_RESOLUTION_ERROR")


@VERSIONS
def test_a_slow_page_is_a_timeout(api: Api, site: Site, version: str) -> None:
    site.handle("/slow", lambda _request: Answer(hang=True))
    answer = api.post(f"/{version}/scrape", url=site.url("/slow"), timeout=1000)
    assert (answer.status_code, answer.json()["code"]) == (408, "SCRAPE_TIMEOUT")


def test_a_file_without_text_is_not_supported(api: Api, site: Site) -> None:
    site.respond("/i.png", 200, {"Content-Type": "image/png"}, b"\x89PNG\r\n\x1a\n" + b"\0" * 100)
    answer = api.post("/v2/scrape", url=site.url("/i.png"))
    assert (answer.status_code, answer.json()["code"]) == (500, "SCRAPE_UNSUPPORTED_FILE_ERROR")


def test_a_site_that_is_not_there_is_a_site_error(api: Api) -> None:
    answer = api.post("/v2/scrape", url="http://127.0.0.1:1/", timeout=20_000)
    assert (answer.status_code, answer.json()["code"]) == (500, "SCRAPE_SITE_ERROR")


@pytest.mark.parametrize(
    ("sent", "code"),
    [({"minAge": 1}, "SCRAPE_NO_CACHED_DATA"), ({"lockdown": True}, "SCRAPE_LOCKDOWN_CACHE_MISS")],
)
def test_what_was_never_kept_can_not_be_had_from_the_cache(
    api: Api, site: Site, sent: dict[str, object], code: str
) -> None:
    answer = api.post("/v2/scrape", url=site.url("/blog"), **sent)
    assert (answer.status_code, answer.json()["code"]) == (404, code)
    assert "/blog" not in site.counts()


def test_a_kept_page_is_given_to_who_takes_an_older_one(api: Api, site: Site) -> None:
    states = [
        api.told("/v2/scrape", url=site.url("/blog"), maxAge=60_000)["data"]["metadata"]["cacheState"] for _ in range(2)
    ]
    assert (states, site.counts()["/blog"]) == (["miss", "hit"], 1)


@VERSIONS
def test_a_page_without_text_is_a_failure(api: Api, site: Site, version: str) -> None:
    site.page("/empty", "")
    answer = api.post(f"/{version}/scrape", url=site.url("/empty"))
    assert (answer.status_code, answer.json()["code"]) == (500, "SCRAPE_ALL_ENGINES_FAILED")


def test_what_is_not_kept_can_not_be_asked_for_again(api: Api, site: Site) -> None:
    told = api.told("/v2/scrape", url=site.url("/a"), zeroDataRetention=True)
    assert api.get(f"/v2/scrape/{told['data']['metadata']['scrapeId']}").status_code == 404


def test_a_website_is_told_the_id_beside_the_page(api: Api, site: Site) -> None:
    told = api.told("/v2/scrape", url=site.url("/a"), origin="website-playground")
    assert told["scrape_id"] == told["data"]["metadata"]["scrapeId"]


def test_the_outcome_can_be_asked_for_again(api: Api, site: Site) -> None:
    told = api.told("/v2/scrape", url=site.url("/a"))
    again = api.told(f"/v2/scrape/{told['data']['metadata']['scrapeId']}")
    assert again["data"]["markdown"] == told["data"]["markdown"]


@pytest.mark.parametrize(("uid", "status"), [("abc", 400), ("01936a2b-7c00-7000-8000-000000000000", 404)])
def test_ids_that_lead_nowhere(api: Api, uid: str, status: int) -> None:
    answer = api.get(f"/v2/scrape/{uid}")
    assert (answer.status_code, answer.json()["success"]) == (status, False)


def test_malformed_json_is_told_apart(api: Api) -> None:
    answer = api.http.post("/v2/scrape", content=b"{nope", headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST_INVALID_JSON")


def test_a_body_that_is_too_large_is_refused_so_that_the_client_sees_it(api: Api) -> None:
    answer = api.http.post("/v2/scrape", content=b" " * (11 * 1024 * 1024))
    assert (answer.status_code, answer.json()) == (413, {"success": False, "error": "Request body is too large"})


def test_actions_have_their_own_code(api: Api, site: Site) -> None:
    answer = api.post("/v1/scrape", url=site.url("/a"), actions=[{"type": "wait", "milliseconds": 1}])
    assert (answer.status_code, answer.json()["code"]) == (400, "SCRAPE_ACTIONS_NOT_SUPPORTED")
