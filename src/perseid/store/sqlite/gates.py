"""The rows that say who may run: hosts, queues, lanes. Making them, freeing them, waking what waits there.

A lane whose host has no room is parked (state 2) instead of being passed over again and again. A host
with waiters and room stands in the partial index `host_wakeable`; every claim empties that index first,
so a waiter never outlasts the next claim.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from perseid.model.job import CLASS_WEIGHT, JobKind
from perseid.ports.store import HostDefaults
from perseid.ports.work import HostNote
from perseid.store.schema import PAUSED, UNLIMITED
from perseid.store.sqlite.connection import Connection, transaction
from perseid.store.sqlite.tx import CrawlRow, Tx

EMPTY, READY, PARKED, GIVEN_UP = 0, 1, 2, 3
_WAKE_PASSED_ALONG = 1_000
TURN = 840
"""One claim's worth of virtual time; divided by five times the class's weight it stays whole."""


def host_ids(tx: Tx, names: Iterable[str], *, shy: bool = False) -> dict[str, int]:
    """The rows of these hosts, made where they are missing.

    A `shy` one takes one request at a time until the first is over: only then its crawl-delay is known, and
    two crawls that begin at once must not break it with their first requests.
    """
    found: dict[str, int] = {}
    for name in sorted(set(names)):
        row = tx.one("SELECT id FROM host WHERE name = ?", (name,))
        if row is None:
            # Without a name nobody is asked, and nothing holds it back: as at a private address.
            most = UNLIMITED if not name else 1 if shy else tx.defaults.max_active
            row = tx.one(
                "INSERT INTO host (name, shy, private, max_active, interval, burst) VALUES (?, ?, ?, ?, ?, ?)"
                " RETURNING id",
                (name, int(shy and name != ""), int(not name), most, tx.defaults.interval_us, tx.defaults.burst),
            )
        assert row is not None
        found[name] = row[0]
    return found


def know_team(tx: Tx, team: int) -> int:
    """Pages the team may have in flight beside those it has; a team nobody made has no limit."""
    row = tx.one("SELECT max_active - active FROM team WHERE id = ?", (team,))
    if row is None:
        tx.execute("INSERT INTO team (id, max_active) VALUES (?, ?)", (team, UNLIMITED))
        return UNLIMITED
    return int(row[0])


def charge_team(tx: Tx, team: int, count: int, clock: int = 0) -> None:
    """A team got `count` leases: it moves back by as many turns. `clock` is the latest turn of its queues served."""
    row = tx.one(
        "UPDATE team SET active = active + ?1, clock = max(clock, ?2), turn = max(turn, ?3) + ?4 WHERE id = ?5"
        " RETURNING turn",
        (count, clock, tx.turn, count * TURN, team),
    )
    if row is not None:
        tx.turn = max(tx.turn, row[0] - count * TURN)


def queue_id(tx: Tx, crawl: CrawlRow, kind: JobKind) -> int:
    row = tx.one("SELECT id FROM queue WHERE crawl = ? AND class = ?", (crawl.id, int(kind)))
    if row is None:
        own = kind in (JobKind.PAGE, JobKind.TASK)
        # One at a time with a pause, where the crawl has a delay (as Firecrawl does).
        row = tx.one(
            "INSERT INTO queue (crawl, class, team, max_active, gap, turn, closed, stride)"
            " SELECT id, ?1, team, CASE WHEN ?2 AND gap > 0 THEN 1 WHEN ?2 THEN coalesce(max_active, ?3) ELSE ?3 END,"
            "  CASE WHEN ?2 THEN gap ELSE 0 END, (SELECT clock FROM team WHERE team.id = crawl.team), paused * ?5,"
            "  (10 - priority) * ?6"
            " FROM crawl WHERE id = ?4 RETURNING id",
            (int(kind), own, UNLIMITED, crawl.id, PAUSED, TURN // (5 * CLASS_WEIGHT[kind])),
        )
        crawl.swept = 0
        crawl.dirty = True
    assert row is not None
    queue: int = row[0]
    return queue


def append(tx: Tx, queue: int, host: int, jobs: list[int]) -> tuple[int, int]:
    """Make room for `jobs` at the end of the (queue, host) lane; (lane, first position)."""
    lane, head, tail, state = tx.one(
        "INSERT INTO lane (queue, host, tail, ord) VALUES (?1, ?2, ?3, ?4)"
        " ON CONFLICT (queue, host) DO UPDATE SET tail = tail + ?3,"
        "  ord = CASE WHEN state = 0 THEN ?4 ELSE ord END"
        " RETURNING id, head, tail, state",
        (queue, host, len(jobs), jobs[0]),
    ) or (0, 0, 0, 0)
    if state == EMPTY:
        tx.execute("UPDATE lane SET state = 1 WHERE id = ?", (lane,))
        lane_ready(tx, queue)
    assert head <= tail
    return lane, tail - len(jobs) + 1


def lane_ready(tx: Tx, queue: int) -> None:
    """One more lane of this queue can be claimed; a queue that was idle joins at its team's present turn."""
    row = tx.one(
        "UPDATE queue SET ready = ready + 1, turn = CASE WHEN ready = 0"
        "  THEN max(turn, (SELECT clock FROM team WHERE team.id = queue.team)) ELSE turn END"
        " WHERE id = ? RETURNING team, ready",
        (queue,),
    )
    if row is not None and row[1] == 1:
        tx.stirred_teams.add(row[0])


