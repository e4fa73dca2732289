"""The published clients against the server: what their users see."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from uuid import uuid4

import pytest

from perseid.testing import Answer, Site

from .conftest import Api

firecrawl = pytest.importorskip("firecrawl", reason="the published client is not installed")
errors = pytest.importorskip("firecrawl.v2.utils.error_handler", reason="the published client is not installed")

# The older of the two classes calls what pydantic has renamed since.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:firecrawl",
    "ignore:The `dict` method",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


@pytest.fixture(autouse=True)
def _swept() -> Iterator[None]:
    """The clients leave connections to the garbage collector, which is to find them here and not in other tests."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def new(server: str):
    return firecrawl.Firecrawl(api_url=server, api_key="fc-none")


@pytest.fixture
def old(server: str):
    return firecrawl.V1FirecrawlApp(api_url=server, api_key="fc-none")


def test_version_2_scrapes(new, site: Site) -> None:
    document = new.scrape(site.url("/blog"), formats=["markdown", "links"])
    assert (document.metadata.title, document.metadata.status_code) == ("Page /blog", 200)


def test_version_2_maps_crawls_and_batches(new, site: Site) -> None:
    links = new.map(site.url("/")).links
    crawl = new.crawl(site.url("/"), limit=10, poll_interval=1, timeout=60)
    batch = new.batch_scrape([site.url("/a"), site.url("/blog")], poll_interval=1, wait_timeout=60)
    assert {link.url for link in links} == {site.url("/"), site.url("/a"), site.url("/blog")}
    assert (crawl.status, len(crawl.data), batch.status, len(batch.data)) == ("completed", 4, "completed", 2)


def test_version_2_cancels_and_reads_what_is_there(new, site: Site) -> None:
    site.handle("/a", lambda _request: Answer(hang=True))
    job = new.start_crawl(site.url("/"))
    assert new.cancel_crawl(job.id) is True
    assert new.get_crawl_status(job.id).status == "cancelled"
    assert new.get_crawl_errors(job.id).robots_blocked is not None


def test_version_2_knows_failures_by_their_kind(new) -> None:
    with pytest.raises(errors.DNSResolutionError):
        new.scrape("http://no-such-name.invalid/")


def test_version_2_reads_the_account(new) -> None:
    assert new.get_concurrency().max_concurrency > 0
    assert new.get_credit_usage().remaining_credits > 0
    assert new.get_token_usage().remaining_tokens > 0
    assert new.get_queue_status().jobs_in_queue >= 0
    assert new.get_active_crawls().success


def test_version_1_scrapes_crawls_maps_and_batches(old, site: Site) -> None:
    page = old.scrape_url(site.url("/blog"))
    crawl = old.crawl_url(site.url("/"), limit=10, poll_interval=1)
    batch = old.batch_scrape_urls([site.url("/a"), site.url("/blog")], poll_interval=1)
    links = old.map_url(site.url("/")).links
    assert page.metadata["title"] == "Page /blog"
    assert (crawl.status, len(crawl.data), batch.status, len(batch.data), links[0]) == (
        "completed",
        4,
        "completed",
        2,
        site.url("/"),
    )


def test_a_job_that_nobody_knows_is_an_error_to_both(new, old) -> None:
    with pytest.raises(errors.FirecrawlError):
        new.get_crawl_status(str(uuid4()))
    with pytest.raises(Exception, match="Job not found"):
        old.check_crawl_status(str(uuid4()))


def test_the_address_of_the_server_is_that_of_its_jobs(api: Api, site: Site) -> None:
    told = api.http.post("/v2/crawl", json={"url": site.url("/blog")}, headers={"Host": "crawl.example:8080"}).json()
    assert told["url"] == f"http://crawl.example:8080/v2/crawl/{told['id']}"
