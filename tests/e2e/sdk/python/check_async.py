"""AsyncFirecrawl: the same verbs without waiting for one another."""

import asyncio

import pytest
from talk import HOME, NOBODY, PAGES, SITE, later


async def test_pages_are_scraped_side_by_side() -> None:
    client = later()
    pages = await asyncio.gather(*(client.scrape(f"{SITE}/docs/page-{n}", formats=["markdown"]) for n in range(20)))
    assert [page.metadata.title for page in pages] == [f"Docs page {n}" for n in range(20)]


async def test_a_batch() -> None:
    job = await later().batch_scrape([f"{HOME}/about", f"{HOME}/contact"], poll_interval=1, wait_timeout=60)
    assert (job.status, len(job.data)) == ("completed", 2)


async def test_a_batch_in_steps() -> None:
    client = later()
    started = await client.start_batch_scrape([f"{SITE}/late/{n}" for n in range(30)], max_concurrency=1)
    assert (await client.get_batch_scrape_status(started.id)).status == "scraping"
    assert await client.cancel_batch_scrape(started.id) is True
    assert (await client.get_batch_scrape_errors(started.id))["robotsBlocked"] == []


async def test_a_whole_site() -> None:
    job = await later().crawl(url=SITE, limit=500, poll_interval=1, timeout=120)
    assert (job.status, job.completed, len(job.data)) == ("completed", PAGES, PAGES)


async def test_a_crawl_in_steps() -> None:
    client = later()
    started = await client.start_crawl(f"{SITE}/late", limit=40, max_concurrency=1)
    assert started.id in {crawl.id for crawl in (await client.active_crawls()).crawls}
    assert await client.cancel_crawl(started.id) is True
    assert (await client.get_crawl_status(started.id)).status == "cancelled"


async def test_a_map() -> None:
    assert len((await later().map(SITE, limit=30)).links) == 30


async def test_an_upload() -> None:
    page = await later().parse(b"<h1>Sent</h1><p>Text</p>", filename="a.html", content_type="text/html")
    assert page.markdown == "# Sent\n\nText"


async def test_the_account() -> None:
    client = later()
    assert (await client.get_concurrency()).max_concurrency > 0
    assert (await client.get_credit_usage()).remaining_credits > 0
    assert (await client.get_token_usage()).remaining_tokens > 0
    assert (await client.get_queue_status()).max_concurrency > 0


async def test_errors_are_raised() -> None:
    with pytest.raises(Exception, match="Job not found"):
        await later().get_crawl_status(NOBODY)
