"""The end of a crawl in figures, and the warning when a success is hollow."""

from __future__ import annotations

import msgspec

from perseid.crawls.context import Note
from perseid.links.lint import lint
from perseid.links.startpath import confining
from perseid.model.crawl import Crawl, CrawlKind, CrawlStatus
from perseid.model.options import CrawlOptions
from perseid.model.verdict import DenialReason
from perseid.ports.inspect import Inspect

_FEW = 1
_ADVICE = {
    DenialReason.BACKWARD_CRAWLING: "they lie outside the start path; allow the entire domain to include them",
    DenialReason.EXTERNAL_LINK: "they lie on other hosts; allow sub-domains or external links to include them",
    DenialReason.INCLUDE_PATTERN: "no include pattern matches them; patterns see the path only unless told otherwise",
    DenialReason.EXCLUDE_PATTERN: "an exclude pattern matches them",
    DenialReason.ROBOTS_TXT: "robots.txt forbids them to our agent",
    DenialReason.DEPTH_LIMIT: "their paths are deeper than the crawl allows",
    DenialReason.DISCOVERY_DEPTH: "they are further from the start page than the crawl allows",
}


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a crawl brought home. `failures` by code, `skipped` by reason, durations in seconds."""

    pages: int
    failures: dict[str, int]
    skipped: dict[str, int]
    duplicates: int
    sitemap_urls: int
    """Pages that sitemaps named, within the crawl's scope."""
    sitemap_crawled: int
    duration_s: float
    warnings: list[str]


async def summarize(inspect: Inspect, uid: str, *, now_us: int) -> Summary:
    """Raises `NotFound`."""
    crawl = await inspect.crawl(uid)
    failures = await inspect.failure_counts(crawl.id)
    skipped = await inspect.denied_counts(crawl.id)
    named, crawled = await inspect.sitemap_coverage(crawl.id) if crawl.counts.sitemap_urls else (0, 0)
    note = msgspec.json.decode(crawl.note, type=Note) if crawl.note else Note()
    rules = msgspec.json.decode(crawl.options, type=CrawlOptions).scope
    advice = lint(rules, confining(crawl.url, note.start or crawl.url)) if crawl.kind is CrawlKind.CRAWL else []
    return Summary(
        pages=crawl.counts.done,
        failures=failures,
        skipped=skipped,
        duplicates=crawl.counts.duplicate,
        sitemap_urls=named,
        sitemap_crawled=crawled,
        duration_s=((crawl.ended_at or now_us) - crawl.created_at) / 1_000_000,
        warnings=advice + warnings_of(crawl, note, failures, skipped),
    )


def warnings_of(crawl: Crawl, note: Note, failures: dict[str, int], skipped: dict[str, int]) -> list[str]:
    """Sentences about a result that looks like success and isn't."""
    warnings = list(note.warnings)
    if note.start and crawl.kind is CrawlKind.CRAWL:
        warnings.append(f"the start page redirects to {note.start}; the crawl moved there")
    if note.crawl_delay_s:
        warnings.append(f"robots.txt asks for {note.crawl_delay_s:g} s between requests")
    if crawl.counts.refused_beyond:
        warnings.append(f"the ledger of refused links is full; {crawl.counts.refused_beyond:,} more were only counted")
    if crawl.status is not CrawlStatus.COMPLETED or crawl.kind is not CrawlKind.CRAWL:
        return warnings
    if crawl.counts.done == 0:
        warnings.append(_why_nothing(note, failures))
    elif crawl.counts.done <= _FEW and skipped:
        reason, number = max(skipped.items(), key=lambda item: item[1])
        if advice := _ADVICE.get(DenialReason(reason)):
            warnings.append(f"only {crawl.counts.done} page: {number:,} links were skipped as {reason}, since {advice}")
    return warnings


def _why_nothing(note: Note, failures: dict[str, int]) -> str:
    if note.robots:
        return f"robots_txt_blocked: nothing was fetched. {note.robots}"
    if failures:
        codes = ", ".join(failures)
        return f"no page could be fetched ({codes}); `explain` on the start URL tells more"
    return "no page was fetched; `explain` on the start URL tells why"