def requeue(tx: Tx, job: int, *, host: int | None = None) -> None:
    """Put a job that has not ended back to waiting, perhaps on another host's lane."""
    row = tx.one("SELECT crawl, kind, host FROM url WHERE id = ?", (job,))
    if row is None:
        return
    crawl = tx.crawl(row[0])
    assert crawl is not None
    host = row[2] if host is None else host
    lane, seq = append(tx, queue_id(tx, crawl, JobKind(row[1])), host, [job])
    tx.execute("UPDATE url SET host = ?, lane = ?, seq = ? WHERE id = ?", (host, lane, seq, job))


def move(tx: Tx, job: int, host: int) -> None:
    """Let a job that waits for its time return to another host's lane."""
    tx.execute("UPDATE url SET seq = NULL, host = ? WHERE id = ?", (host, job))


def park(tx: Tx, lane: int, queue: int, host: int) -> None:
    tx.execute("UPDATE lane SET state = 2, parked_at = ? WHERE id = ?", (tx.now, lane))
    tx.execute("UPDATE queue SET ready = ready - 1 WHERE id = ?", (queue,))
    tx.execute("UPDATE host SET waiting = waiting + 1 WHERE id = ?", (host,))


def settle(tx: Tx, lane: int) -> None:
    """A lane was emptied without being claimed from: take it out of the gate it stood at."""
    queue, host, state, head, tail = (
        tx.one("SELECT queue, host, state, head, tail FROM lane WHERE id = ?", (lane,)) or (0,) * 5
    )
    if head < tail:
        return
    if state == READY:
        tx.execute("UPDATE queue SET ready = ready - 1 WHERE id = ?", (queue,))
    elif state == PARKED:
        tx.execute("UPDATE host SET waiting = waiting - 1 WHERE id = ?", (host,))
    tx.execute("UPDATE lane SET state = 0 WHERE id = ?", (lane,))


def wake_hosts(tx: Tx, *, bound: int = 500) -> int:
    """Wake, at each host with room, as many of its longest-waiting lanes as it can serve; lanes woken.

    Lanes of queues that are full themselves are woken along the way: they can't use the slot, and the
    next one in line must not wait for them.
    """
    woken = 0
    for host, room in tx.all(
        "SELECT id, max_active - active FROM host WHERE waiting > 0 AND active < max_active"
        " AND open_at <= ?1 AND paused_until <= ?1 LIMIT ?2",
        (tx.now, bound),
    ):
        runnable = 0
        lanes = tx.all(
            "SELECT l.id, l.queue, q.active < q.max_active AND q.closed = 0 AND t.active < t.max_active FROM"
            " lane l JOIN queue q ON q.id = l.queue JOIN team t ON t.id = q.team"
            " WHERE l.host = ? AND l.state = 2 ORDER BY l.parked_at LIMIT ?",
            (host, min(room, _WAKE_PASSED_ALONG) + _WAKE_PASSED_ALONG),
        )
        passed = 0
        for lane, queue, can_run in lanes:
            if runnable >= room:
                break
            tx.execute("UPDATE lane SET state = 1 WHERE id = ?", (lane,))
            lane_ready(tx, queue)
            runnable += can_run
            passed += 1
        tx.execute("UPDATE host SET waiting = waiting - ? WHERE id = ?", (passed, host))
        woken += passed
    return woken


