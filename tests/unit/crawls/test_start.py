"""What may be crawled, and the words for what may not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.crawls.start import check_crawl, new_batch, new_crawl, part_credentials, web_url
from perseid.errors import ConfigError, InvalidURL
from perseid.model.crawl import CrawlKind
from perseid.model.job import JobKind
from perseid.model.options import CrawlOptions, ScopeRules, ScrapeOptions


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://example.org", "https://example.org/"),
        ("  http://example.org/a b ", "http://example.org/a%20b"),
        ("example.org/docs", "https://example.org/docs"),
        ("example.org:8080/x", "https://example.org:8080/x"),
        ("example.org?q=1", "https://example.org/?q=1"),
        ("localhost:8000", "https://localhost:8000/"),
        ("127.0.0.1:80/a", "https://127.0.0.1:80/a"),
        ("HTTPS://EXAMPLE.ORG/Path", "https://example.org/Path"),
        ("https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"),
    ],
)
def test_the_url_a_person_meant(text: str, url: str) -> None:
    assert web_url(text) == url


@pytest.mark.parametrize(
    "text",
    ["", " ", "docs", "ftp://example.org/", "mailto:a@example.org", "http://", "https://exa mple.org", "javascript:1"],
)
def test_what_is_no_web_address_is_refused_with_the_text(text: str) -> None:
    with pytest.raises(InvalidURL) as caught:
        web_url(text)
    assert repr(text) in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_a_url_or_refused(text: str) -> None:
    try:
        url = web_url(text)
    except InvalidURL:
        return
    assert web_url(url) == url


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"limit": 0}, "limit"),
        ({"max_concurrency": 0}, "max_concurrency"),
        ({"delay_s": 0.0}, "delay_s"),
        ({"delay_s": float("nan")}, "delay_s"),
        ({"deadline_s": -1.0}, "deadline_s"),
        ({"deadline_s": float("inf")}, "deadline_s"),
        ({"max_sitemap_files": -1}, "max_sitemap_files"),
        ({"scope": ScopeRules(max_depth=-1)}, "max_depth"),
        ({"scope": ScopeRules(max_discovery_depth=-1)}, "max_discovery_depth"),
        ({"scope": ScopeRules(include=("(",))}, "("),
        ({"scrape": ScrapeOptions(formats=())}, "format"),
        ({"scrape": ScrapeOptions(formats=("word",))}, "word"),  # type: ignore[arg-type]
        ({"scrape": ScrapeOptions(timeout_s=0)}, "timeout"),
        ({"scrape": ScrapeOptions(timeout_s=float("nan"))}, "timeout"),
        ({"scrape": ScrapeOptions(max_attempts=0)}, "attempt"),
        ({"scrape": ScrapeOptions(exclude_tags=("p:not(",))}, "p:not("),
        ({"scrape": ScrapeOptions(headers=(("X-A", "a\r\nX-B: b"),))}, "X-A"),
        ({"scrape": ScrapeOptions(headers=(("bad name", "a"),))}, "bad name"),
        ({"scrape": ScrapeOptions(user_agent="a\nb")}, "User-Agent"),
        ({"scrape": ScrapeOptions(cookies=(("a;b", "c"),))}, "a;b"),
        ({"scrape": ScrapeOptions(proxy="gopher://x")}, "proxy"),
    ],
)
def test_a_wrong_option_is_named(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_crawl(CrawlOptions(**wrong))
    assert named in str(caught.value)


def test_the_defaults_are_right() -> None:
    check_crawl(CrawlOptions())


def test_a_crawl_begins_with_its_start_page() -> None:
    crawl = new_crawl("example.org", CrawlOptions(limit=3, delay_s=0.5), uid="u", key_seed=1)
    (first,) = crawl.first
    assert (first.url, first.kind, first.counted, first.host) == (
        "https://example.org/",
        JobKind.KICKOFF,
        True,
        "example.org",
    )
    assert (crawl.limit, crawl.delay_us) == (3, 500_000)


def test_a_batch_has_a_page_for_each_url_also_twice() -> None:
    batch = new_batch(["example.org", "example.org"], ScrapeOptions(), uid="u", key_seed=1)
    assert batch.kind is CrawlKind.BATCH
    assert [url.kind for url in batch.first] == [JobKind.PAGE] * 2


def test_a_batch_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidURL, match="empty"):
        new_batch([], ScrapeOptions(), uid="u", key_seed=1)


@pytest.mark.parametrize(
    ("url", "bare", "header"),
    [
        ("https://user:secret@e.test/a?b=c@d", "https://e.test/a?b=c@d", "Basic dXNlcjpzZWNyZXQ="),
        ("https://us%40er@e.test:81/", "https://e.test:81/", "Basic dXNAZXI6"),
        ("https://:p%C3%A4ss@e.test/", "https://e.test/", "Basic OnDDpHNz"),
    ],
)
def test_credentials_in_a_url_become_a_header(url: str, bare: str, header: str) -> None:
    assert part_credentials(web_url(url), ScrapeOptions()) == (
        bare,
        ScrapeOptions(headers=(("Authorization", header),)),
    )


def test_a_url_without_credentials_stays() -> None:
    assert part_credentials("https://e.test/@user", ScrapeOptions()) == ("https://e.test/@user", ScrapeOptions())


def test_an_authorization_that_was_given_wins() -> None:
    given_one = ScrapeOptions(headers=(("authorization", "Bearer t"),))
    assert part_credentials("https://u:p@e.test/", given_one) == ("https://e.test/", given_one)


def test_credentials_in_a_list_of_several_hosts_are_refused() -> None:
    with pytest.raises(ConfigError, match="fetch each host by itself") as told:
        new_batch(["https://u:hidden@a.test/", "https://b.test/"], ScrapeOptions(), uid="u", key_seed=1)
    assert "hidden" not in str(told.value)
