"""Beginning a crawl or a batch: validate, snapshot, and say what its first jobs are."""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Sequence
from typing import get_args
from urllib.parse import unquote

import msgspec

from perseid.crawls.check import check_request, check_webhook
from perseid.dom import url as urls
from perseid.errors import ConfigError, InvalidURL
from perseid.links.host import politeness_host
from perseid.links.key import normalize, url_key
from perseid.links.patterns import Patterns
from perseid.links.scope import Scope
from perseid.model.crawl import CrawlKind
from perseid.model.job import JobKind
from perseid.model.options import CrawlOptions, Format, ScrapeOptions
from perseid.model.terms import Terms, Webhook
from perseid.pattern import later
from perseid.ports.store import NewCrawl
from perseid.ports.work import NewUrl

_LONGEST_S = 365 * 86_400
_NO_TERMS = Terms()
_BARE_HOST = later(
    r"^[a-z0-9.-]+\.[a-z]{2,}(:\d+)?(/|$|\?)|^localhost(:\d+)?(/|$)|^\d+\.\d+\.\d+\.\d+(:\d+)?(/|$)", re.IGNORECASE
)


def web_url(text: str) -> str:
    """The absolute http(s) URL a person meant; `example.org/docs` gains https. Raises `InvalidURL`."""
    cleaned = text.strip()
    if "://" not in cleaned and _BARE_HOST.match(cleaned):
        cleaned = f"https://{cleaned}"
    parsed = urls.parse(cleaned)
    if parsed is None:
        raise InvalidURL(f"{text!r} is not a URL; write it whole, like https://example.org/docs/")
    if not parsed.is_web or not parsed.host:
        raise InvalidURL(f"{text!r} is not a web address; only http:// and https:// URLs can be crawled")
    return parsed.href


def part_credentials(url: str, options: ScrapeOptions) -> tuple[str, ScrapeOptions]:
    """A serialised URL without its `user:password@`, and options that send them instead (RFC 7617).

    Left in the URL they would stand in every document, and a link to the same page without them would be
    another page. An Authorization header that the options name wins.
    """
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    userinfo, at, host = authority.rpartition("@")
    if not at:
        return url, options
    headers = options.headers
    if not any(name.lower() == "authorization" for name, _ in headers):
        user, _, password = userinfo.partition(":")
        pair = f"{unquote(user)}:{unquote(password)}".encode()
        headers = (*headers, ("Authorization", f"Basic {b64encode(pair).decode('ascii')}"))
    return f"{scheme}://{host}{slash}{path}", msgspec.structs.replace(options, headers=headers)


def check_scrape(options: ScrapeOptions) -> None:
    """Raises `ConfigError` with the value that is wrong and what is allowed."""
    known = get_args(Format)
    for name in options.formats:
        if name not in known:
            raise ConfigError(f"unknown format {name!r}; choose from {', '.join(known)}")
    if "rawBase64" in options.formats and options.formats != ("rawBase64",):
        raise ConfigError("the format rawBase64 gives a page as it came, and goes with no other format")
    if options.change_tracking is not None and "markdown" not in options.formats:
        raise ConfigError("change tracking compares the markdown of a page: add the format markdown")
    if options.pdf_max_pages is not None and options.pdf_max_pages < 1:
        raise ConfigError(f"pdf_max_pages must be at least 1, not {options.pdf_max_pages}")
    if not 0 < options.timeout_s < math.inf:
        raise ConfigError(f"the timeout must be above 0 s, not {options.timeout_s}")
    if options.max_attempts < 1:
        raise ConfigError(f"a page needs at least one attempt, not {options.max_attempts}")
    check_request(options)


def check_crawl(options: CrawlOptions) -> None:
    """Raises `ConfigError`; patterns are compiled here once so that a wrong one is told at once."""
    check_scrape(options.scrape)
    scope = options.scope
    Patterns(scope.include)
    Patterns(scope.exclude)
    for name, value, least in (
        ("limit", options.limit, 1),
        ("max_concurrency", options.max_concurrency, 1),
        ("max_depth", scope.max_depth, 0),
        ("max_discovery_depth", scope.max_discovery_depth, 0),
        ("max_sitemap_files", options.max_sitemap_files, 0),
        ("max_denied_rows", options.max_denied_rows, 0),
    ):
        if value is not None and value < least:
            raise ConfigError(f"{name} must be at least {least}, not {value}")
    for name, seconds in (("delay_s", options.delay_s), ("deadline_s", options.deadline_s)):
        if seconds is not None and not 0 < seconds <= _LONGEST_S:
            raise ConfigError(f"{name} must be above 0 and at most {_LONGEST_S} (a year), not {seconds}")


