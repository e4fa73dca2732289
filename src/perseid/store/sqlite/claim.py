"""Claiming: which waiting jobs run next. Fair between crawls, weighted by class, breadth-first in a crawl."""

from __future__ import annotations

from collections.abc import Sequence

from perseid.model.ids import CrawlId, JobId, LockToken, WorkerId
from perseid.model.job import CLASS_WEIGHT, JobKind
from perseid.model.verdict import FailureCode
from perseid.ports.store import Lease
from perseid.store.sqlite import gates
from perseid.store.sqlite.admit import COUNTED
from perseid.store.sqlite.finish import fail_waiting
from perseid.store.sqlite.tx import Tx

_QUEUES_A_ROUND = 16
_RETRIES_A_STEP = 500
_GIVEN_UP_A_STEP = 500
_TRUST_AGAIN_AFTER_US = 3_600_000_000


def claim(
    tx: Tx,
    worker: WorkerId,
    want: int,
    *,
    kinds: Sequence[JobKind],
    lease_us: int,
    only: CrawlId | None,
) -> list[Lease]:
    """Up to `want` leases. Queues are served by turn, each advancing by what it got over its weight."""
    _retries_due(tx)
    gates.wake_hosts(tx)
    gates.wake_teams(tx)
    leases: list[Lease] = []
    while True:
        _claim_round(tx, worker, want, leases, kinds=kinds, lease_us=lease_us, only=only)
        # Lanes woken above may have met a full team since: their hosts' next waiters are to have the slots.
        if len(leases) >= want or not gates.wake_hosts(tx) + gates.wake_teams(tx):
            break
    _fail_given_up(tx)
    return leases


