"""What a claim costs, in statements: nothing for those who can't be claimed from."""

from __future__ import annotations

from pathlib import Path

from perseid.model.crawl import CrawlKind
from perseid.ports.store import NewCrawl
from perseid.ports.teams import Team
from perseid.store.sqlite.store import SqliteStore
from perseid.testing.conformance.store.desk import FREE, ended, page

HOUR_US = 3_600_000_000


async def test_teams_that_wait_for_a_time_are_passed_over_at_once(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "perseid.db", defaults=FREE)
    worker = await store.register("here", 1, 1)
    for number in range(60):
        team = await store.put_team(Team(id=0, name=f"team {number}", max_active=5))
        urls = tuple(page(f"https://{number}.example/{path}") for path in range(2))
        new = {"uid": str(number), "url": urls[0].url, "options": b"{}", "key_seed": 1, "kind": CrawlKind.BATCH}
        await store.start(NewCrawl(**new, first=urls, team=team.id, delay_us=HOUR_US))
    leases = (await store.step(worker, (), 100)).leases
    assert len(leases) == 60
    await store.step(worker, [ended(lease) for lease in leases], 0)
    statements: list[str] = []
    store._writer.set_exec_trace(lambda _cursor, statement, _bindings: statements.append(statement) is None)
    assert (await store.step(worker, (), 100)).leases == []
    assert len(statements) < 20
    await store.close()
