"""Claiming: which waiting jobs run next; the function `claim_v1` of the database decides, in one round trip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from perseid.model.ids import CrawlId, WorkerId
from perseid.model.job import JobKind
from perseid.ports.work import Lease
from perseid.store.lease import lease_of
from perseid.store.postgres.tx import PgTx

_GIVEN_UP_A_STEP = 500
_ASK_AGAIN_US = 1_000

Blocked = tuple[int | None, int | None, int | None]
"""A queue, a host and a team that others had locked, where such stood in the way."""


class Claimed(NamedTuple):
    """What one claim brought."""

    leases: list[Lease]
    wait_us: int | None = None
    """Until it is worth asking again; None when nothing waits for time."""
    blocked: Blocked | None = None
    """Nothing was got, and these rows of others are a reason: see `wait_for`."""
    given_up: bool = False
    """Jobs wait for hosts that were given up: see `fail_given_up`."""


async def claim(
    tx: PgTx,
    worker: WorkerId,
    want: int,
    *,
    kinds: Sequence[JobKind],
    lease_us: int,
    only: CrawlId | None,
    wait_for: Blocked | None = None,
) -> Claimed:
    """Up to `want` leases. Teams are served by turn, and so are the queues of a team.

    What another transaction has locked is left out; with `wait_for` those rows are waited for, which a transaction may
    do that has not locked anything yet.
    """
    rows = await tx.all(
        "SELECT * FROM claim_v1($1, $2, $3, $4, $5, $6, $7, $8)",
        worker, want, [int(kind) for kind in kinds], lease_us, only, tx.now, tx.settings, wait_for,
    )  # fmt: skip
    if not rows:
        return Claimed([])  # declared dead, or asked to go
    *found, rest = rows
    leases = [lease_of(row) for row in found]
    given_up = bool(rest["flags"])
    if leases:
        return Claimed(leases, given_up=given_up)
    blocked = (rest["crawl"], rest["lock"], rest["key"])
    if blocked == (None, None, None):
        wait_us = rest["expires_at"]
        return Claimed([], None if wait_us is None else max(wait_us, 1), None, given_up)
    return Claimed([], _ASK_AGAIN_US, blocked, given_up)


async def fail_given_up(tx: PgTx) -> int:
    """URLs that wait for a host that was given up fail, some at a time; a transaction of its own. How many."""
    return int(await tx.value("SELECT fail_given_up_v1($1, $2)", tx.now, _GIVEN_UP_A_STEP))
