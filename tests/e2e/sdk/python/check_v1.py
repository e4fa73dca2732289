"""The client of the API's first version, and its asynchronous twin."""

import uuid

import pytest
from firecrawl import V1ScrapeOptions
from firecrawl.v1.client import V1JsonConfig
from talk import HOME, NOBODY, PAGES, SITE, first, first_later, until

URLS = [f"{SITE}/api/page-{number}" for number in range(5)]
TITLE = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}


def test_a_page() -> None:
    page = first().scrape_url(f"{SITE}/guides/page-1", formats=["markdown", "html", "rawHtml", "links"])
    assert page.markdown.startswith("# Guides page 1")
    assert page.html
    assert page.rawHtml
    assert page.metadata["title"] == "Guides page 1"
    assert page.metadata["statusCode"] == 200


def test_options_of_a_page() -> None:
    page = first().scrape_url(
        f"{SITE}/guides/page-2", formats=["markdown"], include_tags=["h1"], only_main_content=False, wait_for=0,
        timeout=20_000, mobile=False, block_ads=True, proxy="basic", max_age=0, parse_pdf=True,
    )  # fmt: skip
    assert page.markdown == "# Guides page 2"


def test_json_by_a_schema() -> None:
    asked = V1JsonConfig(prompt="The title", schema=TITLE)
    assert first().scrape_url(URLS[0], formats=["json"], json_options=asked).json_field == {"title": "Api page 0"}
    assert first().scrape_url(URLS[0], formats=["extract"], extract=asked).extract == {"title": "Api page 0"}


def test_a_whole_site_over_several_answers() -> None:
    job = first().crawl_url(SITE, limit=500, poll_interval=2)
    assert (job.status, job.total, len(job.data)) == ("completed", PAGES, PAGES)
    assert len({page.metadata["url"] for page in job.data}) == PAGES


def test_a_crawl_with_the_options_of_its_time() -> None:
    job = first().crawl_url(
        SITE, include_paths=["^/blog"], max_depth=2, limit=10, ignore_sitemap=True, allow_backward_links=True,
        allow_external_links=False, scrape_options=V1ScrapeOptions(formats=["markdown", "links"]), poll_interval=2,
    )  # fmt: skip
    assert 0 < len(job.data) <= 10
    assert all(page.markdown and page.links is not None for page in job.data)


def test_a_crawl_in_steps() -> None:
    started = first().async_crawl_url(f"{SITE}/late", limit=40, max_concurrency=1)
    assert started.success
    assert first().check_crawl_status(started.id).status == "scraping"
    assert first().cancel_crawl(started.id)["status"] == "cancelled"
    # Links that were refused before it was cancelled are told; no page has failed.
    assert {error.code for error in first().check_crawl_errors(started.id).errors} <= {"CRAWL_DENIAL"}


def test_a_key_begins_one_crawl() -> None:
    key = str(uuid.uuid4())
    assert first().async_crawl_url(HOME, limit=1, idempotency_key=key).id
    with pytest.raises(Exception, match=r"409|dempotency"):
        first().async_crawl_url(HOME, limit=1, idempotency_key=key)


def test_a_batch_by_whichever_address_it_is_polled() -> None:
    job = first().batch_scrape_urls(URLS, formats=["markdown"], poll_interval=2)
    assert (job.status, len(job.data)) == ("completed", 5)


def test_a_batch_in_steps() -> None:
    started = first().async_batch_scrape_urls(URLS, formats=["markdown"])
    job = until(lambda: first().check_batch_scrape_status(started.id), lambda job: job.status == "completed")
    assert job.completed == 5
    assert first().check_batch_scrape_errors(started.id).errors == []


def test_a_map_is_a_list_of_addresses() -> None:
    found = first().map_url(SITE, limit=500)
    assert found.success
    assert len(found.links) >= PAGES
    assert {f"{SITE}/about"} < set(found.links)
    assert first().map_url(SITE, search="blog", ignore_sitemap=True, include_subdomains=False, limit=5).links


@pytest.mark.parametrize("call", ["check_crawl_status", "check_crawl_errors", "check_batch_scrape_status"])
def test_nobody_s_job_is_an_error(call: str) -> None:
    with pytest.raises(Exception, match=r"404|not found"):
        getattr(first(), call)(NOBODY)


async def test_the_asynchronous_client() -> None:
    client = first_later()
    page = await client.scrape_url(f"{SITE}/docs/page-1", formats=["markdown"])
    assert page.markdown.startswith("# Docs page 1")
    job = await client.crawl_url(HOME, limit=4, poll_interval=2)
    assert (job.status, len(job.data)) == ("completed", 4)
    batch = await client.batch_scrape_urls(URLS[:2], formats=["markdown"], poll_interval=2)
    assert len(batch.data) == 2
    assert len((await client.map_url(HOME)).links) > 3
