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
Strictness = Literal["exact", "known", "off"]

Secret = Meta(extra={"secret": True})
EntryName = Annotated[
    str,
    Meta(pattern=r"^[a-z][a-z0-9_]{0,62}$", description="lower-case letters, digits and `_`, a letter first"),
]
"""A name that the operator gives: the same in files and, in capitals, in the environment."""
Address = Annotated[
    str,
    Meta(
        pattern=r"^[a-z][a-z0-9+.-]*://.",
        description="an address with its scheme, such as postgresql://user:password@host/database",
        extra={"secret": True},
    ),
]
SecretText = Annotated[str, Meta(min_length=1, extra={"secret": True})]
AbsolutePath = Annotated[str, Meta(pattern="^/", description="the path of a folder, from / on")]

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
    proxy: Annotated[str, Secret] = ""
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
    """The database of a crawl, and how finished pages are gathered into one commit."""

    url: Annotated[str, Secret] = ""
    """`postgresql://user:password@host/database` for a fleet; empty is an SQLite file in the crawl's own folder."""
    connections: Annotated[int, Meta(ge=2, le=64)] = 4
    """Most connections of each process to PostgreSQL."""
    blob_folder: str = ""
    """Folder of all processes for large documents; empty is one beside the SQLite file, or PostgreSQL itself."""
    batch_pages: Annotated[int, Meta(ge=1, le=1000)] = 100
    batch_bytes: Bytes = 4 * 1024 * 1024
    busy_timeout_s: Seconds = 30.0
    """How long a writer waits for SQLite's lock before the store counts as unavailable."""
    wal_limit_bytes: Bytes = 64 * 1024 * 1024
    """Size of SQLite's write-ahead log above which it is truncated."""
    blob_bytes: Bytes = 256 * 1024
    """Documents larger than this, compressed, lie outside the tables: see `blob_folder`."""


class DeliverySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How workers learn that there is work, sooner than by asking the store."""

    url: Annotated[str, Secret] = ""
    """amqp:// of a RabbitMQ or redis:// of a Redis (with TLS amqps://, rediss://); empty needs neither."""
    prefix: str = ""
    """Before the names of queues, streams and groups there."""


class LimitSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How processes of a server share limits without asking the store each time."""

    url: Annotated[str, Secret] = ""
    """redis:// of a Redis (with TLS rediss://); empty needs none."""
    prefix: str = ""
    """Before the names of keys there."""


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
    prune_s: Seconds = 30.0
    """How often what nobody keeps any longer is looked for; only a server deletes by itself."""
    grace_s: Seconds = 30.0
    """How long a graceful stop waits for pages in flight."""
    max_memory_mb: Number = 0
    """Memory (resident set) above which a process of a server or a fleet is replaced; 0 for no bound."""
    max_pages: Number = 0
    """Jobs after which it is replaced; 0 for no bound."""
    probe_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """Where `perseid worker` answers /live, /ready and /metrics; 0 for nowhere."""
    probe_host: Annotated[str, Meta(min_length=1)] = "127.0.0.1"
    """Address of that."""


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


class ApiSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The HTTP server."""

    host: Annotated[str, Meta(min_length=1)] = "127.0.0.1"
    """Address to listen on; beyond loopback the server wants keys."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 3002
    """0 takes any free one."""
    keys: Annotated[tuple[str, ...], Secret] = ()
    """Keys that are let in from the first start on, beside those made by `perseid keys create`."""
    insecure_no_auth: bool = False
    """Listen beyond loopback without any key: everybody who reaches the port may crawl with it."""
    strictness: Strictness = "known"
    """Fields of a request that we don't know: refused, refused where no client is known to send them, or ignored."""
    trust_proxy: Annotated[int, Meta(ge=0, le=16)] = 0
    """How many proxies stand before the server, whose X-Forwarded headers are believed."""
    public_url: str = ""
    """Under which the server is known outside; empty takes it from each request."""
    docs: bool = True
    """Serve the description of the interface (OpenAPI)."""


class WebhookSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who is told of what a server's crawls do."""

    url: str = ""
    """Receiver of crawls that name none of their own; `{{JOB_ID}}` in it becomes the crawl's id."""
    secret: Annotated[str, Secret] = ""
    """Signs each delivery: `X-Firecrawl-Signature: sha256=<HMAC of the body in hex>`."""
    timeout_s: Seconds = 10.0
    give_up_after_s: Seconds = 86_400.0
    """How long a delivery is tried again."""
    disabled: bool = False
    """Nobody is told anything."""
    allow_private: Annotated[str, Meta(extra={"joined": True})] = ""
    """`true`, or a list of hosts, addresses and networks that are not public but may be told."""


class LlmSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A language model that speaks OpenAI's protocol, for what needs one; without it those answer that."""

    base_url: str = ""
    """Up to and with the version: `http://localhost:11434/v1`; empty is OpenAI's where there is a key."""
    api_key: Annotated[str, Secret] = ""
    model: str = ""
    embedding_model: str = ""
    timeout_s: Seconds = 60.0
    context_tokens: Annotated[int, Meta(ge=2048)] = 32_768
    """Of question and answer together; what is longer is cut before it is asked about."""
    most_at_once: Count = 8
    """Questions in flight, of each process."""


class SearchSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A SearXNG that searches the web for us."""

    searxng_url: str = ""
    engines: tuple[str, ...] = ()
    """Empty leaves the choice to the SearXNG."""
    categories: tuple[str, ...] = ()
    timeout_s: Seconds = 10.0


class TeamSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a team may use that nobody has said anything else about."""

    max_active: Count = 50
    """Pages in flight at once, over all processes."""
    requests_per_minute: Number = 0
    """To the server; 0 for no bound."""
    pages_per_period: Number = 0
    """Pages in a calendar month; 0 for no bound."""


class RetentionSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long a server keeps what it has."""

    crawl_ttl_s: Seconds = 86_400.0
    """A crawl and its documents, from its end."""
    cache_ttl_s: Seconds = 604_800.0
    """Bodies that are kept to be asked for again only if they changed."""
    known_ttl_s: Seconds = 2_592_000.0
    """A URL in a team's index, from when it was last seen."""
    log_ttl_s: Seconds = 604_800.0
    """The log of deliveries."""
    page_ttl_s: Seconds = 2_592_000.0
    """Pages of sites, for reading them again, and what their items lacked; one with exceptions stays until they go."""


class AlertsSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who is told when too many items of a site lack a field."""

    webhook: Annotated[str, Secret] = ""
    """Receiver of alarms; beside it they are logged and counted."""
    every_s: Seconds = 30.0
    """How often workers look."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole tree; `Settings()` is all defaults. Sections that are mappings hold what the operator names."""

    fetch: FetchSettings = FetchSettings()
    robots: RobotsSettings = RobotsSettings()
    politeness: PolitenessSettings = PolitenessSettings()
    store: StoreSettings = StoreSettings()
    delivery: DeliverySettings = DeliverySettings()
    limit: LimitSettings = LimitSettings()
    worker: WorkerSettings = WorkerSettings()
    crawl: CrawlSettings = CrawlSettings()
    log: LogSettings = LogSettings()
    api: ApiSettings = ApiSettings()
    webhook: WebhookSettings = WebhookSettings()
    llm: LlmSettings = LlmSettings()
    search: SearchSettings = SearchSettings()
    team: TeamSettings = TeamSettings()
    retention: RetentionSettings = RetentionSettings()
    alerts: AlertsSettings = AlertsSettings()
    connections: dict[EntryName, Address] = {}
    """Databases, buckets and receivers that seeds and sinks may name."""
    folders: dict[EntryName, AbsolutePath] = {}
    """Folders that seeds may read and sinks may write."""
    secrets: dict[EntryName, SecretText] = {}
    """What `${secret:NAME}` in rules and pools of proxies stands for, whatever letters are large there."""
