"""Finishing jobs: everything one run of a job brings home, written at once or not at all."""

from __future__ import annotations

from collections.abc import Sequence

from perseid.model.job import EndState, JobKind
from perseid.model.terms import EventKind
from perseid.model.verdict import Denied, FailureCode
from perseid.ports.work import Again, Done, Failed, Finished, NewUrl, Refused, StoredDocument
from perseid.store.schema import COUNTED
from perseid.store.sqlite import gates
from perseid.store.sqlite.admit import Found, admit, keep_cut, refuse, remembered, shorten
from perseid.store.sqlite.harvest import write_down
from perseid.store.sqlite.known import remember
from perseid.store.sqlite.tx import CrawlRow, Tx

_GONE = ("http_404", "http_410")
_CHAIN = 20
"""Duplicates of duplicates that are followed."""


def finish_all(tx: Tx, finished: Sequence[Finished]) -> list[bool]:
    """Finish each in turn; links are admitted afterwards, crawl by crawl. Which of them were kept."""
    found: dict[int, list[Found]] = {}
    denied: dict[int, list[tuple[Denied, int | None]]] = {}
    kept = [_finish(tx, item, found, denied) for item in finished]
    for crawl_id, items in found.items():
        crawl = tx.crawl(crawl_id)
        assert crawl is not None
        admit(tx, crawl, items)
    for crawl_id, refused in denied.items():
        crawl = tx.crawl(crawl_id)
        assert crawl is not None
        refuse(tx, crawl, refused)
    return kept


def _finish(
    tx: Tx,
    item: Finished,
    found: dict[int, list[Found]],
    denied: dict[int, list[tuple[Denied, int | None]]],
) -> bool:
    started_at = _give_back(tx, item)
    if started_at is None:
        return False
    job = item.lease.job
    crawl = tx.crawl(item.lease.crawl)
    if crawl is None or not crawl.running:
        return False
    crawl.dirty = True
    if item.note is not None:
        crawl.note = item.note
    if item.lease.kind is JobKind.KICKOFF:
        # The crawl's own delay lies between its start page and the next one too.
        tx.execute("UPDATE queue SET next_at = ? + gap WHERE crawl = ? AND gap > 0", (tx.now, crawl.id))
    depth, flags, attempts = tx.one("SELECT depth, flags, attempts FROM url WHERE id = ?", (job,)) or (
        0,
        0,
        0,
    )
    if isinstance(item.end, Again):
        _again(tx, crawl, job, item.end)
        _gather_links(tx, crawl, item, depth, found)
        return True
    if _try_variant(tx, crawl, item):
        return True
    other = _raced_redirect(tx, crawl, item)
    _end(tx, crawl, item, flags=flags, attempts=attempts + 1, other=other)
    if item.lease.kind is JobKind.TASK:
        write_down(tx, item, started_at)
    if other is not None:
        shorten(tx, crawl, other, depth)
        return True
    _gather_links(tx, crawl, item, depth, found)
    if item.denied:
        denied.setdefault(crawl.id, []).extend((refusal, job) for refusal in item.denied)
    return True


def _give_back(tx: Tx, item: Finished) -> int | None:
    """The lease is over, its slots are free, and what it learnt of hosts is kept; None where it was over before.

    When it began (µs).
    """
    row = tx.one(
        "DELETE FROM lease WHERE job = ? AND lock = ? RETURNING queue, host, team, started_at",
        (item.lease.job, item.lease.lock),
    )
    if row is None:
        return None
    queue, host, team, started_at = row
    tx.free(host=host, queue=queue, team=team)
    for note in item.hosts:
        gates.note_host(tx, note, started_at)
    if item.lease.throttled or item.lease.kind is JobKind.KICKOFF:
        gates.met(tx, host)
    return int(started_at)


