"""Blocks of slots that are handed out beside the database, and buckets of those who ask too often."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TypeVar

from perseid.model.ids import WorkerId
from perseid.ports.limit import Block, Gate, GateKind
from perseid.store.sqlite import gates
from perseid.store.sqlite.claim import host_room
from perseid.store.sqlite.tx import Tx

T = TypeVar("T")


class SqliteBlocks:
    """The part of the store that leases slots in blocks."""

    @abstractmethod
    async def _write(self, work: Callable[[Tx], T], *, synced: bool = False) -> T: ...

    async def lease_block(self, worker: WorkerId, gate: Gate, want: int, *, lease_us: int) -> Block | None:
        return await self._write(lambda tx: lease_block(tx, worker, gate, want, lease_us))

    async def keep_block(self, block: int, size: int, *, lease_us: int) -> bool:
        return await self._write(lambda tx: keep_block(tx, block, size, lease_us))

    async def take_token(self, key: str, interval_us: int, burst: int, *, empty_for_us: int | None = None) -> int:
        return await self._write(lambda tx: take_token(tx, key, interval_us, burst, empty_for_us))


def lease_block(tx: Tx, worker: WorkerId, gate: Gate, want: int, lease_us: int) -> Block | None:
    if want < 1 or tx.one("SELECT 1 FROM worker WHERE id = ?", (worker,)) is None:
        return None
    host = team = None
    if gate.kind is GateKind.HOST:
        host = gates.host_ids(tx, (gate.name,))[gate.name]
        size, once = _host_slots(tx, host, want)
    else:
        team, once = int(gate.name), False
        size = min(want, (gates.know_team(tx, team) + 1) // 2)
        if size > 0:
            tx.execute("UPDATE team SET active = active + ? WHERE id = ?", (size, team))
    if size <= 0:
        return None
    row = tx.one(
        "INSERT INTO block (host, team, size, worker, expires_at) VALUES (?, ?, ?, ?, ?) RETURNING id",
        (host, team, size, worker, tx.now + lease_us),
    )
    assert row is not None
    return Block(row[0], size, once)


def _host_slots(tx: Tx, host: int, want: int) -> tuple[int, bool]:
    """Slots taken of it, and whether each is one request."""
    row = tx.one(
        "SELECT max_active - active, waiting, gap > 0 OR NOT private OR own_interval IS NOT NULL FROM host"
        " WHERE id = ?",
        (host,),
    )
    assert row is not None
    room, waiting, once = row
    if waiting or room <= 0:
        return 0, bool(once)
    return host_room(tx, host, 1 if once else min(want, (room + 1) // 2)), bool(once)


def keep_block(tx: Tx, block: int, size: int, lease_us: int) -> bool:
    row = tx.one("SELECT host, team, size FROM block WHERE id = ? AND expires_at > ?", (block, tx.now))
    if row is None:
        return False
    host, team, had = row
    size = max(0, min(size, had))
    if size:
        tx.execute("UPDATE block SET size = ?, expires_at = ? WHERE id = ?", (size, tx.now + lease_us, block))
    else:
        tx.execute("DELETE FROM block WHERE id = ?", (block,))
    _free(tx, host, team, had - size)
    return True


def reap_blocks(tx: Tx) -> None:
    """End those past their expiry, and no others: permits of one whose leaser died may be in use elsewhere."""
    for host, team, size in tx.all("DELETE FROM block WHERE expires_at <= ? RETURNING host, team, size", (tx.now,)):
        _free(tx, host, team, size)


def _free(tx: Tx, host: int | None, team: int | None, count: int) -> None:
    if count and host is not None:
        tx.freed_hosts[host] += count
    elif count and team is not None:
        tx.freed_teams[team] += count


def take_token(tx: Tx, key: str, interval: int, burst: int, empty_for_us: int | None) -> int:
    row = tx.one("SELECT full_at FROM bucket WHERE key = ?", (key,))
    full_at = 0 if row is None else min(row[0], tx.now + burst * interval)
    if row is not None and row[0] > full_at:
        # A clock that was set back shuts nobody out for longer than the bucket takes to fill.
        tx.execute("UPDATE bucket SET full_at = ? WHERE key = ?", (full_at, key))
    begun_at = 0 if empty_for_us is None else tx.now - max(0, empty_for_us) + burst * interval
    full_at = max(full_at, begun_at, tx.now)
    wait: int = full_at - (burst - 1) * interval - tx.now
    if wait > 0:
        return wait
    tx.execute("INSERT OR REPLACE INTO bucket (key, full_at) VALUES (?, ?)", (key, full_at + interval))
    return 0
