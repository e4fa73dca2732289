"""The processes that work: they enrol, show life, and are asked to go."""

from __future__ import annotations

from collections.abc import Sequence

from perseid.model.ids import WorkerId
from perseid.model.job import JobKind
from perseid.ports.store import Beat, Drain, WorkerSeen
from perseid.store.schema import clean
from perseid.store.sqlite.lifecycle import ended_crawls_of
from perseid.store.sqlite.tx import Tx


def register(
    tx: Tx, host: str, pid: int, pid_started: int, *, slots: int, version: str, kinds: Sequence[JobKind]
) -> WorkerId:
    row = tx.one(
        "INSERT INTO worker (host, pid, pid_started, slots, version, kinds) VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
        (clean(host), pid, pid_started, slots, version, sum(1 << kind for kind in set(kinds))),
    )
    assert row is not None
    return WorkerId(row[0])


def claims(tx: Tx, worker: WorkerId) -> bool:
    """Whether it may be given work: neither declared dead nor asked to go."""
    return tx.one("SELECT 1 FROM worker WHERE id = ? AND drain = 0", (worker,)) is not None


def beat(tx: Tx, worker: WorkerId) -> Beat | None:
    row = tx.one("UPDATE worker SET beat = beat + 1 WHERE id = ? RETURNING drain", (worker,))
    return None if row is None else Beat(ended_crawls_of(tx, worker), Drain(row[0]))


def drain(tx: Tx, worker: WorkerId, how: Drain) -> bool:
    row = tx.one("UPDATE worker SET drain = ? WHERE id = ? AND slots > 0 RETURNING id", (int(how), worker))
    return row is not None


def seen(tx: Tx) -> list[WorkerSeen]:
    return [
        WorkerSeen(WorkerId(number), host, pid, started, beats, slots, version, kinds, Drain(how))
        for number, host, pid, started, beats, slots, version, kinds, how in tx.all(
            "SELECT id, host, pid, pid_started, beat, slots, version, kinds, drain FROM worker ORDER BY id"
        )
    ]