def wake_sleeping(tx: Tx) -> int:
    """Safety net: lanes and teams that hold work though they are marked empty. Finding one means a bug elsewhere."""
    lanes = tx.all(
        "SELECT l.id, l.queue FROM lane l JOIN queue q ON q.id = l.queue"
        " WHERE l.state = 0 AND l.head < l.tail AND q.closed = 0 LIMIT 1000"
    )
    for lane, queue in lanes:
        tx.execute("UPDATE lane SET state = 1 WHERE id = ?", (lane,))
        lane_ready(tx, queue)
    teams = tx.all(
        "UPDATE team SET ready = 1 WHERE ready = 0 AND EXISTS (SELECT 1 FROM queue q WHERE q.team = team.id"
        " AND q.ready > 0 AND q.closed = 0 AND q.active < q.max_active) RETURNING id"
    )
    return len(lanes) + len(teams)


def pause(tx: Tx, crawl: CrawlRow, *, paused: bool) -> bool:
    """Nothing of a running crawl is claimed until it is let go; whether that changed. It keeps no old turns."""
    if tx.one("UPDATE crawl SET paused = ?1 WHERE id = ?2 AND paused <> ?1 RETURNING id", (paused, crawl.id)) is None:
        return False
    tx.execute(
        "UPDATE queue SET closed = ?1, turn = max(turn, (SELECT clock FROM team WHERE team.id = queue.team))"
        " WHERE crawl = ?2 AND closed = ?3",
        (PAUSED * paused, crawl.id, PAUSED * (not paused)),
    )
    tx.stirred_teams.add(crawl.team)
    return True


def note_host(tx: Tx, note: HostNote, started_at: int) -> None:
    """Take in what a job learnt about a host; `started_at` is when its lease began."""
    if not note.host:
        return
    host = host_ids(tx, (note.host,))[note.host]
    if note.private is not None:
        tx.execute("UPDATE host SET private = ?1 WHERE id = ?2 AND private <> ?1", (int(note.private), host))
    if note.gap_us is not None:
        tx.execute("UPDATE host SET gap = ? WHERE id = ?", (max(0, note.gap_us), host))
    if note.private is not None or note.gap_us is not None:
        set_room(tx, host)
    if note.request_age_us is not None:
        tx.execute(
            "UPDATE host SET open_at = max(open_at, ? + gap) WHERE id = ? AND gap > 0",
            (tx.now - max(0, note.request_age_us), host),
        )
    if note.throttled or note.down:
        _back_off(tx, host, note, started_at)
    elif note.answered:
        tx.execute(
            "UPDATE host SET backoffs = 0, backoff_since = 0, gave_up_at = 0 WHERE id = ? AND backoffs > 0",
            (host,),
        )


def take_settings(connection: Connection, path: Path, defaults: HostDefaults) -> None:
    """The operator's rates and limits hold for hosts known from earlier, too."""
    wanted = (defaults.interval_us, defaults.burst, defaults.max_active)
    clause = (
        "(interval <> ?1 AND own_interval IS NULL) OR burst <> ?2"
        " OR (max_active <> ?3 AND gap = 0 AND NOT shy AND NOT private AND own_max IS NULL)"
    )
    if connection.execute(f"SELECT 1 FROM host WHERE {clause} LIMIT 1", wanted).fetchone() is None:  # noqa: S608 - a constant
        return
    with transaction(connection, path):
        connection.execute(
            "UPDATE host SET interval = coalesce(own_interval, ?1), burst = ?2, max_active = CASE"
            " WHEN gap > 0 OR shy THEN 1 WHEN own_max IS NOT NULL OR private THEN max_active ELSE ?3 END",
            wanted,
        )


def met(tx: Tx, host: int) -> None:
    """A job at this host is over: what it has to say about itself has been heard."""
    if tx.one("UPDATE host SET shy = 0 WHERE id = ? AND shy RETURNING id", (host,)) is not None:
        set_room(tx, host)


