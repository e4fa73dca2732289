"""How one page is read: the options of a body as ours."""

from __future__ import annotations

from typing import NamedTuple

from perseid.api.firecrawl.body.page import Page
from perseid.api.firecrawl.errors import BAD_REQUEST, WireError
from perseid.api.firecrawl.translate.formats import Wanted, wanted
from perseid.api.firecrawl.translate.unsupported import sentences
from perseid.config.settings import Settings
from perseid.model.options import CachePolicy, ScrapeOptions

ACTIONS_NOT_SUPPORTED = "SCRAPE_ACTIONS_NOT_SUPPORTED"
_NO_ACTIONS = "Actions need a browser, and this server has none: leave out `actions`"
_NO_REDACTION = "redactPII is not available here, and text must not pass for redacted: leave it out"
_TWO_YEARS_S = 2 * 365 * 86_400.0
_STANDARD_TIMEOUT_MS = 30_000
_LONG_TIMEOUT_MS = 60_000
_PROXIED_TIMEOUT_MS = 120_000
_LONGEST_EXCHANGE_S = 150.0


class PagePlan(NamedTuple):
    """What one page is to be read with; `warnings` tells what is left out."""

    options: ScrapeOptions
    warnings: tuple[str, ...]
    credits: int
    nothing: bool
    """No format was asked for."""
    zero_retention: bool
    timeout_s: float | None
    """For the whole of it."""


def plan_page(page: Page, settings: Settings, *, keep: bool = True) -> PagePlan:
    """`keep` puts answers into the cache unless the caller objects. Raises `WireError` for what can't be done."""
    if page.actions:
        raise WireError(400, _NO_ACTIONS, ACTIONS_NOT_SUPPORTED)
    if page.redacts:
        raise WireError(400, _NO_REDACTION, BAD_REQUEST)
    asked = page.formats_wanted
    found = wanted(asked, clean=page.only_clean_content)
    limit_s = timeout_s(page, found)
    options = ScrapeOptions(
        formats=found.formats or ("markdown",),
        only_main_content=page.only_main_content,
        include_tags=tuple(page.include_tags or ()),
        exclude_tags=tuple(page.exclude_tags or ()),
        headers=_headers(page),
        user_agent=_user_agent(page),
        timeout_s=min(limit_s or settings.fetch.page_timeout_s, _LONGEST_EXCHANGE_S),
        max_attempts=settings.fetch.max_attempts,
        parse_pdf=page.parsing.pdf,
        pdf_max_pages=page.parsing.max_pages,
        verify_tls=not _skips_verification(page),
        remove_base64_images=page.remove_base64_images,
        links_of_content=True,
        attributes=found.attributes,
        asks=found.asks,
        change_tracking=found.tracking,
        cache=_cache(page, keep=keep),
    )
    return PagePlan(
        options=options,
        warnings=sentences(page, found),
        credits=found.credits,
        nothing=not found.formats,
        zero_retention=page.cache_only.lockdown,
        timeout_s=limit_s,
    )


def timeout_s(page: Page, found: Wanted) -> float | None:
    """How long the whole page may take. The standard 30 s are given up for what is known to take longer."""
    if page.timeout is None:
        return None
    milliseconds = page.timeout
    if milliseconds == _STANDARD_TIMEOUT_MS:
        if any(ask.kind == "json" for ask in found.asks) or found.tracking is not None:
            milliseconds = _LONG_TIMEOUT_MS
        if page.proxy != "basic":
            milliseconds = _PROXIED_TIMEOUT_MS
    return milliseconds / 1000


def _skips_verification(page: Page) -> bool:
    """Certificates don't matter unless credentials or deeds are at stake."""
    if page.skip_tls_verification is not None:
        return page.skip_tls_verification
    return not page.headers


def _headers(page: Page) -> tuple[tuple[str, str], ...]:
    headers = [(name, value) for name, value in (page.headers or {}).items() if name.lower() != "user-agent"]
    languages = page.place.languages if page.place is not None else None
    if languages and not any(name.lower() == "accept-language" for name, _ in headers):
        headers.append(("Accept-Language", accept_language(languages)))
    return tuple(headers)


def accept_language(languages: list[str]) -> str:
    """Each a little less wanted than the one before (RFC 9110, 12.5.4).

    >>> accept_language(["de", "en"])
    'de, en;q=0.9'
    """
    weights = [max(10 - place, 1) for place in range(len(languages))]
    return ", ".join(
        language if weight == 10 else f"{language};q=0.{weight}"
        for language, weight in zip(languages, weights, strict=True)
    )


def _user_agent(page: Page) -> str | None:
    return next((value for name, value in (page.headers or {}).items() if name.lower() == "user-agent"), None)


def _cache(page: Page, *, keep: bool) -> CachePolicy:
    """Only who names an age is given a kept answer."""
    offline = page.cache_only
    max_age_s = None if page.max_age is None else page.max_age / 1000
    if offline.lockdown:
        return CachePolicy(max_age_s=_TWO_YEARS_S if max_age_s is None else max_age_s, only=True)
    return CachePolicy(
        max_age_s=max_age_s,
        min_age_s=None if offline.min_age_ms is None else offline.min_age_ms / 1000,
        store=page.store_in_cache and (keep or page.sent("max_age", "store_in_cache")),
    )
