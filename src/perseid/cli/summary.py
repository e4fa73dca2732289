"""The end of a crawl: for people on stderr, as one JSON object on stdout."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from perseid.cli.output import count, duration
from perseid.model.crawl import CrawlStatus
from perseid.sink.place import FAILED_JSONL, SKIPPED_JSONL

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from perseid.crawls.summary import Summary
    from perseid.model.crawl import Crawl


def as_json(crawl: Crawl, summary: Summary, out: Path) -> dict[str, object]:
    """`{id, status, pages, failed, skipped: {REASON: n}, duration_s, out}`."""
    return {
        "id": crawl.uid,
        "status": status_word(crawl),
        "pages": summary.pages,
        "failed": sum(summary.failures.values()),
        "skipped": dict(summary.skipped),
        "duration_s": round(summary.duration_s, 3),
        "out": str(out),
    }


def status_word(crawl: Crawl) -> str:
    """The status as people read it; a crawl that still runs when a command ends was interrupted."""
    return "interrupted" if crawl.status is CrawlStatus.SCRAPING else crawl.status.name.lower()


KEPT = "the earlier result stays in place: this crawl was cancelled or brought no page"


def as_text(crawl: Crawl, summary: Summary, out: Path, *, kept: bool = False) -> list[str]:
    """Pages, failures by kind, skipped by reason, coverage, warnings, and how to go on."""
    see_failed, see_skipped = ("", "") if kept else (f"; see {out / FAILED_JSONL}", f"; see {out / SKIPPED_JSONL}")
    pace = f", {summary.pages / summary.duration_s:,.0f} pages/s" if summary.duration_s > 1 else ""
    lines = [
        f"{crawl.url}: {status_word(crawl)} after {duration(summary.duration_s)}{pace}",
        f"  pages    {summary.pages:,}" + ("" if kept else f" in {out}"),
    ]
    if summary.failures:
        lines.append(f"  failed   {_total(summary.failures)}{see_failed}")
    if summary.skipped:
        lines.append(f"  skipped  {_total(summary.skipped)}{see_skipped}")
    if summary.duplicates:
        lines.append(f"  same     {count(summary.duplicates, 'URL')} redirected to a page that is there already")
    if summary.sitemap_urls:
        lines.append(f"  sitemap  {summary.sitemap_crawled:,} of its {count(summary.sitemap_urls, 'URL')} crawled")
    if crawl.error:
        lines.append(f"  error    {crawl.error}")
    lines += [f"  warning  {warning}" for warning in summary.warnings]
    if kept:
        lines.append(f"  kept     {KEPT}")
    if crawl.status is CrawlStatus.SCRAPING:
        lines.append(f"  resume   the same command again, or: {resume_command(crawl.uid, out)}")
    return lines


def resume_command(uid: str, out: Path) -> str:
    return f"perseid resume {uid} --out {shlex.quote(str(out))}"


def _total(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return f"{sum(counts.values()):,} ({', '.join(f'{name} {number:,}' for name, number in ordered)})"
