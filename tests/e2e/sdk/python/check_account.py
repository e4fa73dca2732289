"""What a team may, and what it has used."""

from firecrawl.v2 import FirecrawlClient
from talk import API, KEY, sync


def test_concurrency() -> None:
    told = sync().get_concurrency()
    assert told.max_concurrency > 0
    assert told.concurrency >= 0


def test_the_queue() -> None:
    told = sync().get_queue_status()
    assert told.jobs_in_queue == told.active_jobs_in_queue + told.waiting_jobs_in_queue
    assert told.max_concurrency > 0


def test_credits_and_tokens_are_left() -> None:
    assert sync().get_credit_usage().remaining_credits > 0
    assert sync().get_token_usage().remaining_tokens > 0


def test_use_by_months() -> None:
    # The class that people import leaves these two out.
    client = FirecrawlClient(api_key=KEY, api_url=API)
    assert client.get_credit_usage_historical().periods is not None
    assert client.get_token_usage_historical().periods is not None
