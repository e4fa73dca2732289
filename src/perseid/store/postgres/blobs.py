"""Large bodies in the database itself, so that many machines need no folder that all of them see."""

from __future__ import annotations

from perseid.errors import NotFound, StoreError
from perseid.store.postgres.known import Write
from perseid.store.postgres.tx import PgTx
from perseid.store.reading.rows import Rows

PART_BYTES = 1 << 20
"""A body lies in rows of so much."""
_PARTS_AT_ONCE = 8
_ROWS_A_ROUND = 500
_READINGS = 5


def _place(path: str) -> tuple[int, str]:
    """The crawl, and the name under it."""
    crawl, _, name = path.partition("/")
    if not (crawl.isascii() and crawl.isdecimal() and name):
        raise StoreError(f"a body lies under the number of its crawl, as in 12/345/document, not under {path!r}")
    return int(crawl), name


class PgBlobs:
    """`Blobs`. A body is committed before the page that names it, so whatever shows the page shows its body."""

    def __init__(self, write: Write, rows: Rows) -> None:
        self._write = write
        self._rows = rows

    async def put(self, path: str, data: bytes) -> None:
        crawl, name = _place(path)
        parts = [data[at : at + PART_BYTES] for at in range(0, max(1, len(data)), PART_BYTES)]

        async def work(tx: PgTx) -> None:
            version = tx.random.getrandbits(62)
            # Two who write the same body do so one after the other, or parts of both would be left.
            await tx.value("SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", path)
            await tx.execute("DELETE FROM blob WHERE crawl = $1 AND name = $2", crawl, name)
            await tx.executemany(
                "INSERT INTO blob (crawl, name, part, parts, version, body) VALUES ($1, $2, $3, $4, $5, $6)",
                [(crawl, name, number, len(parts), version, part) for number, part in enumerate(parts)],
            )

        await self._write(work)

    async def get(self, path: str) -> bytes:
        crawl, name = _place(path)
        for _ in range(_READINGS):
            found = await self._read(crawl, name)
            if found is not None:
                return found
        raise StoreError(f"the body {path} is written again and again while it is read; try again")

    async def _read(self, crawl: int, name: str) -> bytes | None:
        """None where another version came in between."""
        pieces: list[bytes] = []
        versions: set[int] = set()
        wanted = 1
        while len(pieces) < wanted:
            rows = await self._rows.all(
                "SELECT part, parts, version, body FROM blob WHERE crawl = $1 AND name = $2 AND part >= $3"
                " ORDER BY part LIMIT $4",
                crawl, name, len(pieces), _PARTS_AT_ONCE,
            )  # fmt: skip
            if not rows and not pieces:
                raise NotFound(f"no body {crawl}/{name} in {self._rows.place}")
            for part, parts, version, body in rows:
                versions.add(version)
                if part != len(pieces) or len(versions) > 1:
                    return None
                wanted = parts
                pieces.append(body)
            if not rows:
                return None
        return b"".join(pieces)

    async def prefixes(self, *, after: int = 0, limit: int | None = None) -> list[int]:
        rows = await self._rows.all(
            "WITH RECURSIVE p (crawl, n) AS ((SELECT crawl, 1::bigint FROM blob WHERE crawl > $1 ORDER BY 1 LIMIT 1)"
            " UNION ALL SELECT (SELECT b.crawl FROM blob b WHERE b.crawl > p.crawl ORDER BY b.crawl LIMIT 1), p.n + 1"
            " FROM p WHERE p.crawl IS NOT NULL AND ($2::bigint IS NULL OR p.n < $2))"
            " SELECT crawl FROM p WHERE crawl IS NOT NULL",
            after,
            limit,
        )
        return [row[0] for row in rows]

    async def delete_prefix(self, prefix: str) -> int:
        crawl = int(prefix)

        async def work(tx: PgTx) -> tuple[int, int]:
            row = await tx.one(
                "WITH gone AS (DELETE FROM blob WHERE ctid = ANY (ARRAY(SELECT ctid FROM blob WHERE crawl = $1"
                " LIMIT $2)) RETURNING part) SELECT count(*), count(*) FILTER (WHERE part = 0) FROM gone",
                crawl,
                _ROWS_A_ROUND,
            )
            return (0, 0) if row is None else (row[0], row[1])

        bodies, rows = 0, _ROWS_A_ROUND
        while rows == _ROWS_A_ROUND:
            rows, whole = await self._write(work)
            bodies += whole
        return bodies
