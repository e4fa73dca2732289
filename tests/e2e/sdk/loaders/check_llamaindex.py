"""FireCrawlWebReader of llama-index-readers-web."""

import os
import sys
from importlib.util import find_spec
from types import ModuleType

HOME, KEY, API = os.environ["HOME_SITE"], os.environ["API_KEY"], os.environ["API_URL"]

# The package imports all its readers, and with them scrapy, playwright and more; only one of them is wanted here.
_WEB = ModuleType("llama_index.readers.web")
_WEB.__path__ = find_spec(_WEB.__name__).submodule_search_locations
sys.modules[_WEB.__name__] = _WEB

from llama_index.readers.web.firecrawl_web.base import FireCrawlWebReader  # noqa: E402


def load(mode: str, url: str = HOME, **params: object) -> list:
    return FireCrawlWebReader(api_key=KEY, api_url=API, mode=mode, params=params).load_data(url=url)


def test_scrape_gives_one_document() -> None:
    [page] = load("scrape", f"{HOME}/about", formats=["markdown"])
    assert page.text.startswith("# The page /about")
    assert page.metadata["title"] == "The page /about"


def test_crawl_gives_all_pages() -> None:
    pages = load("crawl", limit=50, poll_interval=1)
    assert len(pages) == 17
    assert all(page.text for page in pages)


def test_map_gives_addresses() -> None:
    assert {page.metadata["url"] for page in load("map", limit=50)} >= {f"{HOME}/about", f"{HOME}/contact"}
