"""What may be crawled, and the words for what may not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.crawls.start import check_crawl, new_batch, new_crawl, part_credentials, tell_operator, web_url
from perseid.errors import ConfigError, InvalidURL
from perseid.model.crawl import CrawlKind
from perseid.model.job import JobKind
from perseid.model.options import AttributeQuery, CachePolicy, ChangeTracking, CrawlOptions, ScopeRules, ScrapeOptions
from perseid.model.terms import EventKind, Terms, Webhook


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
        ({"scrape": ScrapeOptions(formats=("rawBase64", "links"))}, "no other format"),
        ({"scrape": ScrapeOptions(formats=("links",), change_tracking=ChangeTracking())}, "add the format markdown"),
        ({"scrape": ScrapeOptions(pdf_max_pages=0)}, "pdf_max_pages"),
        ({"scrape": ScrapeOptions(attributes=(AttributeQuery("a[", "href"),))}, "CSS selector"),
        ({"scrape": ScrapeOptions(cache=CachePolicy(max_age_s=-1))}, "max_age_s"),
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


def test_metadata_alone_may_be_asked_for() -> None:
    check_crawl(CrawlOptions(scrape=ScrapeOptions(formats=())))
    check_crawl(CrawlOptions(scrape=ScrapeOptions(formats=("rawBase64",))))


def test_terms_go_with_the_crawl() -> None:
    hook = Webhook(url="https://receiver.example/", events=int(EventKind.PAGE))
    terms = Terms(team=3, ttl_s=60.0, webhook=hook, zero_retention=True, idempotency_key="k", request={"limit": 1})
    for new in (
        new_crawl("https://example.org/", CrawlOptions(), uid="u", key_seed=1, terms=terms),
        new_batch(["https://example.org/"], ScrapeOptions(), uid="u", key_seed=1, terms=terms),
    ):
        assert (new.team, new.ttl_us, new.events, new.idempotency_key) == (3, 60_000_000, int(EventKind.PAGE), "k")
        assert new.zero_retention
        assert msgspec.json.decode(new.terms, type=Terms) == terms


def test_default_terms_are_not_written() -> None:
    new = new_crawl("https://example.org/", CrawlOptions(), uid="u", key_seed=1)
    assert (new.terms, new.team, new.events, new.ttl_us) == (b"", 1, 0, None)


@pytest.mark.parametrize(
    ("terms", "word"),
    [
        (Terms(ttl_s=0), "ttl_s"),
        (Terms(ttl_s=float("nan")), "ttl_s"),
        (Terms(webhook=Webhook(url="receiver")), "webhook"),
        (Terms(webhook=Webhook(url="ftp://receiver.example/")), "webhook"),
        (Terms(webhook=Webhook(url="https://r.example/", headers={"x-firecrawl-signature": "a"})), "Signature"),
        (Terms(webhook=Webhook(url="https://r.example/", headers={"X": "a\nb"})), "line break"),
        (Terms(webhook=Webhook(url="https://r.example/", events=0)), "no event"),
    ],
)
def test_terms_that_cannot_be_kept_are_refused(terms: Terms, word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        new_crawl("https://example.org/", CrawlOptions(), uid="u", key_seed=1, terms=terms)


def test_the_operator_is_told_where_nobody_else_is() -> None:
    crawl = new_crawl("https://example.org/", CrawlOptions(), uid="u", key_seed=1)
    assert tell_operator(crawl).events == Webhook(url="").events
    scrape = new_batch(["https://example.org/"], ScrapeOptions(), uid="u", key_seed=1, kind=CrawlKind.SCRAPE)
    assert tell_operator(scrape).events == 0
    hook = Webhook(url="https://r.example/", events=int(EventKind.PAGE))
    own = new_crawl("https://example.org/", CrawlOptions(), uid="u", key_seed=1, terms=Terms(webhook=hook))
    assert tell_operator(own) == own


@pytest.mark.parametrize("sent", ["HTTPS://Example.org", "example.org/a b", " https://example.org/ä"])
def test_urls_are_kept_as_they_were_sent(sent: str) -> None:
    (job,) = new_batch([sent], ScrapeOptions(), uid="u", key_seed=1).first
    assert job.payload == sent
    (kickoff,) = new_crawl(sent, CrawlOptions(), uid="u", key_seed=1).first
    assert kickoff.payload == sent


def test_a_url_that_is_fetched_as_it_was_sent_is_kept_once() -> None:
    (job,) = new_batch(["https://example.org/a"], ScrapeOptions(), uid="u", key_seed=1).first
    assert job.payload == ""


def test_credentials_are_not_kept_as_they_were_sent() -> None:
    (job,) = new_batch(["https:\\\\u:hunter2@example.org/a"], ScrapeOptions(), uid="u", key_seed=1).first
    assert "hunter2" not in repr(job)


def test_a_scrape_and_a_batch_differ_in_kind_and_width() -> None:
    new = new_batch(
        ["https://example.org/"], ScrapeOptions(), uid="u", key_seed=1, kind=CrawlKind.SCRAPE, max_concurrency=2
    )
    assert (new.kind, new.max_concurrency) == (CrawlKind.SCRAPE, 2)
    with pytest.raises(ConfigError, match="max_concurrency"):
        new_batch(["https://example.org/"], ScrapeOptions(), uid="u", key_seed=1, max_concurrency=0)