def set_room(tx: Tx, host: int) -> None:
    tx.execute(
        "UPDATE host SET max_active = CASE WHEN gap > 0 OR shy THEN 1 WHEN own_max IS NOT NULL THEN own_max"
        " WHEN private THEN ? ELSE ? END WHERE id = ?",
        (UNLIMITED, tx.defaults.max_active, host),
    )


def _back_off(tx: Tx, host: int, note: HostNote, started_at: int) -> None:
    row = tx.one("SELECT backoffs, backoff_since, backoff_at, open_at FROM host WHERE id = ?", (host,))
    assert row is not None
    backoffs, since, last, open_at = row
    longest = tx.defaults.max_backoff_us
    asked = min(note.retry_after_us, longest) if note.retry_after_us and note.retry_after_us > 0 else None
    if backoffs and started_at <= last:
        # Sent before the last back-off began: the same refusal once more, not a further one.
        if asked is not None and tx.now + asked > open_at:
            tx.execute("UPDATE host SET open_at = ? WHERE id = ?", (tx.now + asked, host))
        return
    backoffs += 1
    since = since or tx.now
    pause = asked if asked is not None else min(1_000_000 * 2 ** min(backoffs - 1, 20), longest)
    # Spread over hosts and time, and the same when the same happens again: no test depends on luck.
    pause += (host * 2_654_435_761 + tx.now) % (pause // 4 + 1)
    tx.execute(
        "UPDATE host SET backoffs = ?, backoff_since = ?, backoff_at = ?, open_at = max(open_at, ?) WHERE id = ?",
        (backoffs, since, tx.now, tx.now + pause, host),
    )
    if backoffs >= tx.defaults.give_up_after or tx.now - since >= tx.defaults.give_up_after_us:
        tx.execute(
            "UPDATE host SET gave_up_at = ?, gave_up_code = ? WHERE id = ?",
            (tx.now, "rate_limited" if note.throttled else "host_down", host),
        )
        tx.execute("UPDATE lane SET state = 3 WHERE host = ? AND state = 2", (host,))
        tx.execute("UPDATE host SET waiting = 0 WHERE id = ?", (host,))


def trust_again(tx: Tx, hosts: Iterable[int]) -> None:
    """A new crawl names these hosts: what was given up, or backed off from long ago, gets a fresh start."""
    tx.executemany(
        "UPDATE host SET gave_up_at = 0, backoffs = 0, backoff_since = 0"
        " WHERE id = ? AND (gave_up_at > 0 OR (backoffs > 0 AND open_at <= ?))",
        [(host, tx.now) for host in hosts],
    )


def mend_times(tx: Tx) -> None:
    """The clock was set back: what waits for a time that no rule could have set may go on now."""
    horizon = tx.now + 2 * max(tx.defaults.max_backoff_us, 60_000_000)
    tx.execute("UPDATE host SET open_at = ?1 + gap WHERE open_at > ?2 + gap AND waiting > 0", (tx.now, horizon))
    tx.execute("UPDATE queue SET next_at = ?1 + gap WHERE next_at > ?1 + 2 * gap AND gap > 0", (tx.now,))
    tx.execute("UPDATE OR IGNORE retry SET run_at = ?1 WHERE run_at > ?2", (tx.now, horizon))
    tx.global_open = min(tx.global_open, tx.now + 60_000_000)


def next_wake(tx: Tx) -> int | None:
    """µs until something that waits for time alone could be claimed; None when nothing does."""
    row = tx.one(
        "SELECT min(at) FROM ("
        " SELECT min(open_at) AS at FROM host WHERE waiting > 0 AND active < max_active AND paused_until <= ?1"
        " UNION ALL SELECT min(paused_until) FROM host WHERE paused_until > ?1 AND paused_until < ?2 AND waiting > 0"
        " UNION ALL SELECT min(run_at) FROM retry"
        " UNION ALL SELECT min(?1) FROM lane WHERE state = 3"
        " UNION ALL SELECT min(next_at) FROM queue"
        "  WHERE ready > 0 AND closed = 0 AND active < max_active AND next_at > ?1)",
        (tx.now, 1 << 62),
    )
    return None if row is None or row[0] is None else max(0, row[0] - tx.now)
