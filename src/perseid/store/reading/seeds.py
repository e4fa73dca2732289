"""The reading half of `Seeds`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from perseid.model.ids import CrawlId, JobId
from perseid.model.job import JobKind
from perseid.ports.seeds import Begin, SeedRow, SeedState, SiteRow
from perseid.store.reading.configs import CHANGED
from perseid.store.reading.rows import Row, Rows, Where
from perseid.store.schema import GOING, clean

SITE = "SELECT id, team, name, paused, reason, paused_at FROM site"
RUNNING = "EXISTS (SELECT 1 FROM crawl c WHERE c.seed = s.id AND c.status = 0)"
SEED = (
    "SELECT s.id, s.team, s.name, t.name, s.spec, s.state, s.priority, s.next_at,"  # noqa: S608 - constants
    f" (SELECT c.id FROM crawl c WHERE c.id = s.run AND c.swept < {GOING}), {RUNNING},"
    " s.runs, s.created_at, s.updated_at, s.edition FROM seed s JOIN site t ON t.id = s.site"
)
_KEYS_AT_ONCE = 512
# A run keeps its own limit. Leases are few; they are looked through only where a site has several seeds.
_BEFORE = (
    "CASE WHEN (SELECT count(*) FROM (SELECT 1 FROM seed WHERE site = $1 LIMIT 2) s) < 2 THEN 0 ELSE"  # noqa: S608 - a number
    " (SELECT count(*) FROM lease mine JOIN lease l ON (l.started_at, l.job) < (mine.started_at, mine.job)"
    " JOIN queue q ON q.id = l.queue JOIN crawl c ON c.id = l.crawl JOIN seed s ON s.id = c.seed"
    f" WHERE mine.job = $3 AND q.class = {int(JobKind.TASK)} AND s.site = $1) END"
)


def site_of(row: Row) -> SiteRow:
    number, team, name, paused, reason, paused_at = row
    return SiteRow(id=number, team=team, name=name, paused=bool(paused), reason=reason, paused_at=paused_at)


def seed_of(row: Row) -> SeedRow:
    number, team, name, site, spec, state, priority, next_at, run, running, runs, created_at, updated_at, edition = row
    return SeedRow(
        id=number,
        team=team,
        seed=name,
        site=site,
        spec=spec,
        state=SeedState(state),
        priority=priority,
        next_at=next_at,
        run=None if run is None else CrawlId(run),
        running=bool(running),
        runs=runs,
        created_at=created_at,
        updated_at=updated_at,
        edition=edition,
    )


class SeedReader:
    """Sites, seeds, and what was collected; `clock` gives µs since the epoch."""

    def __init__(self, rows: Rows, clock: Callable[[], int]) -> None:
        self._rows = rows
        self._clock = clock

    async def site(self, team: int, name: str) -> SiteRow | None:
        rows = await self._rows.all(f"{SITE} WHERE team = $1 AND name = $2", team, clean(name))
        return site_of(rows[0]) if rows else None

    async def sites(self, team: int, *, after: str = "", limit: int = 100) -> list[SiteRow]:
        rows = await self._rows.all(
            f"{SITE} WHERE team = $1 AND name > $2 ORDER BY name LIMIT $3", team, clean(after), limit
        )
        return [site_of(row) for row in rows]

    async def seed(self, team: int, seed: str) -> SeedRow | None:
        rows = await self._rows.all(f"{SEED} WHERE s.team = $1 AND s.name = $2", team, clean(seed))
        return seed_of(rows[0]) if rows else None

    async def seeds(self, team: int, *, site: str | None = None, after: str = "", limit: int = 100) -> list[SeedRow]:
        where = Where()
        where.add("s.name > ?", clean(after))
        if site is None:
            where.add("s.team = ?", team)
        else:
            where.add("s.site = (SELECT id FROM site WHERE team = ? AND name = ?)", team, clean(site))
        statement = f"{SEED} {where} ORDER BY s.name LIMIT {where.bind(limit)}"
        return [seed_of(row) for row in await self._rows.all(statement, *where.values)]

    async def due_seeds(self, *, limit: int = 100) -> list[SeedRow]:
        rows = await self._rows.all(
            f"{SEED} WHERE s.state = 0 AND s.next_at <= $1 AND t.paused = 0 AND NOT {RUNNING}"
            " ORDER BY s.priority DESC, s.next_at, s.id LIMIT $2",
            self._clock(), limit,
        )  # fmt: skip
        return [seed_of(row) for row in rows]

    async def next_due_us(self) -> int | None:
        ((wait_us,),) = await self._rows.all(
            "SELECT min(s.next_at) - $1 FROM seed s JOIN site t ON t.id = s.site"  # noqa: S608 - a constant
            f" WHERE s.state = 0 AND s.next_at IS NOT NULL AND t.paused = 0 AND NOT {RUNNING}",
            self._clock(),
        )
        return None if wait_us is None else max(0, wait_us)

    async def runs(self, row: SeedRow, *, before: CrawlId | None = None, limit: int = 100) -> list[CrawlId]:
        rows = await self._rows.all(
            f"SELECT id FROM crawl WHERE seed = $1 AND id < $2 AND swept < {GOING} ORDER BY id DESC LIMIT $3",  # noqa: S608 - a constant
            row.id, 1 << 62 if before is None else before, limit,
        )  # fmt: skip
        return [CrawlId(number) for (number,) in rows]

    async def begin(self, site: int, key: bytes, task: JobId | None = None) -> Begin:
        before = "0" if task is None else _BEFORE
        ((changed, paused, at, earlier),) = await self._rows.all(
            f"SELECT {CHANGED}, (SELECT paused FROM site WHERE id = $1),"  # noqa: S608 - constants
            f" (SELECT at FROM collected WHERE site = $1 AND key = $2), {before}",
            site, key, *(() if task is None else (task,)),
        )  # fmt: skip
        return Begin(int(changed), bool(paused), at, int(earlier))

    async def collected(self, site: int, keys: Sequence[bytes], *, since: int = 0) -> list[bool]:
        found: set[bytes] = set()
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            found |= await self._among(site, keys[start : start + _KEYS_AT_ONCE], since)
        return [key in found for key in keys]

    async def _among(self, site: int, keys: Sequence[bytes], since: int) -> set[bytes]:
        # Padded to a power of two: few statements, each of which is prepared once.
        asked = [*keys, *[keys[-1]] * ((1 << (len(keys) - 1).bit_length()) - len(keys))]
        among = ", ".join(f"${n}" for n in range(3, len(asked) + 3))
        rows = await self._rows.all(
            f"SELECT key FROM collected WHERE site = $1 AND at >= $2 AND key IN ({among})",  # noqa: S608 - parameters
            site, since, *asked,
        )  # fmt: skip
        return {bytes(key) for (key,) in rows}

    async def keys_after(self, site: int, position: int, *, limit: int = 50_000) -> tuple[int, list[bytes]]:
        rows = await self._rows.all(
            "SELECT id, key FROM collected WHERE site = $1 AND id > $2 ORDER BY id LIMIT $3", site, position, limit
        )
        return (rows[-1][0] if rows else position), [bytes(key) for _number, key in rows]