def _gather_links(
    tx: Tx,
    crawl: CrawlRow,
    item: Finished,
    depth: int,
    found: dict[int, list[Found]],
) -> None:
    """Links of the page at the depth it has now, which may be shorter than when it was claimed."""
    job = item.lease.job
    if not item.urls:
        return
    from_page = item.lease.kind is not JobKind.SITEMAP
    urls: Sequence[NewUrl] = item.urls
    if item.cut and crawl.max_depth is not None and depth + 1 > crawl.max_depth:
        links = [url for url in urls if url.kind is JobKind.PAGE and not url.sitemap]
        keep_cut(tx, crawl, job, links)
        urls = [url for url in urls if url.kind is not JobKind.PAGE or url.sitemap]
    # Most links of a page stand on the pages before it as well: drop those before anything is made of them.
    found.setdefault(crawl.id, []).extend(
        Found(url, job, depth + 1 if from_page and url.kind is JobKind.PAGE and not url.sitemap else url.depth)
        for url in remembered(tx, crawl).without(urls)
    )


def _again(tx: Tx, crawl: CrawlRow, job: int, end: Again) -> None:
    tx.execute("UPDATE url SET attempts = attempts + ?, hops = ? WHERE id = ?", (int(end.attempted), end.hops, job))
    host = None if end.host is None else gates.host_ids(tx, (end.host,))[end.host]
    if end.delay_us <= 0:
        gates.requeue(tx, job, host=host)
        return
    if host is not None:
        gates.move(tx, job, host)
    tx.execute("INSERT INTO retry (run_at, job, crawl) VALUES (?, ?, ?)", (tx.now + end.delay_us, job, crawl.id))


def _try_variant(tx: Tx, crawl: CrawlRow, item: Finished) -> bool:
    """The spelling tried is gone: is there another one under the same key?"""
    if not (crawl.keep_variants and isinstance(item.end, Failed) and item.end.code in _GONE):
        return False
    key, job = item.lease.key, item.lease.job
    tx.execute(
        "INSERT INTO variant (crawl, key, url, host, tried) VALUES (?, ?, ?, ?, 1)"
        " ON CONFLICT (crawl, key, url) DO UPDATE SET tried = 1",
        (crawl.id, key, item.lease.url, item.lease.host),
    )
    row = tx.one("SELECT url, host FROM variant WHERE crawl = ? AND key = ? AND tried = 0 LIMIT 1", (crawl.id, key))
    if row is None:
        return False
    url, host = row
    tx.execute("UPDATE url SET url = ?, hops = x'', attempts = 0 WHERE id = ?", (url, job))
    gates.requeue(tx, job, host=gates.host_ids(tx, (host,))[host])
    return True


def _raced_redirect(tx: Tx, crawl: CrawlRow, item: Finished) -> int | None:
    """The other job that has, or will have, the page this redirect ended on; None when the page is ours.

    A final key of our own, or one that belongs to our own duplicate or to a page that could not be had, is
    no race. A final URL nobody knew is marked as visited.
    """
    key, job = item.final_key, item.lease.job
    if key is None or key == item.lease.key or not crawl.follows_links or not isinstance(item.end, Done):
        return None
    row = tx.one("SELECT id, alias_of FROM url WHERE crawl = ? AND key = ?", (crawl.id, key))
    if row is None:
        tx.execute(
            "INSERT INTO url (id, crawl, key, kind, depth, flags, parent, alias_of, url)"
            " SELECT ?, crawl, ?, kind, depth, 0, parent, id, ? FROM url WHERE id = ?",
            (tx.take_job_ids(1), key, item.final_url, job),
        )
        tx.learnt.seen(crawl.id, [key])
        return None
    return _keeper(tx, row[1] if row[1] is not None else row[0], job)


def _keeper(tx: Tx, other: int, job: int) -> int | None:
    """Who has, or will have, the page that was `other`'s to bring; None where that falls to `job` now."""
    for _ in range(_CHAIN):
        if other == job:
            return None
        ended = tx.one("SELECT state, other FROM ended WHERE job = ?", (other,))
        if ended is None or ended[0] == EndState.DONE:
            return other
        if ended[1] is None:
            # It could not be had under its own URL. Whoever comes by another one is the first, and is noted.
            tx.execute("UPDATE ended SET other = ? WHERE job = ?", (job, other))
            return None
        other = ended[1]
    return None


