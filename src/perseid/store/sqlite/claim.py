"""Claiming: which waiting jobs run next. Fair between teams, then between the crawls of a team, weighted by class,
breadth-first in a crawl.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from perseid.model.ids import CrawlId, WorkerId
from perseid.model.job import JobKind
from perseid.model.verdict import FailureCode
from perseid.ports.work import Lease
from perseid.store.lease import lease_of
from perseid.store.sqlite import gates
from perseid.store.sqlite.finish import fail_waiting
from perseid.store.sqlite.tx import Tx

_TEAMS_A_ROUND = 16
_QUEUES_A_ROUND = 16
_RETRIES_A_STEP = 500
_GIVEN_UP_A_STEP = 500
_TRUST_AGAIN_AFTER_US = 3_600_000_000
_LOCK_BITS = 62
_LOCK_MASK = (1 << _LOCK_BITS) - 1
_ALL_STRIDES = 423_360
"""What each `queue.stride` divides."""
_OPEN = "ready > 0 AND closed = 0 AND active < max_active"
"""Of a queue: it has work, and slots of its own."""


class Taker(NamedTuple):
    """Who claims, and what of."""

    worker: WorkerId
    kinds: Sequence[JobKind]
    lease_us: int


class Turn(NamedTuple):
    """A queue whose turn it is."""

    queue: int
    crawl: int
    room: int
    gap: int
    turn: int
    stride: int

    @property
    def weight(self) -> int:
        """The less virtual time a claim takes, the more it gets of them."""
        return _ALL_STRIDES // self.stride


def claim(
    tx: Tx,
    worker: WorkerId,
    want: int,
    *,
    kinds: Sequence[JobKind],
    lease_us: int,
    only: CrawlId | None,
) -> list[Lease]:
    """Up to `want` leases. Teams are served by turn, and so are the queues of a team.

    Each advances by what it got, a queue by that over its weight.
    """
    taker = Taker(worker, kinds, lease_us)
    _retries_due(tx)
    gates.wake_hosts(tx)
    leases: list[Lease] = []
    while True:
        tx.stir_teams()
        if only is None:
            _claim_of_all(tx, taker, want, leases)
        else:
            _claim_of_crawl(tx, taker, want, leases, only)
        # Lanes woken above may have met a full team since: their hosts' next waiters are to have the slots.
        if len(leases) >= want or not gates.wake_hosts(tx):
            break
    _fail_given_up(tx)
    return leases


def _claim_of_all(tx: Tx, taker: Taker, want: int, leases: list[Lease]) -> None:
    """Serve the teams that can be claimed from until there are `want` leases or nothing is left."""
    while len(leases) < want:
        # Teams that only wait for a time may be many: they are passed over in here, not one by one.
        teams = tx.all(
            "SELECT id, clock, max_active - active FROM team WHERE ready = 1 AND active < max_active AND EXISTS"  # noqa: S608 - integers only
            f" (SELECT 1 FROM queue WHERE team = team.id AND {_OPEN} AND next_at <= ?{_of_kinds(taker)})"
            " ORDER BY turn LIMIT ?",
            (tx.now, _TEAMS_A_ROUND),
        )
        if not teams:
            _rest(tx)
            return
        share = -(-(want - len(leases)) // len(teams))
        for team, clock, room in teams:
            most = min(share, want - len(leases), room)
            if most <= 0:
                break
            leases += _serve(tx, taker, (team, clock), _turns(tx, taker, f"team = {int(team)}", most), most)


def _claim_of_crawl(tx: Tx, taker: Taker, want: int, leases: list[Lease], only: CrawlId) -> None:
    crawl = tx.crawl(only)
    if crawl is None:
        return
    while len(leases) < want:
        ((clock, room),) = tx.all("SELECT clock, max_active - active FROM team WHERE id = ?", (crawl.team,))
        most = min(want - len(leases), room)
        turns = _turns(tx, taker, f"crawl = {int(only)}", max(0, most))
        if not turns:
            return
        leases += _serve(tx, taker, (crawl.team, clock), turns, most)


def _turns(tx: Tx, taker: Taker, whose: str, most: int) -> list[Turn]:
    """Queues that can be claimed from, in their order; `whose` they are is a condition on integers."""
    rows = tx.all(
        f"SELECT id, crawl, max_active - active, gap, turn, stride FROM queue WHERE {whose}"  # noqa: S608 - integers only
        f" AND {_OPEN} AND next_at <= ?{_of_kinds(taker)} ORDER BY turn LIMIT ?",
        (tx.now, min(_QUEUES_A_ROUND, most)),
    )
    return [Turn(*row) for row in rows]


def _of_kinds(taker: Taker) -> str:
    if len(taker.kinds) == len(JobKind):
        # All we know; while a fleet is upgraded there may be others.
        return f" AND class < {len(JobKind)}"
    return f" AND class IN ({','.join(str(int(kind)) for kind in taker.kinds)})"


def _rest(tx: Tx) -> None:
    """Nothing could be claimed. Teams for which that is neither for the time nor for the kinds asked are left out."""
    tx.execute(
        "UPDATE team SET ready = 0 WHERE ready = 1 AND active < max_active"  # noqa: S608 - a constant
        f" AND NOT EXISTS (SELECT 1 FROM queue WHERE team = team.id AND {_OPEN})"
    )


def _serve(tx: Tx, taker: Taker, place: tuple[int, int], turns: Sequence[Turn], most: int) -> list[Lease]:
    """Up to `most` leases of these queues of one team at its clock, each its share by its weight."""
    leases: list[Lease] = []
    team, clock = place
    weights = sum(it.weight for it in turns)
    for it in turns:
        share = -(-most * it.weight // weights)
        fits = min(share, most - len(leases), it.room, 1 if it.gap else share)
        if fits <= 0:
            break
        taken = _claim_of_queue(tx, taker, it, team, fits)
        leases += taken
        clock = max(clock, it.turn)
        tx.execute(
            "UPDATE queue SET active = active + ?1, turn = max(turn, ?2) + ?3,"
            " next_at = CASE WHEN gap > 0 AND ?1 > 0 THEN ?4 + gap ELSE next_at END WHERE id = ?5",
            (len(taken), clock, len(taken) * it.stride, tx.now, it.queue),
        )
    gates.charge_team(tx, team, len(leases), clock)
    return leases


def _claim_of_queue(tx: Tx, taker: Taker, it: Turn, team: int, most: int) -> list[Lease]:
    """Up to `most` leases from the queue's ready lanes, the one with the oldest head first."""
    leases: list[Lease] = []
    while len(leases) < most:
        lanes = tx.all(
            "SELECT id, host, tail - head FROM lane WHERE queue = ? AND state = 1 ORDER BY ord LIMIT ?",
            (it.queue, most - len(leases) + 4),
        )
        if not lanes:
            break
        for lane, host, waiting in lanes:
            if len(leases) >= most:
                break
            room = host_room(tx, host, min(waiting, most - len(leases)))
            if room < 0:
                _give_up(tx, lane, it.queue)
            elif room == 0:
                gates.park(tx, lane, it.queue, host)
            else:
                leases += _take(tx, taker, (lane, it.queue, host, team, it.crawl), room)
    return leases


