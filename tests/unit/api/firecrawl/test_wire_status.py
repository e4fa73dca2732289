"""State of a job on the wire: its numbers, and when an answer names a next page."""

from __future__ import annotations

from typing import Any

import pytest

from perseid.api.firecrawl.asked import Asked
from perseid.api.firecrawl.wire.status import Slice, expires_at, has_next, head, times, total
from perseid.model.crawl import Counts, Crawl, CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId

NOW = 1_700_000_000_123_456
RUNNING, OVER = CrawlStatus.SCRAPING, CrawlStatus.COMPLETED


def job(status: CrawlStatus = RUNNING, *, expires: int | None = None, ended: int | None = None, **counts: int) -> Crawl:
    return Crawl(
        id=CrawlId(1),
        uid="01936a2b-7c00-7000-8000-000000000000",
        team=1,
        kind=CrawlKind.CRAWL,
        url="https://example.org/",
        options=b"{}",
        key_seed=0,
        status=status,
        counts=Counts(**counts),
        created_at=NOW,
        ended_at=ended,
        expires_at=expires,
    )


def test_numbers_of_a_running_job() -> None:
    found = head(job(discovered=10, done=3, failed=2, denied=1, documents=4), Asked(), ttl_s=86_400, now_us=NOW)
    assert (found["status"], found["completed"], found["total"], found["creditsUsed"]) == ("scraping", 4, 8, 4)


def test_what_never_ran_of_a_cancelled_job_is_in_neither_number() -> None:
    assert total(job(CrawlStatus.CANCELLED, discovered=10, done=3, documents=3)) == 3


def test_documents_that_were_replaced_don_t_count() -> None:
    found = head(job(OVER, discovered=3, done=3, documents=4, superseded=1), Asked(credits=5), ttl_s=None, now_us=NOW)
    assert (found["completed"], found["total"], found["creditsUsed"]) == (3, 3, 15)


@pytest.mark.parametrize(
    ("expires", "at"),
    [(None, "2023-11-14T23:13:20.000Z"), (NOW + 60_000_000, "2023-11-14T22:14:20.000Z")],
)
def test_the_end_of_a_job_s_time_has_no_milliseconds(expires: int | None, at: str) -> None:
    assert expires_at(job(expires=expires), 3600, NOW) == at


def test_times_of_version_2() -> None:
    assert times(job(OVER, ended=NOW + 1_500_000), NOW + 9_000_000) == {
        "createdAt": "2023-11-14T22:13:20.123Z",
        "completedAt": "2023-11-14T22:13:21.623Z",
        "duration": 1.5,
    }


@pytest.mark.parametrize(
    ("status", "part", "follows"),
    [
        (OVER, (0, 10, False), False),
        (OVER, (0, 7, False), True),
        (OVER, (10, 10, True), False),
        (OVER, (99, 99, True), False),
        (CrawlStatus.CANCELLED, (7, 10, True), False),
        (CrawlStatus.FAILED, (0, 0, False), False),
        (RUNNING, (0, 10, False), True),
        (RUNNING, (7, 10, True), True),
        (RUNNING, (10, 10, True), False),
        (RUNNING, (0, 0, True), False),
    ],
)
def test_next_page(status: CrawlStatus, part: tuple[Any, ...], follows: bool) -> None:
    documents = 0 if status is CrawlStatus.FAILED else 10
    assert has_next(job(status, discovered=10, documents=documents), Slice(*part)) is follows


def test_who_asks_a_job_without_pages_for_the_first_time_is_told_where_they_will_be() -> None:
    assert has_next(job(discovered=1), Slice(0, 0, asked=False))
