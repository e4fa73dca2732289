"""Every setting with its default. Durations end in `_s` (seconds), sizes in `_bytes`.

A setting `fetch.proxy` is spelt `PERSEID_FETCH__PROXY` in the environment and `proxy` under `[fetch]` in a
file. What one crawl asks for (limits, scope, formats) is no setting: see `perseid.model.options`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from perseid._version import __version__

Seconds = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]
Number = Annotated[int, Meta(ge=0)]
Bytes = Annotated[int, Meta(ge=1024)]

LogLevel = Literal["debug", "info", "warning", "error", "off"]
LogFormat = Literal["json", "text"]

DEFAULT_USER_AGENT = f"Mozilla/5.0 (compatible; Perseid/{__version__})"
"""Honest: it bears the product token that robots.txt files address."""


class FetchSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One HTTP exchange and who we say we are."""

    connect_timeout_s: Seconds = 10.0
    page_timeout_s: Seconds = 30.0
    """For one exchange in total, so that a trickle can't hold a slot."""
    max_html_bytes: Bytes = 10 * 1024 * 1024
    max_document_bytes: Bytes = 50 * 1024 * 1024
    max_redirects: Annotated[int, Meta(ge=0, le=50)] = 10
    max_attempts: Annotated[int, Meta(ge=1, le=20)] = 3
    user_agent: Annotated[str, Meta(min_length=1)] = DEFAULT_USER_AGENT
    proxy: Annotated[str, Meta(extra={"secret": True})] = ""
    """http://, https:// or socks5:// URL through which everything is fetched; empty for none."""
    trust_proxy: bool = False
    """The proxy refuses private addresses itself: hand it names, not addresses that we checked."""
    allow_private: Annotated[str, Meta(extra={"joined": True})] = ""
    """`true`, or a list of hosts, addresses and networks that are not public but may be fetched."""


class RobotsSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How robots.txt is read (RFC 9309)."""

    agents: tuple[str, ...] = ("Perseid",)
    """Product tokens whose groups apply to us, the first that has a group decides; then `*`."""
    ttl_s: Annotated[float, Meta(ge=300)] = 86_400.0
    """How long a robots.txt is good for; longer than any pause it may ask for."""
    max_crawl_delay_s: Seconds = 60.0


class PolitenessSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a public host is spared; loopback and private hosts are not throttled."""

    per_host: Annotated[int, Meta(ge=1, le=256)] = 8
    """Requests at once to one host."""
    rate_per_host: Annotated[float, Meta(gt=0, le=1000)] = 10.0
    """Requests a second to one host."""
    burst_per_host: Count = 10
    global_rate: Annotated[float, Meta(gt=0, le=100_000)] = 1000.0
    """Requests a second to all public hosts together."""
    global_burst: Count = 1000
    max_backoff_s: Seconds = 300.0
    give_up_after: Count = 8
    """Back-offs in a row after which the waiting URLs of a host fail."""
    give_up_after_s: Seconds = 3600.0
    block_list: str = ""
    """File of hosts never to be fetched, one a line; read again when it changes."""
    blocked_hosts: tuple[str, ...] = ()
    """Further such hosts; `*.example.org` covers sub-domains too."""


class StoreSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The database beside the crawl, and how finished pages are gathered into one commit."""

    batch_pages: Annotated[int, Meta(ge=1, le=1000)] = 100
    batch_bytes: Bytes = 4 * 1024 * 1024
    busy_timeout_s: Seconds = 30.0
    """How long a writer waits for another process before the store counts as unavailable."""
    wal_limit_bytes: Bytes = 64 * 1024 * 1024
    """Size of the write-ahead log above which it is truncated."""
    blob_bytes: Bytes = 256 * 1024
    """Documents larger than this, compressed, lie in a file beside the database."""


class WorkerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The processes that do the work."""

    concurrency: Annotated[int, Meta(ge=1, le=1024)] = 16
    """Pages in flight in each process."""
    processes: Annotated[int, Meta(ge=1, le=64)] = 1
    poll_s: Seconds = 2.0
    beat_s: Seconds = 2.0
    dead_after_s: Seconds = 30.0
    """A worker whose beat stood still for so long is dead, its pages go to others."""
    sweep_s: Seconds = 5.0
    audit_s: Seconds = 60.0
    grace_s: Seconds = 30.0
    """How long a graceful stop waits for pages in flight."""


class CrawlSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bounds of a crawl that its caller did not set."""

    limit: Number = 0
    """Most pages of a crawl; 0 for no bound."""
    max_sitemap_files: Number = 1000
    max_denied_rows: Number = 1_000_000
    """Refused links that are written down one by one; beyond they are only counted."""


class LogSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Log lines on stderr."""

    level: LogLevel = "warning"
    format: LogFormat = "json"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole tree; `Settings()` is all defaults."""

    fetch: FetchSettings = FetchSettings()
    robots: RobotsSettings = RobotsSettings()
    politeness: PolitenessSettings = PolitenessSettings()
    store: StoreSettings = StoreSettings()
    worker: WorkerSettings = WorkerSettings()
    crawl: CrawlSettings = CrawlSettings()
    log: LogSettings = LogSettings()
