"""Pages of listings come from an index in their order: their cost doesn't grow with the table, nor with the page's place."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from perseid.model.crawl import CrawlKind
from perseid.model.ids import CrawlId
from perseid.model.job import JobState
from perseid.ports.configs import ConfigKind
from perseid.store.reading.rows import Row
from perseid.store.sqlite.store import SqliteStore

ONE = CrawlId(1)
Call = Callable[[SqliteStore], Awaitable[object]]
PAGES: dict[str, tuple[Call, str]] = {
    "documents": (lambda store: store.documents(ONE, after=5), "document_seq (crawl=? AND seq>?)"),
    "failures": (lambda store: store.failures(ONE, after=5), "ended_other_than_done (crawl=? AND job>?)"),
    "refusals": (lambda store: store.denied(ONE, after=5), "denied_listing (crawl=? AND rowid>?)"),
    "admitted": (lambda store: store.admitted(ONE, after=5), "url USING INTEGER PRIMARY KEY (rowid>?)"),
    "jobs": (lambda store: store.jobs(crawl=ONE, after=5), "u USING INTEGER PRIMARY KEY (rowid>?)"),
    "jobs of a team": (lambda store: store.jobs(team=1, after=5), "u USING INTEGER PRIMARY KEY (rowid>?)"),
    "failed jobs": (
        lambda store: store.jobs(crawl=ONE, state=JobState.FAILED, after=5),
        "ended_other_than_done (crawl=? AND job>?)",
    ),
    "running jobs": (
        lambda store: store.jobs(crawl=ONE, state=JobState.ACTIVE, after=5),
        "l USING INTEGER PRIMARY KEY (rowid>?)",
    ),
    "crawls": (lambda store: store.crawls(before=5), "crawl_newest (created_at<?)"),
    "crawls of a team": (lambda store: store.crawls(team=1, before=5), "crawl_of_team (team=? AND created_at<?)"),
    "scrapes": (
        lambda store: store.crawls(team=1, kinds=[CrawlKind.SCRAPE], before=5),
        "crawl_scrapes (team=? AND created_at<?)",
    ),
    "items": (lambda store: store.items.items(1, after=5), "item_of_team (team=? AND change>?)"),
    "items of a site": (lambda store: store.items.items(1, site="s", after=5), "item_of_site (site=? AND change>?)"),
    "items of a seed": (
        lambda store: store.items.items(1, site="s", seed="s", after=5),
        "item_of_seed (seed=? AND change>?)",
    ),
    "kept pages": (lambda store: store.items.pages(3, after=5), "site_page_kept (site=? AND id>?)"),
    "pages of exceptions": (
        lambda store: store.items.broken_pages(1, site="s", rule_version=1, reason="r", after=5),
        "broken_item_group (team=? AND site=? AND rule_version=? AND reason=? AND page>?)",
    ),
    "alarms": (lambda store: store.items.alarms(1, is_open=False), "alarm_of_team (team=?)"),
    "what is published": (
        lambda store: store.configs.heads(1, ConfigKind.RULE, after="s"),
        "sqlite_autoindex_config_1 (team=? AND kind=? AND name>?)",
    ),
    "versions": (
        lambda store: store.configs.history(1, ConfigKind.RULE, "s", before=5),
        "v USING PRIMARY KEY (config=? AND version<?)",
    ),
    "changes": (lambda store: store.configs.changed_since(5), "config_changed (changed>?)"),
    "sites": (lambda store: store.seeds.sites(1, after="s"), "sqlite_autoindex_site_1 (team=? AND name>?)"),
    "seeds": (lambda store: store.seeds.seeds(1, after="s"), "sqlite_autoindex_seed_1 (team=? AND name>?)"),
    "seeds of a site": (lambda store: store.seeds.seeds(1, site="s"), "seed_of_site (site=? AND name>?)"),
    "when a seed is due": (lambda store: store.seeds.next_due_us(), "seed_due"),
    "what a task must know": (lambda store: store.seeds.begin(1, b"k"), "collected_key (site=? AND key=?)"),
    "pages collected": (lambda store: store.seeds.collected(1, [b"k", b"l"]), "collected_key (site=? AND key=?)"),
    "keys": (lambda store: store.seeds.keys_after(1, 5), "collected_order (site=? AND id>?)"),
    "deliveries": (lambda store: store.outbox.attempts(ONE, after=5), "delivery_crawl (crawl=? AND id>?)"),
}


class Listener:
    """Rows, and the statements that they were asked for."""

    def __init__(self, store: SqliteStore) -> None:
        self._rows = store._rows
        self.place, self.along, self.same = self._rows.place, self._rows.along, self._rows.same
        self.asked: list[tuple[str, tuple[object, ...]]] = []

    async def all(self, statement: str, *bindings: object, brief: bool = False) -> list[Row]:
        self.asked.append((statement, bindings))
        return await self._rows.all(statement, *bindings)

    async def plan(self) -> list[str]:
        """Of the last statement."""
        statement, bindings = self.asked[-1]
        return [row[3] for row in await self._rows.all(f"EXPLAIN QUERY PLAN {statement}", *bindings)]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "perseid.db")
    yield store
    await store.close()


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_is_read_along_an_index(store: SqliteStore, name: str) -> None:
    call, index = PAGES[name]
    store._rows = listener = Listener(store)
    await call(store)
    plan = await listener.plan()
    ordered = plan[: next((n for n, line in enumerate(plan) if line == "SCAN page"), len(plan))]
    assert any(index in line for line in ordered), plan
    assert not any("SCAN" in line and line != "SCAN CONSTANT ROW" for line in ordered), plan
    # Crawls that begin in the same microsecond are sorted among each other, and a page's own rows may be.
    assert not any("TEMP B-TREE FOR ORDER BY" in line for line in ordered), plan
