"""n8n: the bodies that its Firecrawl node sends, among them those that say things otherwise than the contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from perseid.config.settings import ApiSettings
from perseid.testing import Answer, Request, Site

from .conftest import SETTINGS, Api, serving

NODE = {"integration": "n8n"}
SCRAPE_OPTIONS = {
    "onlyMainContent": True,
    "includeTags": [],
    "excludeTags": [],
    "headers": {},
    "waitFor": 0,
    "mobile": False,
    "skipTlsVerification": False,
    "timeout": 30_000,
    "actions": {},
    "location": {},
    "removeBase64Images": True,
    "blockAds": True,
    "storeInCache": True,
    "proxy": "basic",
}
"""What stands in a body as soon as the node's "Scrape Options" are opened."""


def crawl(site: Site, **options: Any) -> dict[str, Any]:
    """A crawl as the node asks for it; a field that nobody filled in is sent, too."""
    return {**NODE, "url": site.url("/"), "prompt": "", "limit": 500, "maxConcurrency": 100, **options}


def markdown_of(state: dict[str, Any]) -> list[str]:
    return [page["markdown"] for page in state["data"]]


def test_a_crawl_with_an_empty_prompt_needs_no_model(api: Api, site: Site) -> None:
    state = api.crawled(**crawl(site))
    assert (state["status"], state["completed"]) == ("completed", 4)


def test_the_scrape_options_of_a_scrape_hold_no_actions(api: Api, site: Site) -> None:
    told = api.told("/v2/scrape", **NODE, url=site.url("/a"), formats=["markdown", "links"], **SCRAPE_OPTIONS)
    assert {"markdown", "links"} <= told["data"].keys()
    assert "warning" not in told["data"]


def test_who_chose_no_format_gets_markdown(api: Api, site: Site) -> None:
    told = api.told("/v2/scrape", **NODE, url=site.url("/a"), formats=[], **SCRAPE_OPTIONS)
    assert told["data"]["markdown"]


def test_a_header_is_sent_under_its_own_name(api: Api, site: Site) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Answer:
        asked.append(request)
        return Answer(body="<p>Read.</p>")

    site.handle("/a", answer)
    options = {**SCRAPE_OPTIONS, "headers": {"key": "X-Test", "value": "yes"}}
    api.told("/v2/scrape", **NODE, url=site.url("/a"), formats=["markdown"], **options)
    headers = {name.lower(): value for name, value in asked[-1].headers.items()}
    assert (headers["x-test"], "key" in headers, "value" in headers) == ("yes", False, False)


def test_a_batch_takes_scrape_options(api: Api, site: Site) -> None:
    options = {**SCRAPE_OPTIONS, "formats": ["markdown"], "maxConcurrency": 100, "ignoreInvalidURLs": True}
    state = api.crawled("/v2/batch/scrape", **NODE, urls=[site.url("/a"), site.url("/blog")], **options)
    assert len(markdown_of(state)) == 2


def test_the_formats_of_a_crawl_stand_beside_its_scrape_options(api: Api, site: Site) -> None:
    form = {"format": [{"type": "markdown"}, {"type": "links"}]}
    body = crawl(site, scrapeOptions={**SCRAPE_OPTIONS, "formats": form}, formats=["markdown", "links"])
    assert all({"markdown", "links"} <= page.keys() for page in api.crawled(**body)["data"])


def test_a_crawl_for_which_no_format_was_chosen_brings_markdown(api: Api, site: Site) -> None:
    state = api.crawled(**crawl(site, scrapeOptions={**SCRAPE_OPTIONS, "formats": {}}, formats=[]))
    assert all(markdown_of(state))


@pytest.mark.parametrize(("ignored", "found"), [(True, False), (False, True)])
def test_a_sitemap_may_be_left_out(api: Api, site: Site, ignored: bool, found: bool) -> None:
    site.sitemap("/sitemap.xml", ["/hidden"])
    site.page("/hidden", "<p>Nothing leads here.</p>")
    state = api.crawled(**crawl(site, ignoreSitemap=ignored))
    assert (site.url("/hidden") in {page["metadata"]["sourceURL"] for page in state["data"]}) is found


def test_a_delay_that_can_be_no_seconds_is_in_milliseconds(api: Api, site: Site) -> None:
    job = api.told("/v2/crawl", **crawl(site, limit=1, delay=200))
    assert api.finished(f"/v2/crawl/{job['id']}")["status"] == "completed"


def test_options_are_previewed_by_get(idle: Api, site: Site) -> None:
    body = {**NODE, "url": site.url("/"), "prompt": "three pages"}
    answer = idle.http.request("GET", "/v2/crawl/params-preview", json=body)
    assert answer.json() == idle.post("/v2/crawl/params-preview", **body).json()
    assert "PERSEID_LLM__MODEL" in answer.json()["error"]


@pytest.mark.parametrize(
    "fault",
    [
        {"actions": {"items": [1]}},
        {"formats": ["markdown"]},
        {"unheardOf": True},
        {"scrapeOptions": {"headers": {"key": ["a"], "value": "b"}}},
    ],
)
def test_what_has_no_sense_is_refused_as_ever(api: Api, site: Site, fault: dict[str, Any]) -> None:
    assert api.post("/v2/crawl", **crawl(site, **fault)).status_code == 400


@pytest.mark.parametrize("fault", [{"actions": {}}, {"formats": {"format": [{"type": "links"}]}}])
def test_others_are_held_to_the_contract(api: Api, site: Site, fault: dict[str, Any]) -> None:
    assert api.post("/v2/scrape", url=site.url("/a"), **fault).status_code == 400


def test_an_exact_server_takes_the_node_by_the_letter(tmp_path: Path, site: Site) -> None:
    exact = msgspec.structs.replace(SETTINGS, api=ApiSettings(strictness="exact"))
    with serving(tmp_path, exact, work=False) as base:
        strict = Api(base)
        with strict.http:
            assert strict.post("/v2/scrape", **NODE, url=site.url("/a"), **SCRAPE_OPTIONS).status_code == 400