def check_terms(terms: Terms) -> None:
    """Raises `ConfigError` for terms that can't be kept."""
    if terms.ttl_s is not None and not 0 < terms.ttl_s <= _LONGEST_S:
        raise ConfigError(f"ttl_s must be above 0 and at most {_LONGEST_S} (a year), not {terms.ttl_s}")
    if terms.webhook is not None:
        check_webhook(terms.webhook)


def new_crawl(
    url: str,
    options: CrawlOptions,
    *,
    uid: str,
    key_seed: int,
    kind: CrawlKind = CrawlKind.CRAWL,
    blocked_hosts: Sequence[str] = (),
    terms: Terms = _NO_TERMS,
) -> NewCrawl:
    """A crawl with its one kickoff job, which fetches the start page. Raises `InvalidURL`, `ConfigError`."""
    check_crawl(options)
    named = web_url(url)
    start, scrape = part_credentials(named, options.scrape)
    options = msgspec.structs.replace(options, scrape=scrape)
    scope = Scope(options.scope, start, key_seed=key_seed, blocked_hosts=blocked_hosts)
    kickoff = NewUrl(
        start, scope.key(start), politeness_host(start), JobKind.KICKOFF, payload=_as_sent(url, named, start)
    )
    return _under(
        terms,
        NewCrawl(
            uid=uid,
            url=start,
            options=msgspec.json.encode(options),
            key_seed=key_seed,
            kind=kind,
            limit=options.limit,
            max_discovery_depth=options.scope.max_discovery_depth,
            keep_variants=options.scope.deduplicate_similar,
            max_concurrency=options.max_concurrency,
            delay_us=_us(options.delay_s) or 0,
            deadline_us=_us(options.deadline_s),
            max_denied=options.max_denied_rows,
            max_sitemap_files=options.max_sitemap_files,
            first=(kickoff,),
        ),
    )


def new_batch(
    urls_: Sequence[str],
    options: ScrapeOptions,
    *,
    uid: str,
    key_seed: int,
    kind: CrawlKind = CrawlKind.BATCH,
    max_concurrency: int | None = None,
    terms: Terms = _NO_TERMS,
) -> NewCrawl:
    """Pages named one by one; the same URL may be asked for twice. Raises `InvalidURL`, `ConfigError`."""
    asked = CrawlOptions(scrape=options, max_concurrency=max_concurrency)
    check_crawl(asked)
    named = [web_url(text) for text in urls_]
    if not named:
        raise InvalidURL("there is no URL to fetch: the list is empty")
    bare, asked = _part_all(named, asked)
    first = [
        NewUrl(url, url_key(normalize(url), key_seed), politeness_host(url), payload=_as_sent(text, whole, url))
        for text, whole, url in zip(urls_, named, bare, strict=True)
    ]
    return _under(
        terms,
        NewCrawl(
            uid=uid,
            url=first[0].url,
            options=msgspec.json.encode(asked),
            key_seed=key_seed,
            kind=kind,
            max_concurrency=max_concurrency,
            first=tuple(first),
        ),
    )


def tell_operator(new: NewCrawl) -> NewCrawl:
    """Events go to the operator's own receiver where the caller named none; of single scrapes nobody is told."""
    if new.events or new.kind not in (CrawlKind.CRAWL, CrawlKind.BATCH):
        return new
    return msgspec.structs.replace(new, events=Webhook(url="").events)


def _part_all(named: list[str], options: CrawlOptions) -> tuple[list[str], CrawlOptions]:
    """Credentials of the URLs as a header, where they all are for one host."""
    if len({politeness_host(url) for url in named}) == 1:
        parted = [part_credentials(url, options.scrape) for url in named]
        if len({scrape.headers for _url, scrape in parted}) == 1:
            return [url for url, _scrape in parted], msgspec.structs.replace(options, scrape=parted[0][1])
    if any(part_credentials(url, options.scrape)[0] != url for url in named):
        raise ConfigError("the list names a user and password in the URLs of several hosts; fetch each host by itself")
    return named, options


def _as_sent(text: str, whole: str, url: str) -> str:
    """What documents give as their source where it is not the URL that is fetched; never one with credentials."""
    if text == url or whole != url:
        return ""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def _under(terms: Terms, new: NewCrawl) -> NewCrawl:
    """The crawl as the store has to keep it by these terms."""
    check_terms(terms)
    return msgspec.structs.replace(
        new,
        team=terms.team,
        ttl_us=_us(terms.ttl_s),
        terms=b"" if terms == _NO_TERMS else msgspec.json.encode(terms),
        events=terms.webhook.events if terms.webhook is not None and new.kind is not CrawlKind.MAP else 0,
        idempotency_key=terms.idempotency_key,
        zero_retention=terms.zero_retention,
    )


def _us(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * 1_000_000)
