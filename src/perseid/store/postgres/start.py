"""How crawls begin: their row, their key, and their first jobs in line."""

from __future__ import annotations

from collections.abc import Sequence

from perseid.errors import KeyUsed, StoreError
from perseid.model.ids import CrawlId
from perseid.model.job import JobKind
from perseid.model.terms import EventKind
from perseid.ports.store import NewCrawl
from perseid.ports.work import NewUrl
from perseid.store.postgres.admit import Found, Harvest, bring_in
from perseid.store.postgres.nature import Nature
from perseid.store.postgres.quota import afford, hold
from perseid.store.postgres.tx import PgTx, host_name
from perseid.store.quota import wanted
from perseid.store.schema import UNLIMITED, clean

_COLUMNS = (
    "uid", "team", "kind", "url", "key_seed", "max_pages", "max_depth", "keep_variants", "max_denied", "max_sitemaps",
    "max_active", "gap", "created_at", "ttl", "deadline", "deadline_at", "events", "erase", "terms", "options", "swept",
    "open", "discovered", "sitemap_urls", "priority",
)  # fmt: skip
_INSERT = (
    f"INSERT INTO crawl ({', '.join(_COLUMNS)}) VALUES ({', '.join(f'${n + 1}' for n in range(len(_COLUMNS)))})"  # noqa: S608 - constants
    " ON CONFLICT (uid) DO NOTHING RETURNING id"
)


async def start(tx: PgTx, new: NewCrawl) -> CrawlId:
    """Write the crawl and put its first jobs in line. Raises `KeyUsed`."""
    hosts = await meet(tx, new.first)
    await know_team(tx, new.team)
    await hold(tx, (new.team,))
    crawl = await insert_row(tx, new)
    await tx.execute("SELECT post_v1($1, $2, $3)", tx.now, crawl, int(EventKind.STARTED))
    if new.delay_us and new.kind.follows_links:
        # Its pause runs from the end of the start page, when none of its pages may be known yet.
        await tx.execute("SELECT queue_v1($1, $2)", crawl, int(JobKind.PAGE))
    await line_up(tx, Nature(crawl, new.kind.value, new.max_discovery_depth, new.keep_variants), new.first, hosts)
    await tx.execute("SELECT settle_v1($1, $2, $3, '{}', '{}')", tx.now, tx.settings, [crawl])
    return crawl


async def know_team(tx: PgTx, team: int) -> None:
    """A team nobody made has no limit. To be called before anything is locked."""
    await tx.execute("INSERT INTO team (id, max_active) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", team, UNLIMITED)


async def meet(tx: PgTx, urls: Sequence[NewUrl]) -> dict[str, int]:
    """The numbers of the hosts of these URLs. To be called before anything is locked.

    Where a kickoff is among them, hosts unknown so far take one request at a time until the first is over: only then
    their crawl-delay is known, and two crawls that begin at once must not break it with their first requests.
    """
    folded = {url.host: host_name(clean(url.host)) for url in urls}
    shy = any(url.kind is JobKind.KICKOFF for url in urls)
    rows = await tx.all("SELECT name, id FROM hosts_v1($1, $2, $3)", list(folded.values()), int(shy), tx.settings)
    numbers: dict[str, int] = dict(rows)
    return {name: numbers[its] for name, its in folded.items()}


async def line_up(tx: PgTx, nature: Nature, urls: Sequence[NewUrl], hosts: dict[str, int]) -> int:
    """Admit what the caller named, at hosts that are trusted anew for it; the number admitted.

    The caller holds the crawl and its queues, and settles.
    """
    harvest = Harvest(nature, [Found(url, None, url.depth) for url in urls])
    admitted = await bring_in(tx, {nature.crawl: harvest}, hosts)
    await tx.execute("SELECT trust_v1($1, $2)", tx.now, list(hosts.values()))
    return admitted


async def insert_row(tx: PgTx, new: NewCrawl, only: NewUrl | None = None) -> CrawlId:
    """The crawl's own row, `swept` until a queue is made for it; with the counters of its `only` job.

    Raises `KeyUsed`, `QuotaExceeded`.
    """
    await afford(tx, new.team, wanted(new))
    deadline = None if new.deadline_us is None else tx.now + new.deadline_us
    crawl = await tx.value(
        _INSERT,
        new.uid, new.team, new.kind.value, clean(new.url), new.key_seed, new.limit, new.max_discovery_depth,
        int(new.keep_variants), new.max_denied, new.max_sitemap_files, new.max_concurrency, new.delay_us, tx.now,
        new.ttl_us, new.deadline_us, deadline, new.events, int(new.zero_retention), new.terms, new.options, 1,
        int(only is not None), int(only is not None and only.counted), int(only is not None and only.sitemap),
        min(9, max(0, new.priority)),
    )  # fmt: skip
    if crawl is None:
        raise StoreError(f"a crawl with the id {new.uid} exists already; ids are used once")
    if new.idempotency_key is not None:
        await _use_key(tx, new.team, new.idempotency_key, crawl)
    return CrawlId(crawl)


async def _use_key(tx: PgTx, team: int, key: str, crawl: int) -> None:
    taken = (
        "INSERT INTO idempotency (team, key, crawl) VALUES ($1, $2, $3) ON CONFLICT (team, md5(key)) DO NOTHING"
        " RETURNING crawl"
    )
    if await tx.value(taken, team, clean(key), crawl) is None:
        raise KeyUsed(f"a crawl was started under the idempotency key {key!r} before; use each key once")
