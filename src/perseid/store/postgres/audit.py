"""Comparing what is counted with what is there, in one snapshot. It alarms and never repairs."""

from __future__ import annotations

from perseid.ports.store import AuditFinding
from perseid.store.postgres.connection import ANY_PLAN, Connection
from perseid.store.reading.checks import CHECKS, CRAWL_CHECKS, CRAWLS, PLACES

_CHECKS = (
    *CHECKS,
    "SELECT 'shelf of ready lane ' || l.id, q.shelf, l.shelf FROM lane l JOIN queue q ON q.id = l.queue"
    " WHERE l.state = 1 AND l.shelf < q.shelf",
)


async def audit(connection: Connection, *, crawls: int) -> list[AuditFinding]:
    """Every gate, and the newest `crawls` crawls; in one snapshot, which is given up between crawls."""
    findings = []
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        await connection.execute(ANY_PLAN)
        for check in _CHECKS:
            findings += [_finding(row) for row in await connection.fetch(check)]
        findings += [_finding(row) for row in await connection.fetch(PLACES) if row[1] != row[2]]
    async with connection.transaction(readonly=True):
        newest = await connection.fetch(CRAWLS, crawls)
    for (crawl,) in newest:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            for check in CRAWL_CHECKS:
                findings += [_finding(row) for row in await connection.fetch(check, crawl) if row[1] != row[2]]
    return findings


def _finding(row: tuple[str, int, int]) -> AuditFinding:
    what, expected, found = row
    return AuditFinding(what, int(expected), int(found))
