"""Crawls, batches and maps: the options of a body as ours, and the terms they run under."""

from __future__ import annotations

import msgspec

from perseid.api.firecrawl.asked import Asked, VersionName
from perseid.api.firecrawl.body.batch import Batch
from perseid.api.firecrawl.body.crawl import Crawl, Crawler
from perseid.api.firecrawl.body.map import Map
from perseid.api.firecrawl.body.page import Page
from perseid.api.firecrawl.body.scrape import Scrape
from perseid.api.firecrawl.body.url import with_scheme
from perseid.api.firecrawl.errors import BAD_REQUEST, WireError
from perseid.api.firecrawl.translate.page import PagePlan, accept_language
from perseid.api.firecrawl.translate.unsupported import ignored
from perseid.api.firecrawl.translate.webhook import webhook_terms
from perseid.config.settings import Settings
from perseid.dom import url as urls
from perseid.links.scope import path_depth
from perseid.model.options import CrawlOptions, ScopeRules, ScrapeOptions
from perseid.model.terms import Terms

TOO_DEEP = "URL depth exceeds the specified maxDepth"
_MOST_MAPPED = 100_000
# Of a listing: what says nothing about the crawl itself, and what may hold secrets.
_NOT_LISTED = {"url", "urls", "origin", "integration", "webhook", "headers"}


def crawl_options(body: Crawl, page: PagePlan, settings: Settings) -> CrawlOptions:
    """Raises `WireError` when the start page itself lies too deep."""
    _check_depth(body.url, body.depth)
    return CrawlOptions(
        scope=_scope(body, max_depth=body.depth),
        scrape=msgspec.structs.replace(
            page.options, obey_robots=False if body.ignore_robots_txt else None, robots_agent=body.agent
        ),
        limit=body.limit,
        # A depth of 0 means the start page and nothing else.
        sitemap="skip" if body.max_discovery_depth == 0 else body.sitemaps,
        delay_s=body.delay,
        max_concurrency=body.max_concurrency,
        max_sitemap_files=settings.crawl.max_sitemap_files,
        max_denied_rows=settings.crawl.max_denied_rows,
    )


def map_options(body: Map, settings: Settings) -> CrawlOptions:
    """A map looks at the whole site, unless its start path is to confine it."""
    scope = msgspec.structs.replace(
        _scope(body, max_depth=None),
        entire_domain=body.allow_external_links or not body.filter_by_path or body.backward,
        subdomains=body.include_subdomains or body.allow_subdomains,
        max_discovery_depth=None,
    )
    languages = body.location.languages if body.location is not None else None
    return CrawlOptions(
        scope=scope,
        scrape=ScrapeOptions(
            headers=tuple((body.headers or {}).items()) + _languages(languages),
            timeout_s=settings.fetch.page_timeout_s,
            max_attempts=settings.fetch.max_attempts,
            obey_robots=False if body.ignore_robots_txt else None,
            robots_agent=body.agent,
            verify_tls=bool(body.headers),
        ),
        # Who searches wants the best of all, not of the first.
        limit=_MOST_MAPPED if body.search or body.ignore_query_parameters else body.limit,
        sitemap=body.sitemaps,
        max_sitemap_files=settings.crawl.max_sitemap_files,
        max_denied_rows=settings.crawl.max_denied_rows,
    )


def _languages(languages: list[str] | None) -> tuple[tuple[str, str], ...]:
    return (("Accept-Language", accept_language(languages)),) if languages else ()


def _scope(body: Crawler, *, max_depth: int | None) -> ScopeRules:
    return ScopeRules(
        include=tuple(pattern for pattern in body.include_paths if pattern.strip()),
        exclude=tuple(pattern for pattern in body.exclude_paths if pattern.strip()),
        regex_on_full_url=body.regex_on_full_url,
        max_depth=max_depth,
        max_discovery_depth=body.max_discovery_depth,
        entire_domain=body.backward,
        subdomains=body.allow_subdomains,
        external=body.allow_external_links,
        external_homes=False,
        ignore_query=body.ignore_query_parameters,
        deduplicate_similar=body.deduplicate_similar_urls,
    )


def _check_depth(url: str, most: int | None) -> None:
    parts = urls.parse(with_scheme(url))
    if most is not None and parts is not None and path_depth(parts.path) > most:
        raise WireError(400, TOO_DEEP, BAD_REQUEST)


def crawl_terms(body: Crawl, page: PagePlan, *, team: int, version: VersionName, key: str | None) -> Terms:
    asked = Asked(
        version=version,
        options=_listed(body) | {"scrapeOptions": _listed(body.page)},
        schemeless=schemeless([body.url]),
        nothing=page.nothing,
        credits=page.credits,
    )
    return Terms(
        team=team,
        webhook=webhook_terms(body.webhook, version),
        zero_retention=body.zero_data_retention or page.zero_retention,
        remember_urls=body.page.store_in_cache,
        recall_urls=body.use_index and not body.ignore_cache,
        idempotency_key=key,
        warnings=(*page.warnings, *ignored(body)),
        request=asked.to_request(),
    )


def batch_terms(body: Batch, page: PagePlan, *, team: int, version: VersionName, key: str | None) -> Terms:
    asked = Asked(
        version=version,
        options=_listed(body),
        schemeless=schemeless(body.urls),
        nothing=page.nothing,
        credits=page.credits,
    )
    return Terms(
        team=team,
        webhook=webhook_terms(body.webhook, version),
        zero_retention=body.zero_data_retention or page.zero_retention,
        remember_urls=body.store_in_cache,
        idempotency_key=key,
        warnings=(*page.warnings, *ignored(body)),
        request=asked.to_request(),
    )


def scrape_terms(body: Scrape, page: PagePlan, *, team: int, version: VersionName) -> Terms:
    asked = Asked(version=version, schemeless=schemeless([body.url]), nothing=page.nothing, credits=page.credits)
    return Terms(
        team=team,
        zero_retention=body.zero_data_retention or page.zero_retention,
        remember_urls=body.store_in_cache,
        warnings=(*page.warnings, *ignored(body)),
        request=asked.to_request(),
    )


def map_terms(body: Map, *, team: int, version: VersionName) -> Terms:
    """What the team knows of the site is asked unless the caller objects."""
    return Terms(
        team=team,
        remember_urls=True,
        recall_urls=body.use_index and not body.ignore_cache,
        warnings=ignored(body),
        request=Asked(version=version, schemeless=schemeless([body.url])).to_request(),
    )


def schemeless(sent: list[str]) -> tuple[str, ...]:
    return tuple(url for url in sent if with_scheme(url) != url)


def _listed(body: Page | Crawler) -> dict[str, object]:
    names = {"scrape_options"}
    listed = body.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=names)
    return {name: value for name, value in listed.items() if name not in _NOT_LISTED}
