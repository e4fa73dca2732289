"""Why a URL is, or is not, among a crawl's pages: read from the URL's own rows and the ledger of refusals."""

from __future__ import annotations

import orjson

from perseid.errors import NotFound
from perseid.model.crawl import CrawlKind
from perseid.model.ids import CrawlId
from perseid.model.job import JobState
from perseid.model.verdict import Denial, DenialReason
from perseid.ports.inspect import Explanation
from perseid.store.sqlite.connection import Connection, Row
from perseid.store.sqlite.jobs import JOB, job_view
from perseid.store.sqlite.tx import clean

_REFERRERS = 50


def _referrers(connection: Connection, parent: int | None) -> tuple[str, ...]:
    chain: list[str] = []
    while parent is not None and len(chain) < _REFERRERS:
        row = connection.execute("SELECT url, parent FROM url WHERE id = ?", (parent,)).fetchone()
        if row is None:
            break
        url, parent = row
        chain.append(url)
    return tuple(chain)


def explain(connection: Connection, crawl: CrawlId, keys: list[int], url: str) -> Explanation:
    found = connection.execute("SELECT uid, refused_beyond, kind FROM crawl WHERE id = ?", (crawl,)).fetchone()
    if found is None:
        raise NotFound(f"no crawl number {crawl}")
    uid, beyond, kind = found
    wanted = orjson.dumps(keys).decode()
    row = _admitted(connection, crawl, wanted if CrawlKind(kind).follows_links else None, clean(url))
    if row is not None and row[4] is None and row[1] is None:
        message = "The map lists it. A map fetches no pages but the one it starts at."
        return Explanation(
            url=url,
            crawl=uid,
            state="listed",
            message=message,
            seen_as=row[3],
            referrers=_referrers(connection, row[2]),
        )
    if row is not None:
        return _explain_job(connection, uid, url, row[:4])
    row = connection.execute(
        "SELECT reason, rule, value, parent, url FROM denied WHERE crawl = ? AND key IN (SELECT"
        " value FROM json_each(?)) LIMIT 1",
        (crawl, wanted),
    ).fetchone()
    if row is not None:
        reason, rule, value, parent, seen_as = row
        message = Denial(DenialReason(reason), rule, value).message
        return Explanation(
            url=url, crawl=uid, state="refused", reason=reason, message=message, seen_as=seen_as,
            referrers=_referrers(connection, parent),
        )  # fmt: skip
    message = (
        f"Not recorded: the ledger of this crawl is full, {beyond} more refusals were only counted."
        if beyond
        else "The crawl never met this URL: no page it read links to it, and no sitemap names it."
    )
    return Explanation(url=url, crawl=uid, state="unknown", message=message)


def _admitted(connection: Connection, crawl: CrawlId, keys: str | None, url: str) -> Row | None:
    """The row of the job that stands for a URL.

    In a batch (`keys` is None) a key is the job's own number: the URL itself tells them apart, and the latest
    of its jobs counts.
    """
    if keys is None:
        latest = "SELECT id, alias_of, parent, url, lane FROM url WHERE crawl = ? AND url = ? ORDER BY id DESC LIMIT 1"
        found = connection.execute(latest, (crawl, url))
    else:
        found = connection.execute(
            "SELECT id, alias_of, parent, url, lane FROM url"
            " WHERE crawl = ? AND key IN (SELECT value FROM json_each(?)) LIMIT 1",
            (crawl, keys),
        )
    row: Row | None = found.fetchone()
    return row


def _explain_job(connection: Connection, uid: str, url: str, row: Row) -> Explanation:
    job, alias_of, parent, seen_as = row
    found = connection.execute(f"{JOB} WHERE u.id = ?", (alias_of or job,)).fetchone()
    assert found is not None
    view = job_view(found)
    status, final, other, attempts = connection.execute(
        "SELECT status, final, other, attempts FROM ended WHERE job = ?", (view.job,)
    ).fetchone() or (None, None, None, view.attempts)
    message = view.message
    if alias_of is not None:
        message = f"Redirects of {view.url} end here; the page is kept under that URL. {message}".strip()
    elif view.state is JobState.DUPLICATE and other is not None:
        (target,) = connection.execute("SELECT url FROM url WHERE id = ?", (other,)).fetchone() or ("another page",)
        message = f"It redirects to a page the crawl has anyway: {target}."
    return Explanation(
        url=url,
        crawl=uid,
        state="alias" if alias_of is not None else view.state.value,
        reason=view.code,
        message=message,
        referrers=_referrers(connection, parent),
        attempts=attempts,
        stalls=view.stalls,
        status=status,
        depth=view.depth,
        seen_as=seen_as,
        final_url=final or "",
    )
