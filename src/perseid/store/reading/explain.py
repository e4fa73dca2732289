"""Why a URL is, or is not, among a crawl's pages: read from the URL's own rows and the ledger of refusals."""

from __future__ import annotations

from perseid.errors import NotFound
from perseid.model.crawl import CrawlKind
from perseid.model.ids import CrawlId
from perseid.model.job import JobState
from perseid.model.verdict import Denial, DenialReason
from perseid.ports.inspect import Explanation
from perseid.store.reading.jobs import JOB, job_view
from perseid.store.reading.rows import Row, Rows
from perseid.store.schema import clean

_REFERRERS = 50
_UP = (
    "WITH RECURSIVE up (url, parent, n) AS (SELECT url, parent, 1 FROM url WHERE id = $1"  # noqa: S608 - a constant
    f" UNION ALL SELECT u.url, u.parent, up.n + 1 FROM up JOIN url u ON u.id = up.parent WHERE up.n < {_REFERRERS})"
    " SELECT url FROM up ORDER BY n"
)
_ADMITTED = "SELECT id, alias_of, parent, url, lane FROM url"


async def _referrers(rows: Rows, parent: int | None) -> tuple[str, ...]:
    return () if parent is None else tuple(url for (url,) in await rows.all(_UP, parent))


async def _one(rows: Rows, statement: str, *bindings: object) -> Row | None:
    found = await rows.all(statement, *bindings)
    return found[0] if found else None


async def explain(rows: Rows, crawl: CrawlId, keys: list[int], url: str) -> Explanation:
    found = await _one(rows, "SELECT uid, refused_beyond, kind FROM crawl WHERE id = $1", crawl)
    if found is None:
        raise NotFound(f"no crawl number {crawl}")
    uid, beyond, kind = found
    follows = CrawlKind(kind).follows_links
    row = await (_by_key(rows, crawl, keys) if follows else _latest(rows, crawl, clean(url)))
    if row is None:
        return await _refused(rows, crawl, keys, url, uid) or Explanation(
            url=url, crawl=uid, state="unknown", message=_unknown(beyond)
        )
    job, alias_of, parent, seen_as, lane = row
    if lane is None and alias_of is None:
        message = "The map lists it. A map fetches no pages but the one it starts at."
        return Explanation(
            url=url, crawl=uid, state="listed", message=message, seen_as=seen_as,
            referrers=await _referrers(rows, parent),
        )  # fmt: skip
    return await _explain_job(rows, uid, url, (job, alias_of, parent, seen_as))


def _unknown(beyond: int) -> str:
    if beyond:
        return f"Not recorded: the ledger of this crawl is full, {beyond} more refusals were only counted."
    return "The crawl never met this URL: no page it read links to it, and no sitemap names it."


def _any_of(keys: list[int]) -> str:
    return ", ".join(f"${n}" for n in range(2, len(keys) + 2))


async def _by_key(rows: Rows, crawl: CrawlId, keys: list[int]) -> Row | None:
    """The row of the job that stands for a URL."""
    return await _one(rows, f"{_ADMITTED} WHERE crawl = $1 AND key IN ({_any_of(keys)}) LIMIT 1", crawl, *keys)


async def _latest(rows: Rows, crawl: CrawlId, url: str) -> Row | None:
    """In a batch a key is the job's own number: the URL itself tells them apart, and the latest of its jobs counts."""
    return await _one(rows, f"{_ADMITTED} WHERE crawl = $1 AND url = $2 ORDER BY id DESC LIMIT 1", crawl, url)


async def _refused(rows: Rows, crawl: CrawlId, keys: list[int], url: str, uid: str) -> Explanation | None:
    row = await _one(
        rows,
        f"SELECT reason, rule, value, parent, url FROM denied WHERE crawl = $1 AND key IN ({_any_of(keys)}) LIMIT 1",  # noqa: S608 - parameters
        crawl,
        *keys,
    )
    if row is None:
        return None
    reason, rule, value, parent, seen_as = row
    message = Denial(DenialReason(reason), rule, value).message
    return Explanation(
        url=url, crawl=uid, state="refused", reason=reason, message=message, seen_as=seen_as,
        referrers=await _referrers(rows, parent),
    )  # fmt: skip


async def _explain_job(rows: Rows, uid: str, url: str, row: Row) -> Explanation:
    job, alias_of, parent, seen_as = row
    found = await _one(rows, f"{JOB} WHERE u.id = $1", alias_of or job)
    if found is None:
        raise NotFound(f"no page {url} in crawl {uid} any more")
    view = job_view(found)
    ended = await _one(rows, "SELECT status, final, other, attempts FROM ended WHERE job = $1", view.job)
    status, final, other, attempts = ended or (None, None, None, view.attempts)
    message = view.message
    if alias_of is not None:
        message = f"Redirects of {view.url} end here; the page is kept under that URL. {message}".strip()
    elif view.state is JobState.DUPLICATE and other is not None:
        (target,) = await _one(rows, "SELECT url FROM url WHERE id = $1", other) or ("another page",)
        message = f"It redirects to a page the crawl has anyway: {target}."
    return Explanation(
        url=url,
        crawl=uid,
        state="alias" if alias_of is not None else view.state.value,
        reason=view.code,
        message=message,
        referrers=await _referrers(rows, parent),
        attempts=attempts,
        stalls=view.stalls,
        status=status,
        depth=view.depth,
        seen_as=seen_as,
        final_url=final or "",
    )
