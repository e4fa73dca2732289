"""Warnings about results that look like success."""

from __future__ import annotations

from typing import Any

import pytest

from perseid.crawls.context import Note
from perseid.crawls.summary import warnings_of
from perseid.model.crawl import Counts, Crawl, CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId
from perseid.model.verdict import DenialReason


def _crawl(*, kind: CrawlKind = CrawlKind.CRAWL, status: CrawlStatus = CrawlStatus.COMPLETED, **counts: int) -> Crawl:
    return Crawl(
        id=CrawlId(1), uid="u", team=1, kind=kind, url="https://e.test/", options=b"{}", key_seed=1, status=status,
        counts=Counts(**counts), created_at=0,
    )  # fmt: skip


def _warnings(crawl: Crawl, note: Note | None = None, **found: Any) -> list[str]:
    return warnings_of(crawl, note or Note(), found.get("failures", {}), found.get("skipped", {}))


def test_a_crawl_with_pages_needs_no_warning() -> None:
    assert _warnings(_crawl(done=20), skipped={"EXTERNAL_LINK": 300}) == []


def test_robots_that_shut_us_out_are_named_first() -> None:
    (warning,) = _warnings(_crawl(), Note(robots="robots.txt forbids /."))
    assert warning.startswith("robots_txt_blocked")


def test_failures_are_named_where_nothing_came() -> None:
    assert "dns_error" in _warnings(_crawl(failed=1), failures={"dns_error": 1})[0]


def test_nothing_at_all_points_to_explain() -> None:
    assert "explain" in _warnings(_crawl())[0]


@pytest.mark.parametrize(
    "reason",
    [
        "BACKWARD_CRAWLING",
        "EXTERNAL_LINK",
        "INCLUDE_PATTERN",
        "EXCLUDE_PATTERN",
        "ROBOTS_TXT",
        "DEPTH_LIMIT",
        "DISCOVERY_DEPTH",
    ],
)
def test_a_lonely_page_is_explained_by_the_commonest_reason(reason: str) -> None:
    (warning,) = _warnings(_crawl(done=1), skipped={"SECTION_LINK": 2, reason: 9})
    assert reason in warning
    assert "9 links" in warning


@pytest.mark.parametrize("reason", list(DenialReason))
def test_every_reason_can_stand_in_a_summary(reason: DenialReason) -> None:
    _warnings(_crawl(done=1), skipped={reason.value: 1})


def test_a_running_crawl_is_not_judged_by_its_pages() -> None:
    assert _warnings(_crawl(status=CrawlStatus.SCRAPING)) == []


def test_a_batch_is_not_judged_by_its_links() -> None:
    assert _warnings(_crawl(kind=CrawlKind.BATCH, done=1), skipped={"EXTERNAL_LINK": 5}) == []


def test_what_the_kickoff_found_is_told() -> None:
    note = Note(start="https://www.e.test/", crawl_delay_s=5.0, warnings=["a pattern is slow"])
    told = " ".join(_warnings(_crawl(done=9, refused_beyond=1234), note))
    for part in ("https://www.e.test/", "5 s between", "a pattern is slow", "1,234 more"):
        assert part in told
