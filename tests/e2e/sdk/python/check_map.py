"""The addresses of a site."""

import pytest
from talk import PAGES, SITE, sync


def test_a_map_has_every_page() -> None:
    found = [link.url for link in sync().map(SITE, limit=500).links]
    # Pages that other tests have met are known, too.
    assert len(found) == len(set(found)) >= PAGES
    assert {f"{SITE}/about", f"{SITE}/people/page-19"} <= set(found)


@pytest.mark.parametrize("sitemap", ["only", "skip", "include"])
def test_ways_to_use_the_sitemap(sitemap: str) -> None:
    found = sync().map(
        SITE, sitemap=sitemap, include_subdomains=False, limit=10, timeout=15_000, integration="_perseid"
    )
    assert 0 < len(found.links) <= 10
    assert all(link.url.startswith(SITE) for link in found.links)


def test_a_search_puts_what_fits_first() -> None:
    assert "/blog" in sync().map(SITE, search="blog", limit=200).links[0].url
