"""What a command does about the result that OUT already holds."""

from __future__ import annotations

import msgspec
import pytest

from perseid.cli.plan import BatchOptions, Resume, Start, Wanted, decide
from perseid.errors import ConfigError
from perseid.model.crawl import CrawlStatus
from perseid.model.options import CrawlOptions, ScopeRules, ScrapeOptions
from perseid.sink.place import Record

OPTIONS = CrawlOptions(limit=10)
WANTED = Wanted("crawl", "https://h/", OPTIONS)


def record(*, done: bool = False, url: str = "https://h/", options: msgspec.Struct = OPTIONS) -> Record:
    return Record(uid="a", kind="crawl", url=url, options=msgspec.Raw(msgspec.json.encode(options)), done=done)


def test_empty_folder_is_filled_directly() -> None:
    assert decide(None, None, WANTED, fresh=False) == Start(staged=False)


def test_unfinished_crawl_is_resumed() -> None:
    unfinished = record()
    assert decide(unfinished, CrawlStatus.SCRAPING, WANTED, fresh=False) == Resume(unfinished)


def test_crawl_that_ended_before_all_was_written_is_resumed() -> None:
    unfinished = record()
    assert decide(unfinished, CrawlStatus.COMPLETED, WANTED, fresh=False) == Resume(unfinished)


def test_finished_crawl_is_begun_anew_beside_its_result() -> None:
    assert decide(record(done=True), CrawlStatus.COMPLETED, WANTED, fresh=False) == Start(staged=True)


def test_crawl_the_store_lost_is_begun_anew() -> None:
    assert decide(record(), None, WANTED, fresh=False) == Start(staged=True)


def test_fresh_begins_anew_beside_an_unfinished_crawl() -> None:
    assert decide(record(), CrawlStatus.SCRAPING, WANTED, fresh=True) == Start(staged=True)


@pytest.mark.parametrize("done", [False, True])
def test_changed_options_ask_for_fresh(done: bool) -> None:
    wanted = Wanted("crawl", "https://h/", CrawlOptions(limit=20, scope=ScopeRules(max_depth=3)))
    with pytest.raises(ConfigError) as error:
        decide(record(done=done), CrawlStatus.SCRAPING, wanted, fresh=False)
    for words in ("limit: 10 → 20", "scope.max_depth: none → 3", "--fresh", "--out"):
        assert words in str(error.value)
    assert isinstance(decide(record(done=done), CrawlStatus.SCRAPING, wanted, fresh=True), Start)


def test_another_site_asks_for_fresh() -> None:
    with pytest.raises(ConfigError, match="an unfinished crawl of https://other/"):
        decide(record(url="https://other/"), CrawlStatus.SCRAPING, WANTED, fresh=False)


def test_batch_of_other_urls_asks_for_fresh() -> None:
    one = BatchOptions(scrape=ScrapeOptions(), urls=2, digest="x")
    two = BatchOptions(scrape=ScrapeOptions(), urls=2, digest="y")
    saved = Record(uid="a", kind="batch", url="f", options=msgspec.Raw(msgspec.json.encode(one)))
    with pytest.raises(ConfigError, match="digest"):
        decide(saved, CrawlStatus.SCRAPING, Wanted("batch", "f", two), fresh=False)


def test_secrets_that_changed_are_only_named() -> None:
    wanted = Wanted("crawl", "https://h/", CrawlOptions(limit=10, scrape=ScrapeOptions(cookies=(("s", "hunter2"),))))
    with pytest.raises(ConfigError, match=r"scrape\.cookies") as error:
        decide(record(), CrawlStatus.SCRAPING, wanted, fresh=False)
    assert "hunter2" not in str(error.value)


def test_record_of_an_older_version_with_fewer_options_still_fits() -> None:
    saved = Record(uid="a", kind="crawl", url="https://h/", options=msgspec.Raw(b'{"limit":10}'))
    assert decide(saved, CrawlStatus.SCRAPING, WANTED, fresh=False) == Resume(saved)
