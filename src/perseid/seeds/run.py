"""A run of a seed as the queue sees it: a crawl whose first job expands the seed, and the tasks that come of it."""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec

from perseid.dom import url as urls
from perseid.links.host import authority
from perseid.links.key import normalize_href, url_key
from perseid.model.crawl import CrawlKind
from perseid.model.job import JobKind
from perseid.model.rule import PageKind
from perseid.model.seed import Seed
from perseid.ports.seeds import SeedRow
from perseid.ports.store import NewCrawl
from perseid.ports.work import NewUrl
from perseid.seeds.expanding import first_host

KEPT_S = 30 * 86_400.0
"""How long a run is kept from its end; its items stay."""


class RunOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`Crawl.options` of a run. The rule is not among them: a task goes by the newest that is published."""

    seed: Seed
    site: int
    """Number of its site."""
    concurrency: int
    """Tasks at once, as the run began; see `Run.concurrency`."""
    due_at: int
    """The time the run is for, µs: `today` of a seed is that day, however late it begins."""


class TaskPayload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`NewUrl.payload` of a task; empty where all is as by default."""

    kind: PageKind | None = None
    """What led there; None for what the rule says that a seed's pages are."""
    list_page: int = 1
    """Its number in its list."""
    depth: int = 0
    """How many lists led to this one, after the seed's own."""
    method: Literal["GET", "POST"] = "GET"
    body: str = ""
    home: str = ""
    """The address that led to another host: what the rule sends is meant for that one, not for this."""
    own: bool = False
    """One of the seed's own addresses, rather than one that a page led to."""


def own_rule(seed: Seed) -> bytes:
    """JSON of the rule that stands in the seed itself; empty where there is none."""
    return b"" if seed.rule is None else _ENCODE({"site_id": seed.site_id} | seed.rule)


class ExpandNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`Crawl.note` of a run: what its source had that makes no task."""

    skipped: int = 0
    notes: tuple[str, ...] = ()


_ENCODE = msgspec.json.Encoder().encode
_OPTIONS = msgspec.json.Decoder(RunOptions)
_PAYLOAD = msgspec.json.Decoder(TaskPayload)
_PLAIN = TaskPayload()


def read_options(options: bytes) -> RunOptions:
    return _OPTIONS.decode(options)


def read_note(note: bytes) -> ExpandNote:
    return msgspec.json.decode(note, type=ExpandNote) if note else ExpandNote()


def read_payload(payload: str) -> TaskPayload:
    return _PAYLOAD.decode(payload) if payload else _PLAIN


def new_run(row: SeedRow, options: RunOptions, *, uid: str, key_seed: int) -> NewCrawl:
    """What `Seeds.start_run` is to begin."""
    name = f"seed:{row.site}/{row.seed}"
    return NewCrawl(
        uid=uid,
        url=name,
        options=_ENCODE(options),
        key_seed=key_seed,
        kind=CrawlKind.SEED,
        team=row.team,
        max_concurrency=options.concurrency,
        limit=options.seed.limit,
        ttl_us=int(KEPT_S * 1_000_000),
        first=(NewUrl(name, url_key(name, key_seed), first_host(options.seed.source), JobKind.EXPAND, counted=False),),
    )


class Address(msgspec.Struct, frozen=True):
    """An address of a task: as it is asked for, and by which name it is remembered."""

    url: str
    host: str
    name: str

    @property
    def page_key(self) -> bytes:
        """Under which it counts as collected, of all runs: see `Seeds.collected`."""
        return hashlib.sha256(self.name.encode()).digest()

    def task(self, payload: TaskPayload, key_seed: int) -> NewUrl:
        """The job that asks for it."""
        told = "" if payload == _PLAIN else _ENCODE(payload).decode()
        return NewUrl(self.url, url_key(self.name, key_seed), self.host, JobKind.TASK, payload=told)


def address(url: str, payload: TaskPayload = _PLAIN) -> Address | None:
    """None for what is no address of the web. What is sent with a POST is part of its name."""
    parts = urls.parse(url)
    if parts is None or not parts.is_web or not parts.host:
        return None
    name = normalize_href(parts.href)
    if payload.method != "GET":
        name = f"{payload.method} {name} {payload.body}"
    return Address(parts.href.partition("#")[0], authority(parts), name)
