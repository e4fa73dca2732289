"""Many pages by their addresses."""

import uuid
from typing import Any

import pytest
from talk import NOBODY, SITE, sync, until

URLS = [f"{SITE}/api/page-{number}" for number in range(20)]
LATE = [f"{SITE}/late/{number}" for number in range(40)]


def failure(error: Any) -> dict[str, Any]:
    """As newer clients give objects, older ones dictionaries."""
    return error if isinstance(error, dict) else error.model_dump()


def test_a_batch_is_waited_for() -> None:
    job = sync().batch_scrape(URLS, formats=["markdown"], poll_interval=1, wait_timeout=120)
    assert (job.status, job.completed, job.total) == ("completed", 20, 20)
    assert sorted(page.metadata.source_url for page in job.data) == sorted(URLS)
    assert all(page.markdown.startswith("# Api page") for page in job.data)


def test_a_batch_is_begun_and_looked_at() -> None:
    started = sync().start_batch_scrape(URLS[:3], formats=["markdown", "links"], max_concurrency=1)
    assert started.url.endswith(f"/v2/batch/scrape/{started.id}")
    job = until(lambda: sync().get_batch_scrape_status(started.id), lambda job: job.status == "completed")
    assert job.credits_used == 3
    assert job.expires_at is not None
    assert job.next is None


def test_pages_of_a_batch_come_in_parts() -> None:
    started = sync().start_batch_scrape([f"{address}?n=1" for address in URLS])
    until(lambda: sync().get_batch_scrape_status(started.id), lambda job: job.status == "completed")
    part = sync().get_batch_scrape_status_page(f"/v2/batch/scrape/{started.id}?skip=0&limit=8")
    seen = [page.metadata.source_url for page in part.data]
    while part.next:
        part = sync().get_batch_scrape_status_page(part.next)
        seen += [page.metadata.source_url for page in part.data]
    assert len(seen) == len(set(seen)) == 20


def test_addresses_that_are_none_are_told() -> None:
    started = sync().start_batch_scrape([URLS[0], "http://"], ignore_invalid_urls=True)
    assert started.invalid_urls == ["http://"]


def test_a_batch_can_be_added_to() -> None:
    started = sync().start_batch_scrape(LATE[:10])
    more = sync().start_batch_scrape(URLS[:2], append_to_id=started.id)
    assert more.id == started.id
    job = until(lambda: sync().get_batch_scrape_status(started.id), lambda job: job.status == "completed")
    assert job.completed == 12


def test_a_batch_can_be_called_off() -> None:
    started = sync().start_batch_scrape(LATE, max_concurrency=1)
    assert sync().cancel_batch_scrape(started.id) is True
    job = sync().get_batch_scrape_status(started.id)
    assert job.status == "cancelled"
    assert job.completed < 40


def test_errors_of_a_batch_name_their_pages() -> None:
    dead = "http://127.0.0.1:9/"
    started = sync().start_batch_scrape([URLS[0], dead])
    until(lambda: sync().get_batch_scrape_status(started.id), lambda job: job.status == "completed")
    errors = [failure(error) for error in sync().get_batch_scrape_errors(started.id).errors]
    assert [error["url"] for error in errors] == [dead]
    assert errors[0]["error"]


def test_a_key_begins_one_batch_of_the_first_version() -> None:
    key = str(uuid.uuid4())
    # The second version has no such check; a client may send the key all the same.
    assert sync().start_batch_scrape(URLS[:1], idempotency_key=key).id
    assert sync().start_batch_scrape(URLS[:1], idempotency_key=key).id


def test_nobody_s_batch_is_an_error() -> None:
    with pytest.raises(Exception, match="Job not found"):
        sync().get_batch_scrape_status(NOBODY)
