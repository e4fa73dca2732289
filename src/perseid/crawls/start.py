"""Beginning a crawl or a batch: validate, snapshot, and say what its first jobs are."""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Sequence
from urllib.parse import unquote

import msgspec

from perseid.crawls.check import check_request
from perseid.dom import url as urls
from perseid.errors import ConfigError, InvalidURL
from perseid.links.host import politeness_host
from perseid.links.key import normalize, url_key
from perseid.links.patterns import Patterns
from perseid.links.scope import Scope
from perseid.model.crawl import CrawlKind
from perseid.model.job import JobKind
from perseid.model.options import FORMATS, CrawlOptions, ScrapeOptions
from perseid.ports.store import NewCrawl, NewUrl

_LONGEST_S = 365 * 86_400
_BARE_HOST = re.compile(
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
    for name in options.formats:
        if name not in FORMATS:
            raise ConfigError(f"unknown format {name!r}; choose from {', '.join(FORMATS)}")
    if not options.formats:
        raise ConfigError(f"no format chosen; choose from {', '.join(FORMATS)}")
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


def new_crawl(
    url: str, options: CrawlOptions, *, uid: str, key_seed: int, blocked_hosts: Sequence[str] = ()
) -> NewCrawl:
    """A crawl with its one kickoff job, which fetches the start page. Raises `InvalidURL`, `ConfigError`."""
    check_crawl(options)
    start, scrape = part_credentials(web_url(url), options.scrape)
    options = msgspec.structs.replace(options, scrape=scrape)
    scope = Scope(options.scope, start, key_seed=key_seed, blocked_hosts=blocked_hosts)
    return NewCrawl(
        uid=uid,
        url=start,
        options=msgspec.json.encode(options),
        key_seed=key_seed,
        limit=options.limit,
        max_discovery_depth=options.scope.max_discovery_depth,
        keep_variants=options.scope.deduplicate_similar,
        max_concurrency=options.max_concurrency,
        delay_us=_us(options.delay_s) or 0,
        deadline_us=_us(options.deadline_s),
        max_denied=options.max_denied_rows,
        max_sitemap_files=options.max_sitemap_files,
        first=(NewUrl(start, scope.key(start), politeness_host(start), JobKind.KICKOFF),),
    )


def new_batch(urls_: Sequence[str], options: ScrapeOptions, *, uid: str, key_seed: int) -> NewCrawl:
    """Pages named one by one; the same URL may be asked for twice. Raises `InvalidURL`, `ConfigError`."""
    check_scrape(options)
    named = [web_url(text) for text in urls_]
    if len({politeness_host(url) for url in named}) == 1:
        parted = [part_credentials(url, options) for url in named]
        if len({scrape.headers for _url, scrape in parted}) == 1:
            named, options = [url for url, _scrape in parted], parted[0][1]
    if any(part_credentials(url, options)[0] != url for url in named):
        raise ConfigError("the list names a user and password in the URLs of several hosts; fetch each host by itself")
    first = [NewUrl(url, url_key(normalize(url), key_seed), politeness_host(url), JobKind.PAGE) for url in named]
    if not first:
        raise InvalidURL("there is no URL to fetch: the list is empty")
    return NewCrawl(
        uid=uid,
        url=first[0].url,
        options=msgspec.json.encode(CrawlOptions(scrape=options)),
        key_seed=key_seed,
        kind=CrawlKind.BATCH,
        first=tuple(first),
    )


def _us(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * 1_000_000)
