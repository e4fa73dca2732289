"""FireCrawlLoader of langchain-community."""

import os

from langchain_community.document_loaders.firecrawl import FireCrawlLoader

HOME, KEY, API = os.environ["HOME_SITE"], os.environ["API_KEY"], os.environ["API_URL"]


def load(mode: str, url: str = HOME, **params: object) -> list:
    return FireCrawlLoader(url, mode=mode, api_key=KEY, api_url=API, params=params).load()


def test_scrape_gives_one_document() -> None:
    [page] = load("scrape", f"{HOME}/about", formats=["markdown"])
    assert page.page_content.startswith("# The page /about")
    assert page.metadata["title"] == "The page /about"


def test_crawl_gives_all_pages() -> None:
    pages = load("crawl", limit=50, poll_interval=1)
    assert len(pages) == 17
    assert all(page.page_content and page.metadata["status_code"] == 200 for page in pages)


def test_map_gives_addresses() -> None:
    assert len(load("map", limit=50)) >= 17
