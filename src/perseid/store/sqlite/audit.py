"""Comparing what is counted with what is there, in one snapshot. It alarms and never repairs."""

from __future__ import annotations

from perseid.ports.store import AuditFinding
from perseid.store.reading.checks import CHECKS, CRAWL_CHECKS, CRAWLS, PLACES
from perseid.store.sqlite.connection import Connection


def audit(connection: Connection, *, crawls: int) -> list[AuditFinding]:
    """Every gate, and the newest `crawls` crawls; in one snapshot, which is given up between crawls."""
    findings = []
    connection.execute("BEGIN")
    try:
        findings += [AuditFinding(*row) for check in CHECKS for row in connection.execute(check)]
        findings += [AuditFinding(*row) for row in connection.execute(PLACES) if row[1] != row[2]]
    finally:
        connection.execute("COMMIT")
    for (crawl,) in list(connection.execute(CRAWLS, (crawls,))):
        connection.execute("BEGIN")
        try:
            findings += [
                AuditFinding(what, expected, found)
                for check in CRAWL_CHECKS
                for what, expected, found in connection.execute(check, (crawl,))
                if expected != found
            ]
        finally:
            connection.execute("COMMIT")
    return findings
