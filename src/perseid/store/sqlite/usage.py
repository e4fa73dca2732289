"""What teams use, counted in the transaction that stores the pages."""

from __future__ import annotations

from collections.abc import Mapping

from perseid.store.quota import period_of
from perseid.store.sqlite.connection import Connection


def count_pages(connection: Connection, now: int, pages: Mapping[int, int]) -> None:
    """These came home, by team."""
    period = period_of(now)
    connection.executemany(
        "INSERT INTO usage (team, period, pages, last_at) VALUES (?1, ?2, ?3, ?4)"
        " ON CONFLICT (team, period) DO UPDATE SET pages = pages + ?3, last_at = max(last_at, ?4)",
        [(team, period, count, now) for team, count in pages.items()],
    )
