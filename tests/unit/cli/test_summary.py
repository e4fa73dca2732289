"""The end of a crawl, for people and for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from perseid.cli.summary import as_json, as_text
from perseid.crawls.summary import Summary
from perseid.model.crawl import Counts, Crawl, CrawlKind, CrawlStatus
from perseid.model.ids import CrawlId

OUT = Path("out/h")


def crawl(status: CrawlStatus = CrawlStatus.COMPLETED, **more: Any) -> Crawl:
    fields = {"id": CrawlId(1), "uid": "abc", "team": 1, "kind": CrawlKind.CRAWL, "url": "https://h/", "options": b""}
    return Crawl(**{**fields, "key_seed": 0, "status": status, "counts": Counts(done=7), "created_at": 0, **more})


def summary(**more: Any) -> Summary:
    fields: dict[str, Any] = {"pages": 7, "failures": {}, "skipped": {}, "duplicates": 0, "sitemap_urls": 0}
    return Summary(**{**fields, "sitemap_crawled": 0, "duration_s": 2.0, "warnings": [], **more})


def test_json_has_the_documented_keys() -> None:
    told = as_json(crawl(), summary(failures={"http_404": 2, "timeout": 1}, skipped={"ROBOTS_TXT": 3}), OUT)
    assert told == {
        "id": "abc",
        "status": "completed",
        "pages": 7,
        "failed": 3,
        "skipped": {"ROBOTS_TXT": 3},
        "duration_s": 2.0,
        "out": "out/h",
    }


def test_text_says_what_failed_and_what_was_skipped() -> None:
    lines = as_text(crawl(), summary(failures={"timeout": 1, "http_404": 2}, skipped={"TRAP": 1200}), OUT)
    assert "  failed   3 (http_404 2, timeout 1); see out/h/failed.jsonl" in lines
    assert "  skipped  1,200 (TRAP 1,200); see out/h/skipped.jsonl" in lines


def test_text_says_the_coverage() -> None:
    assert "  sitemap  8 of its 10 URLs crawled" in as_text(crawl(), summary(sitemap_urls=10, sitemap_crawled=8), OUT)


def test_warnings_and_errors_are_told() -> None:
    lines = as_text(crawl(CrawlStatus.FAILED, error="no such host"), summary(warnings=["hollow"]), OUT)
    assert "  error    no such host" in lines
    assert "  warning  hollow" in lines


def test_interrupted_crawl_says_how_to_go_on() -> None:
    interrupted = crawl(CrawlStatus.SCRAPING)
    assert as_json(interrupted, summary(), OUT)["status"] == "interrupted"
    lines = as_text(interrupted, summary(), Path("my out"))
    assert lines[-1] == "  resume   the same command again, or: perseid resume abc --out 'my out'"


def test_kept_result_is_not_said_to_be_the_new_one() -> None:
    lines = as_text(crawl(), summary(failures={"timeout": 1}), OUT, kept=True)
    assert any("earlier result stays" in line for line in lines)
    assert not any("out/h" in line for line in lines)


def test_finished_crawl_says_nothing_of_resuming() -> None:
    assert not any("resume" in line for line in as_text(crawl(), summary(), OUT))