def _end(tx: Tx, crawl: CrawlRow, item: Finished, *, flags: int, attempts: int, other: int | None) -> None:
    job, end = item.lease.job, item.end
    state, seq, code, message, status = EndState.DONE, None, None, None, None
    match end:
        case Done():
            if other is not None:
                state = EndState.DUPLICATE
            else:
                seq, status = _bring_home(tx, crawl, item, end.document)
        case Failed():
            state, code, message, status = EndState.FAILED, end.code, end.message, end.status
            if end.document is not None:
                seq = _store(tx, crawl, job, end.document, EndState.FAILED)
        case Refused():
            if end.uncount and flags & COUNTED:
                flags &= ~COUNTED
                crawl.discovered -= 1
                tx.execute("UPDATE url SET flags = ? WHERE id = ?", (flags, job))
            state, code, message = EndState.DENIED, end.denial.reason.value, end.denial.message
        case Again():
            raise AssertionError("a job that is to run again has not ended")
    tx.execute(
        "INSERT INTO ended (job, crawl, state, at, attempts, seq, other, status, code, message, final)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            job,
            crawl.id,
            int(state),
            tx.now,
            attempts,
            seq,
            other,
            status,
            code,
            message,
            item.final_url or None,
        ),
    )
    count_end(crawl, state, counted=bool(flags & COUNTED))
    if flags & COUNTED and state is not EndState.DUPLICATE:
        tx.tell(crawl, EventKind.PAGE, job)


def _bring_home(
    tx: Tx, crawl: CrawlRow, item: Finished, document: StoredDocument | None
) -> tuple[int | None, int | None]:
    """Number and status of a page's document; a task keeps none, and is a page that came home none the less."""
    if document is None:
        if item.lease.kind is JobKind.TASK:
            tx.used[crawl.team] += 1
        return None, None
    seq = _store(tx, crawl, item.lease.job, document, EndState.DONE)
    remember(tx, crawl, document)
    return seq, document.status


def count_end(crawl: CrawlRow, state: EndState, *, counted: bool, by: int = 1) -> None:
    """One job more has ended like this; with `by` -1 it is taken back."""
    crawl.open -= by
    crawl.dirty = True
    if not counted:
        return
    match state:
        case EndState.DONE:
            crawl.done += by
        case EndState.FAILED:
            crawl.failed += by
        case EndState.DUPLICATE:
            crawl.duplicate += by
        case EndState.DENIED:
            crawl.denied += by
        case EndState.CANCELLED:
            crawl.cancelled += by


def _store(tx: Tx, crawl: CrawlRow, job: int, document: StoredDocument, state: EndState) -> int:
    crawl.documents += 1
    tx.used[crawl.team] += 1
    seq = crawl.documents + crawl.superseded
    tx.execute(
        "INSERT INTO document (crawl, seq, job, state, status, url, title, blob, body) VALUES (?, ?,"
        " ?, ?, ?, ?, ?, ?, ?)",
        (
            crawl.id, seq, job, int(state), document.status, document.url, document.title, document.blob,
            document.body,
        ),
    )  # fmt: skip
    return seq


def fail_waiting(tx: Tx, crawl: CrawlRow, lane: int, *, code: FailureCode, message: str, bound: int) -> int:
    """Fail up to `bound` URLs that wait in a lane, without fetching them; how many."""
    rows = tx.all(
        "SELECT u.id, u.seq, u.flags, u.attempts FROM url u JOIN lane l ON l.id = u.lane"
        " WHERE u.lane = ? AND u.seq > l.head ORDER BY u.seq LIMIT ?",
        (lane, bound),
    )
    fail_jobs(tx, crawl, [(job, flags, attempts) for job, _seq, flags, attempts in rows], code=code, message=message)
    if rows:
        tx.execute("UPDATE lane SET head = ? WHERE id = ?", (rows[-1][1], lane))
    return len(rows)


def fail_jobs(
    tx: Tx, crawl: CrawlRow, jobs: Sequence[tuple[int, int, int]], *, code: FailureCode, message: str
) -> None:
    """End these (job, flags, attempts) as failed; they hold no lease."""
    tx.executemany(
        "INSERT INTO ended (job, crawl, state, at, attempts, code, message) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (job, crawl.id, int(EndState.FAILED), tx.now, attempts, code.value, message)
            for job, _flags, attempts in jobs
        ],
    )
    for job, flags, _attempts in jobs:
        count_end(crawl, EndState.FAILED, counted=bool(flags & COUNTED))
        if flags & COUNTED:
            tx.tell(crawl, EventKind.PAGE, job)
