"""On PostgreSQL too: pages of listings come from an index in their order, however a database has grown.

One connection, as a process has it: what was planned while the tables were empty must not be what they are read by when
they are large, and nobody has analysed them meanwhile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import asyncpg

from perseid.model.crawl import CrawlKind
from perseid.model.ids import CrawlId, JobId
from perseid.model.job import JobState
from perseid.ports.configs import ConfigKind
from perseid.ports.seeds import SeedRow, SeedState
from perseid.store.postgres.store import PgStore
from perseid.store.reading.rows import Row
from perseid.testing.postgres import url_of

ONE = CrawlId(1)
JOBS = 100_000
CRAWLS = 400
# Two large crawls, and many small ones between them.
GROW = (
    "INSERT INTO crawl (id, uid, team, kind, url, key_seed, status, keep_variants, max_denied, max_sitemaps, created_at,"
    f" options) SELECT g, 'c' || g, 1, CASE WHEN g % 2 = 0 THEN 'scrape' ELSE 'crawl' END, 'u', 1, 1, 0, 9, 9,"
    f" g, '' FROM generate_series(1, {CRAWLS}) g",
    "INSERT INTO url (id, crawl, key, lane, seq, host, kind, depth, flags, parent, url)"
    " SELECT g, CASE WHEN g % 4 < 2 THEN g % 4 + 1 ELSE 3 + g % 398 END, g, 1, g, 1, 2, 1, 1, nullif(g / 9, 0),"
    f" 'https://site.example/' || g FROM generate_series(1, {JOBS}) g",
    "INSERT INTO ended (job, crawl, state, at, attempts, seq, status, code) SELECT id, crawl,"
    " CASE WHEN id % 90 < 4 THEN 1 WHEN id % 90 < 8 THEN 3 ELSE 0 END, 1, 1, id, 200, 'timeout' FROM url",
    "INSERT INTO document (crawl, seq, job, state, status, url, body) SELECT crawl, seq, job, 0, 200, 'u', '' FROM ended",
    "INSERT INTO denied (crawl, key, parent, reason, rule, value, url)"
    " SELECT crawl, id, id, 'EXTERNAL_LINK', 'r', 'v', url FROM url",
    "INSERT INTO delivery (crawl, at, uid, kind, url, attempt, status, error, elapsed, final)"
    " SELECT crawl, id, 'u', 2, 'u', 1, 200, '', 1, 1 FROM url",
    "INSERT INTO known_url (team, site, url, seen_at) SELECT 1, 'site' || id % 9, url, id FROM url",
    "INSERT INTO lease SELECT id, crawl, 1, 1, 1, 1, 1, 1, 1, 1 FROM url WHERE id > 99000",
    "UPDATE crawl SET seed = id % 40",
    "INSERT INTO config (team, kind, name, head, changed) SELECT 1, 'rule', 's' || id, 9, id FROM url WHERE id <= 3000",
    "INSERT INTO config_version (config, version, body, author, message, at)"
    " SELECT id, v, '', '', '', 1 FROM config, generate_series(1, 9) v",
    "INSERT INTO site (team, name) SELECT 1, 's' || id FROM url WHERE id <= 3000",
    "INSERT INTO seed (team, name, site, spec, priority, next_at, created_at, updated_at)"
    " SELECT 1, 's' || id, id, '', 5, 1 + nullif(id % 9, 0), 1, 1 FROM url WHERE id <= 3000",
    "INSERT INTO collected (site, key, at) SELECT id % 9, sha256(id::text::bytea), 1 FROM url",
    "INSERT INTO item (team, site, key, change, fetched_at, updated_at, rule_version, task, seed, url, fields)"
    " SELECT 1, id % 9 + 1, 'k' || id, id, 1, 1, 1, id / 5, 's' || id % 40, url, '' FROM url WHERE id <= 30000",
    "SELECT setval('item_change', 30000)",
    "INSERT INTO site_page (site, url, fetched_at, rule_version, task, seed, body)"
    " SELECT id % 9 + 1, url, 1, 1, id, 's', 'x' FROM url WHERE id <= 30000",
    "INSERT INTO broken_item (team, site, page, rule_version, reason, at, key, task, seed, url, fields, problems)"
    " SELECT 1, site, id, id % 4, 'r' || id % 3, 1, '', task, '', url, '', '' FROM site_page",
    "INSERT INTO field_minute SELECT id % 9 + 1, id, 1, 'f' || id % 5, 1, 1 FROM url WHERE id <= 30000",
    "INSERT INTO alarm (team, site, rule_version, field, rate, n, at, cleared_at, paused)"
    " SELECT 1, id % 9 + 1, 1, 'f', 1, 1, 1, 1, 0 FROM url WHERE id <= 9000",
    "INSERT INTO blob (crawl, name, part, parts, version, body) SELECT crawl, id, 0, 1, 1, '' FROM url",
)
GROWN = (
    "crawl", "url", "ended", "document", "denied", "delivery", "known_url", "lease", "blob", "retry", "snapshot",
    "config", "config_version", "site", "seed", "collected", "item", "site_page", "broken_item", "field_minute",
    "alarm",
)  # fmt: skip
SEED = SeedRow(
    id=7, team=1, seed="s7", site="s7", spec=b"", state=SeedState.ACTIVE, priority=5, next_at=None, run=None,
    running=False, runs=0, created_at=1, updated_at=1, edition=1,
)  # fmt: skip
RULE = ConfigKind.RULE
KEYS = [bytes([n]) * 32 for n in range(200)]
Call = Callable[[PgStore], Awaitable[object]]
PAGES: dict[str, tuple[Call, str]] = {
    "documents": (lambda store: store.documents(ONE, after=500), "document_seq"),
    "failures": (lambda store: store.failures(ONE, after=500), "ended_other_than_done"),
    "refusals": (lambda store: store.denied(ONE, after=500), "denied_listing"),
    "admitted": (lambda store: store.admitted(ONE, after=500), "url_of_crawl"),
    "admitted of a small crawl": (lambda store: store.admitted(CrawlId(90), after=1), "url_of_crawl"),
    "jobs": (lambda store: store.jobs(crawl=ONE, after=500), "url_of_crawl"),
    "jobs of a team": (lambda store: store.jobs(team=1, after=500), "url_pkey"),
    "failed jobs": (lambda store: store.jobs(crawl=ONE, state=JobState.FAILED, after=500), "ended_other_than_done"),
    "running jobs": (lambda store: store.jobs(state=JobState.ACTIVE, after=500), "lease_pkey"),
    "crawls": (lambda store: store.crawls(before=50), "crawl_newest"),
    "crawls of a team": (lambda store: store.crawls(team=1, before=50), "crawl_of_team"),
    "scrapes": (lambda store: store.crawls(team=1, kinds=[CrawlKind.SCRAPE], before=50), "crawl_scrapes"),
    "deliveries": (lambda store: store.outbox.attempts(ONE, after=500), "delivery_crawl"),
    "known URLs": (lambda store: store.known.known_urls(1, "site1", limit=50), "known_url_newest"),
    "a snapshot": (lambda store: store.known.snapshot(1, "u", "t"), "snapshot_key"),
    "bodies": (lambda store: store.blobs.prefixes(after=5, limit=9), "blob_pkey"),
    "a page's document": (lambda store: store.document_of(JobId(500)), "document_seq"),
    "what is published": (lambda store: store.configs.heads(1, RULE, after="s2"), "config_team_kind_name_key"),
    "versions": (lambda store: store.configs.history(1, RULE, "s2", before=5), "config_version_pkey"),
    "changes": (lambda store: store.configs.changed_since(2_000), "config_changed"),
    "sites": (lambda store: store.seeds.sites(1, after="s2"), "site_team_name_key"),
    "seeds": (lambda store: store.seeds.seeds(1, after="s2"), "seed_team_name_key"),
    "seeds of a site": (lambda store: store.seeds.seeds(1, site="s7"), "seed_of_site"),
    "seeds that are due": (lambda store: store.seeds.due_seeds(limit=9), "seed_due"),
    "when one is due": (lambda store: store.seeds.next_due_us(), "seed_due"),
    "runs": (lambda store: store.seeds.runs(SEED, before=CrawlId(300)), "crawl_of_seed"),
    "what a task must know": (lambda store: store.seeds.begin(3, KEYS[0]), "collected_key"),
    "pages collected": (lambda store: store.seeds.collected(3, KEYS), "collected_key"),
    "keys": (lambda store: store.seeds.keys_after(3, 500, limit=500), "collected_order"),
    "items": (lambda store: store.items.items(1, after=500), "item_of_team"),
    "items of a site": (lambda store: store.items.items(1, site="s3", after=500), "item_of_site"),
    "items of a seed": (lambda store: store.items.items(1, seed="s3", after=500), "item_of_seed"),
    "an item": (lambda store: store.items.item(1, "s3", "k2"), "item_key"),
    "items of a task": (lambda store: store.items.items_of(JobId(7)), "item_of_task"),
    "kept pages": (lambda store: store.items.pages(3, after=500), "site_page_kept"),
    "a kept page": (lambda store: store.items.page(3, "u"), "site_page_url"),
    "pages of exceptions": (
        lambda store: store.items.broken_pages(1, site="s3", rule_version=1, reason="r2", after=500),
        "broken_item_group",
    ),
    "exceptions of a task": (lambda store: store.items.exceptions_of(JobId(7)), "broken_item_task"),
    "what fields lack": (lambda store: store.items.field_rates(3, since=0), "field_minute_pkey"),
    "alarms": (lambda store: store.items.alarms(1, is_open=False), "alarm_of_team"),
    "a URL explained": (lambda store: store.explain(ONE, [4, 5], "u"), "ended_pkey"),
}
SORTED = {"known URLs", "versions", "seeds that are due", "items of a task", "exceptions of a task", "what fields lack"}
"""Not paged but cut, or few: known URLs of one moment go by their letters, seeds that are due by their priority."""


class Listener:
    """Rows, and the statements that they were asked for."""

    def __init__(self, store: PgStore) -> None:
        self._rows = store._rows
        self.place, self.along, self.same = self._rows.place, self._rows.along, self._rows.same
        self.asked: list[tuple[str, tuple[object, ...]]] = []

    async def all(self, statement: str, *bindings: object, brief: bool = False) -> list[Row]:
        self.asked.append((statement, bindings))
        return await self._rows.all(statement, *bindings)

    async def plan(self) -> str:
        """Of the last statement, as it would be run now."""
        statement, bindings = self.asked[-1]
        return "\n".join(row[0] for row in await self._rows.all(f"EXPLAIN {statement}", *bindings))


async def test_a_page_is_read_along_an_index_though_the_database_was_empty(unused: str) -> None:
    store = await PgStore.open(url_of(unused), connections=1)
    connection = await asyncpg.connect(url_of(unused))
    try:
        # As of a new database: nothing is known of tables but that they are empty.
        await connection.execute(f"TRUNCATE {', '.join(GROWN)}")
        for table in GROWN:  # the server's own analysis may come at any moment, and in the midst of a statement
            await connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
        await connection.execute(GROW[0])
        store._rows = listener = Listener(store)
        for call, _index in PAGES.values():
            for _ in range(7):  # more often than any plan is tried before one is kept
                await call(store)
        for statement in GROW[1:]:
            await connection.execute(statement)
        for what, (call, index) in PAGES.items():
            await call(store)
            plan = await listener.plan()
            assert index in plan, f"{what}:\n{plan}"
            assert "Seq Scan on" not in plan, f"{what}:\n{plan}"
            assert what in SORTED or "->  Sort " not in plan, f"{what}:\n{plan}"
        asked = sorted({statement for statement, _bindings in listener.asked if " FROM " in statement})
        kept = "SELECT statement FROM pg_prepared_statements WHERE generic_plans > 0 AND statement = ANY ($1::text[])"
        assert await store._all(kept, (asked,)) == [], "planned once and for all, when the tables were empty"
    finally:
        await connection.close()
        await store.close()
