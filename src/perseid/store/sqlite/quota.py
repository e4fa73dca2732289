"""Quotas, asked in the transaction that begins something: what it holds in memory counts as well."""

from __future__ import annotations

from perseid.model.crawl import CrawlKind
from perseid.store.quota import QUOTA, RESERVED, USED, Balance, period_of
from perseid.store.sqlite.tx import CrawlRow, Tx

_OTHERS = f"{RESERVED} AND id NOT IN (SELECT value FROM json_each($2))"  # noqa: S608 - constants


def afford(tx: Tx, team: int, pages: int | None) -> None:
    """Raises `QuotaExceeded` where the team has not so many pages left; None is without end."""
    row = None if pages == 0 else tx.one(QUOTA, (team,))
    if row is None or row[0] is None:
        return
    (used,) = tx.one(USED, (team, period_of(tx.now))) or (0,)
    held = tx.changed()
    (reserved,) = tx.one(_OTHERS, (team, f"[{','.join(str(crawl.id) for crawl in held)}]")) or (0,)
    reserved += sum(_reserved(crawl) for crawl in held if crawl.team == team and crawl.running)
    Balance(row[0], used + tx.used[team], reserved).afford(pages, tx.now)


def _reserved(crawl: CrawlRow) -> int:
    if crawl.kind == CrawlKind.MAP:
        return 0
    most = crawl.discovered if crawl.max_pages is None else crawl.max_pages
    return most - crawl.done - crawl.failed - crawl.duplicate - crawl.denied - crawl.cancelled