def host_room(tx: Tx, host: int, wanted: int) -> int:
    """How many of `wanted` the host can serve now, taken from its buckets; -1 where it was given up."""
    row = tx.one(
        "SELECT max_active - active, interval, burst, open_at, gave_up_at, private AND own_interval IS NULL,"
        " paused_until FROM host WHERE id = ?",
        (host,),
    )
    assert row is not None
    room, interval, burst, open_at, gave_up_at, free, paused_until = (int(value) for value in row)
    if gave_up_at:
        if tx.now - gave_up_at < _TRUST_AGAIN_AFTER_US:
            return -1
        gates.trust_again(tx, (host,))
    if room <= 0 or open_at > tx.now or paused_until > tx.now:
        return 0
    count = min(wanted, room)
    start = open_at
    if not free:
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


def _take(tx: Tx, taker: Taker, place: tuple[int, int, int, int, int], count: int) -> list[Lease]:
    lane, queue, host, team, crawl = place
    rows = tx.all(
        "SELECT u.id, u.kind, u.url, u.key, u.depth, u.attempts, u.stalls, u.flags, u.payload, u.hops,"
        " h.name, h.gap, h.private, h.backoffs, u.seq FROM lane l JOIN url u ON u.lane = l.id AND u.seq >"
        " l.head JOIN host h ON h.id = l.host"
        " WHERE l.id = ? ORDER BY u.seq LIMIT ?",
        (lane, count + 1),
    )
    taken, following = rows[:count], rows[count:]
    expires_at = tx.now + taker.lease_us
    leases: list[Lease] = []
    locks = tx.random.getrandbits(_LOCK_BITS * len(taken))  # one question to the system for all
    for job, kind, url, key, depth, attempts, stalls, flags, payload, hops, name, gap, private, backoffs, _seq in taken:
        lock = locks & _LOCK_MASK
        leases.append(
            lease_of(
                (
                    job, crawl, lock, kind, url, key, depth, attempts, stalls, flags, payload, hops, name, gap, private,
                    backoffs, expires_at,
                )
            )
        )  # fmt: skip
        locks >>= _LOCK_BITS
    tx.executemany(
        "INSERT INTO lease (job, crawl, lock, worker, queue, lane, host, team, started_at, expires_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(lease.job, crawl, lease.lock, taker.worker, queue, lane, host, team, tx.now, expires_at) for lease in leases],
    )
    if following:
        tx.execute("UPDATE lane SET head = ?, ord = ? WHERE id = ?", (taken[-1][-1], following[0][0], lane))
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