def _claim_round(
    tx: Tx,
    worker: WorkerId,
    want: int,
    leases: list[Lease],
    *,
    kinds: Sequence[JobKind],
    lease_us: int,
    only: CrawlId | None,
) -> None:
    """Serve the queues that can be claimed from until there are `want` leases or nothing is left."""
    classes = ",".join(str(int(kind)) for kind in kinds)
    only_clause = "" if only is None else f" AND crawl = {int(only)}"
    query = (
        "SELECT id, crawl, class, team, max_active - active, gap, turn FROM queue"  # noqa: S608 - integers only
        " WHERE ready > 0 AND parked = 0 AND closed = 0 AND active < max_active AND next_at <= ?"
        f" AND class IN ({classes}){only_clause} ORDER BY turn LIMIT {_QUEUES_A_ROUND}"
    )
    while len(leases) < want:
        queues = tx.all(query, (tx.now,))
        if not queues:
            return
        left = want - len(leases)
        weights = sum(CLASS_WEIGHT[JobKind(kind)] for _q, _c, kind, *_rest in queues)
        for queue, crawl, kind, team, room, gap, turn in queues:
            share = -(-left * CLASS_WEIGHT[JobKind(kind)] // weights)
            most = min(share, want - len(leases), room, 1 if gap else share, _team_room(tx, team))
            if most <= 0:
                if want > len(leases):
                    _park_queue(tx, queue, team)
                continue
            taken = _claim_of_queue(tx, worker, queue, crawl, team, most, lease_us)
            leases += taken
            tx.turn = max(tx.turn, turn)
            tx.execute(
                "UPDATE queue SET active = active + ?1, turn = max(turn, ?2) + ?3,"
                " next_at = CASE WHEN gap > 0 AND ?1 > 0 THEN ?4 + gap ELSE next_at END WHERE id = ?5",
                (len(taken), tx.turn, len(taken) * gates.stride(kind), tx.now, queue),
            )
            tx.execute("UPDATE team SET active = active + ? WHERE id = ?", (len(taken), team))


def _team_room(tx: Tx, team: int) -> int:
    row = tx.one("SELECT max_active - active FROM team WHERE id = ?", (team,))
    return 0 if row is None else int(row[0])


def _park_queue(tx: Tx, queue: int, team: int) -> None:
    tx.execute("UPDATE queue SET parked = 1 WHERE id = ?", (queue,))
    tx.execute("UPDATE team SET waiting = waiting + 1 WHERE id = ?", (team,))


def _claim_of_queue(
    tx: Tx, worker: WorkerId, queue: int, crawl: int, team: int, most: int, lease_us: int
) -> list[Lease]:
    """Up to `most` leases from the queue's ready lanes, the one with the oldest head first."""
    leases: list[Lease] = []
    while len(leases) < most:
        lanes = tx.all(
            "SELECT id, host, tail - head FROM lane WHERE queue = ? AND state = 1 ORDER BY ord LIMIT ?",
            (queue, most - len(leases) + 4),
        )
        if not lanes:
            break
        for lane, host, waiting in lanes:
            if len(leases) >= most:
                break
            room = _host_room(tx, host, min(waiting, most - len(leases)))
            if room < 0:
                _give_up(tx, lane, queue)
            elif room == 0:
                gates.park(tx, lane, queue, host)
            else:
                leases += _take(tx, worker, (lane, queue, host, team, crawl), room, lease_us)
    return leases


def _host_room(tx: Tx, host: int, wanted: int) -> int:
    """How many of `wanted` the host can serve now, taken from its buckets; -1 where it was given up."""
    row = tx.one(
        "SELECT max_active - active, interval, burst, open_at, gave_up_at, private FROM host WHERE id = ?", (host,)
    )
    assert row is not None
    room, interval, burst, open_at, gave_up_at, private = (int(value) for value in row)
    if gave_up_at:
        if tx.now - gave_up_at < _TRUST_AGAIN_AFTER_US:
            return -1
        gates.trust_again(tx, (host,))
    if room <= 0 or open_at > tx.now:
        return 0
    count = min(wanted, room)
    start = open_at
    if not private:
        count, start = _tokens(tx, count, interval, burst, open_at)
        if count <= 0:
            tx.execute("UPDATE host SET open_at = max(open_at, ?) WHERE id = ?", (start, host))
            return 0
    # With a gap the next request can't be due before this one's claim plus the gap, whatever becomes of it.
    tx.execute(
        "UPDATE host SET active = active + ?1, open_at = max(open_at, ?2, CASE WHEN gap > 0 THEN ?3 + gap ELSE 0 END)"
        " WHERE id = ?4",
        (count, start, tx.now, host),
    )
    return count


def _tokens(tx: Tx, wanted: int, interval: int, burst: int, open_at: int) -> tuple[int, int]:
    """Take up to `wanted` from the host's bucket and from that of all public hosts; (taken, next open_at).

    Generic cell rate algorithm: a bucket's time is that of its next request at the mean rate, and never
    lies further back than a burst.
    """
    start = tx.now
    if interval > 0:
        start = max(open_at, tx.now - (burst - 1) * interval)
        wanted = min(wanted, (tx.now - start) // interval + 1)
    step = tx.defaults.global_interval_us
    if step > 0:
        total = max(tx.global_open, tx.now - (tx.defaults.global_burst - 1) * step)
        if total > tx.now:
            return 0, total
        wanted = min(wanted, (tx.now - total) // step + 1)
        tx.global_open = total + wanted * step
    return wanted, start + wanted * interval


def _give_up(tx: Tx, lane: int, queue: int) -> None:
    tx.execute("UPDATE lane SET state = 3 WHERE id = ?", (lane,))
    tx.execute("UPDATE queue SET ready = ready - 1 WHERE id = ?", (queue,))


def _take(tx: Tx, worker: WorkerId, place: tuple[int, int, int, int, int], count: int, lease_us: int) -> list[Lease]:
    lane, queue, host, team, crawl = place
    rows = tx.all(
        "SELECT u.id, u.key, u.kind, u.url, u.depth, u.attempts, u.stalls, u.flags, u.payload, u.hops, u.seq,"
        " h.name, h.gap, h.private, h.backoffs FROM lane l JOIN url u ON u.lane = l.id AND u.seq >"
        " l.head JOIN host h ON h.id = l.host"
        " WHERE l.id = ? ORDER BY u.seq LIMIT ?",
        (lane, count + 1),
    )
    taken, following = rows[:count], rows[count:]
    expires_at = tx.now + lease_us
    leases: list[Lease] = []
    for job, key, kind, url, depth, attempts, stalls, flags, payload, hops, _seq, name, gap, private, backoffs in taken:
        leases.append(
            Lease(
                job=JobId(job),
                crawl=CrawlId(crawl),
                lock=LockToken(tx.random.getrandbits(62)),
                kind=JobKind(kind),
                url=url,
                key=key,
                depth=depth,
                host=name,
                gap_us=gap,
                attempts=attempts,
                stalls=stalls,
                counted=bool(flags & COUNTED),
                payload=payload,
                hops=hops,
                expires_at=expires_at,
                throttled=not private,
                strained=backoffs > 0,
            )
        )
    tx.executemany(
        "INSERT INTO lease (job, crawl, lock, worker, queue, lane, host, team, started_at, expires_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(lease.job, crawl, lease.lock, worker, queue, lane, host, team, tx.now, expires_at) for lease in leases],
    )
    if following:
        tx.execute("UPDATE lane SET head = ?, ord = ? WHERE id = ?", (taken[-1][10], following[0][0], lane))
    else:
        tx.execute("UPDATE lane SET head = tail, state = 0 WHERE id = ?", (lane,))
        tx.execute("UPDATE queue SET ready = ready - 1 WHERE id = ?", (queue,))
    return leases


def _retries_due(tx: Tx) -> None:
    for run_at, job, crawl_id in tx.all(
        "SELECT run_at, job, crawl FROM retry WHERE run_at <= ? ORDER BY run_at LIMIT ?",
        (tx.now, _RETRIES_A_STEP),
    ):
        tx.execute("DELETE FROM retry WHERE run_at = ? AND job = ?", (run_at, job))
        crawl = tx.crawl(crawl_id)
        if crawl is not None and crawl.running:
            gates.requeue(tx, job)


def _fail_given_up(tx: Tx) -> None:
    """URLs that wait for a host that was given up fail, some at a time."""
    room = _GIVEN_UP_A_STEP
    for lane, crawl_id, host, code in tx.all(
        "SELECT l.id, q.crawl, h.name, h.gave_up_code FROM lane l JOIN queue q ON q.id = l.queue"
        " JOIN host h ON h.id = l.host WHERE l.state = 3 LIMIT 20"
    ):
        if room <= 0:
            break
        crawl = tx.crawl(crawl_id)
        if crawl is not None and crawl.running:
            failure = FailureCode(code or FailureCode.HOST_DOWN)
            message = (
                f"{host} kept refusing with 429 or 503; its remaining pages were given up"
                if failure is FailureCode.RATE_LIMITED
                else f"{host} could not be reached; its remaining pages were given up"
            )
            room -= fail_waiting(tx, crawl, lane, code=failure, message=message, bound=room)
        tx.execute(
            "UPDATE lane SET state = CASE WHEN head < tail AND ? THEN 3 ELSE 0 END WHERE id = ?",
            (crawl is not None and crawl.running, lane),
        )
