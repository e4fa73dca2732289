"""Crawls: whole sites, parts, and what became of them."""

import pytest
from firecrawl.v2.types import PaginationConfig, ScrapeOptions
from talk import HOME, NOBODY, PAGES, SITE, outcome, sync, until


@pytest.fixture(scope="module")
def whole() -> str:
    """A crawl of everything, ended."""
    started = sync().start_crawl(SITE, limit=500)
    until(lambda: sync().get_crawl_status(started.id), lambda job: job.status == "completed", 120)
    return started.id


def test_a_crawl_is_waited_for() -> None:
    job = sync().crawl(HOME, limit=5, poll_interval=1, timeout=120)
    assert (job.status, job.completed, job.total, len(job.data)) == ("completed", 5, 5, 5)
    assert job.credits_used == 5
    assert job.expires_at is not None


def test_all_pages_come_over_several_answers(whole: str) -> None:
    job = sync().get_crawl_status(whole)
    assert (job.total, job.completed, len(job.data)) == (PAGES, PAGES, PAGES)
    assert len({page.metadata.url for page in job.data}) == PAGES
    assert job.next is None


def test_parts_can_be_fetched_by_hand(whole: str) -> None:
    part = sync().get_crawl_status(whole, pagination_config=PaginationConfig(auto_paginate=False))
    assert (len(part.data), part.completed) == (100, PAGES)
    rest = sync().get_crawl_status_page(part.next)
    assert len(rest.data) == 50
    assert rest.next is None


def test_the_client_can_stop_between_parts(whole: str) -> None:
    some = sync().get_crawl_status(whole, pagination_config=PaginationConfig(max_pages=1))
    assert len(some.data) in {100, PAGES}
    few = sync().get_crawl_status(whole, pagination_config=PaginationConfig(max_results=120))
    assert len(few.data) == 120


def test_paths_and_depth_bound_a_crawl() -> None:
    job = sync().crawl(SITE, include_paths=["^/blog"], exclude_paths=["page-1"], limit=100, poll_interval=1)
    found = {page.metadata.url.removeprefix(SITE) for page in job.data}
    assert found == {"/blog", "/blog/page-0", *(f"/blog/page-{number}" for number in range(2, 10))}
    near = sync().crawl(SITE, max_discovery_depth=1, sitemap="skip", limit=100, poll_interval=1)
    assert near.completed == 10


def test_a_sitemap_alone() -> None:
    job = sync().crawl(HOME, sitemap="only", limit=100, poll_interval=1)
    assert {page.metadata.url.removeprefix(HOME) for page in job.data} >= {"/", "/about", "/guides"}


def test_options_of_pages_and_of_the_crawl_are_taken() -> None:
    job = sync().crawl(
        HOME,
        limit=4,
        ignore_query_parameters=True,
        crawl_entire_domain=True,
        allow_external_links=False,
        allow_subdomains=True,
        deduplicate_similar_urls=True,
        regex_on_full_url=False,
        max_concurrency=2,
        zero_data_retention=False,
        integration="_perseid",
        scrape_options=ScrapeOptions(formats=["markdown", "links", "html"], only_main_content=False),
        poll_interval=1,
    )
    assert job.completed == 4
    assert all(page.html and page.links for page in job.data)


def test_a_running_crawl_is_active_until_it_is_called_off() -> None:
    started = sync().start_crawl(f"{SITE}/late", limit=50, max_concurrency=1)
    active = {crawl.id: crawl for crawl in sync().get_active_crawls().crawls}
    assert active[started.id].url == f"{SITE}/late"
    assert active[started.id].options["limit"] == 50
    running = sync().get_crawl_status(started.id)
    assert running.status == "scraping"
    assert sync().cancel_crawl(started.id) is True
    assert sync().get_crawl_status(started.id).status == "cancelled"
    assert started.id not in {crawl.id for crawl in sync().get_active_crawls().crawls}


def test_an_ended_crawl_cannot_be_called_off(whole: str) -> None:
    # Newer clients return False, older ones raise.
    answer = outcome(lambda: sync().cancel_crawl(whole))
    assert answer == "False" or "already completed" in answer


def test_errors_name_pages_and_what_robots_forbade() -> None:
    started = sync().start_crawl(f"{SITE}/private/diary", limit=5)
    until(lambda: sync().get_crawl_status(started.id), lambda job: job.status == "completed")
    told = sync().get_crawl_errors(started.id)
    assert f"{SITE}/private/diary" in told.robots_blocked


def test_a_prompt_chooses_options() -> None:
    started = sync().start_crawl(SITE, prompt="Only blog and docs", limit=3)
    assert started.id
    plan = sync().crawl_params_preview(SITE, "Only blog and docs")
    assert plan.include_paths == ["blog/.*", "docs/.*"]


@pytest.mark.parametrize("call", ["get_crawl_status", "cancel_crawl", "get_crawl_errors"])
def test_nobody_s_crawl_is_an_error(call: str) -> None:
    with pytest.raises(Exception, match="Job not found"):
        getattr(sync(), call)(NOBODY)
