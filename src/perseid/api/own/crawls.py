"""Crawls, batches and what they brought home."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import StreamingResponse

from perseid.api.auth import Called, KeyFirst
from perseid.api.own import events
from perseid.api.own.paging import PROBLEM, Cursor, Limit, Page, View, at, cursor_of, position
from perseid.errors import NotFound
from perseid.model.crawl import Crawl, CrawlKind, CrawlStatus
from perseid.runtime.service import Service

router = APIRouter(
    route_class=KeyFirst, prefix="/crawls", tags=["crawls"], responses={401: PROBLEM, 404: PROBLEM, 429: PROBLEM}
)
_LISTED = (CrawlKind.CRAWL, CrawlKind.BATCH)
_STATUS = {status.name.lower(): status for status in CrawlStatus}


class CountsView(View):
    """Always: discovered = done + failed + duplicate + denied + open."""

    open: int
    discovered: int
    done: int
    failed: int
    duplicate: int
    denied: int
    refused: int


class CrawlView(View):
    id: str
    kind: str
    status: str
    url: str
    error: str | None
    created_at: str | None
    ended_at: str | None
    expires_at: str | None
    counts: CountsView


class SummaryView(View):
    failures: dict[str, int]
    skipped: dict[str, int]
    sitemap_urls: int
    sitemap_crawled: int
    duration_s: float
    warnings: list[str]


class CrawlDetail(CrawlView):
    queued: int
    active: int
    retrying: int
    hosts: dict[str, int]
    summary: SummaryView


class DocumentView(View):
    number: int
    document: dict[str, Any]


class SkippedView(View):
    url: str
    reason: str
    message: str
    referrer: str | None


class FailureView(View):
    job: int
    url: str
    code: str
    message: str
    status: int | None
    attempts: int
    at: str | None
    referrer: str | None


class DeliveryView(View):
    event: str
    webhook_id: str
    url: str
    at: str | None
    attempt: int
    status: int | None
    error: str
    final: bool


class Cancelled(View):
    cancelled: bool


def view(crawl: Crawl) -> dict[str, Any]:
    counts = crawl.counts
    return {
        "id": crawl.uid,
        "kind": crawl.kind.value,
        "status": crawl.status.name.lower(),
        "url": crawl.url,
        "error": crawl.error,
        "created_at": at(crawl.created_at),
        "ended_at": at(crawl.ended_at),
        "expires_at": at(crawl.expires_at),
        "counts": CountsView(
            open=counts.open_pages,
            discovered=counts.discovered,
            done=counts.done,
            failed=counts.failed,
            duplicate=counts.duplicate,
            denied=counts.denied,
            refused=counts.refused + counts.refused_beyond,
        ),
    }


@router.get("", summary="Crawls and batches, newest first", responses={400: PROBLEM})
async def crawls(
    request: Request,
    caller: Called,
    status: Annotated[str | None, Query(pattern="^(scraping|completed|cancelled|failed)$")] = None,
    kind: Annotated[str | None, Query(pattern="^(crawl|batch|seed)$")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Page[CrawlView]:
    found = await _service(request).crawls(
        caller.team,
        kinds=_LISTED if kind is None else (CrawlKind(kind),),
        status=None if status is None else _STATUS[status],
        before=position(cursor),
        limit=limit,
    )
    following = cursor_of(found[-1].created_at) if len(found) == limit else None
    return Page(items=[CrawlView(**view(crawl)) for crawl in found], next=following)


@router.get("/{crawl_id}", summary="One crawl, its progress and its summary")
async def crawl(request: Request, caller: Called, crawl_id: str) -> CrawlDetail:
    service = _service(request)
    found = await service.crawl(caller.team, crawl_id)
    progress = await service.store.progress(found.id)
    summary = await service.summary(found)
    return CrawlDetail(
        **view(found),
        queued=progress.queued,
        active=progress.active,
        retrying=progress.retrying,
        hosts=dict(progress.hosts),
        summary=SummaryView(
            failures=summary.failures,
            skipped=summary.skipped,
            sitemap_urls=summary.sitemap_urls,
            sitemap_crawled=summary.sitemap_crawled,
            duration_s=summary.duration_s,
            warnings=summary.warnings,
        ),
    )


@router.delete("/{crawl_id}", summary="Cancel; what it has is kept")
async def cancel(request: Request, caller: Called, crawl_id: str) -> Cancelled:
    """`cancelled` is false where it had ended before."""
    service = _service(request)
    return Cancelled(cancelled=await service.cancel(await service.crawl(caller.team, crawl_id)))


@router.get("/{crawl_id}/documents", summary="Documents in finishing order", responses={400: PROBLEM})
async def documents(
    request: Request, caller: Called, crawl_id: str, cursor: Cursor = None, limit: Limit = 100
) -> Page[DocumentView]:
    """At most `limit`, and at most 10 MB unless the first is larger."""
    service = _service(request)
    found = await service.crawl(caller.team, crawl_id)
    rows = await service.documents(found, after=position(cursor) or 0, limit=limit)
    items = [DocumentView(number=seq, document=msgspec.to_builtins(document)) for seq, document in rows]
    return Page(items=items, next=cursor_of(rows[-1][0]) if rows else None)


@router.get("/{crawl_id}/documents/{number}", summary="One document")
async def document(request: Request, caller: Called, crawl_id: str, number: int) -> DocumentView:
    service = _service(request)
    found = await service.crawl(caller.team, crawl_id)
    for seq, row in await service.documents(found, after=number - 1, limit=1):
        if seq == number:
            return DocumentView(number=seq, document=msgspec.to_builtins(row))
    raise NotFound(f"the crawl has no document {number}")


@router.get("/{crawl_id}/skipped", summary="Every refused URL with its reason", responses={400: PROBLEM})
async def skipped(
    request: Request, caller: Called, crawl_id: str, cursor: Cursor = None, limit: Limit = 100
) -> Page[SkippedView]:
    service = _service(request)
    found = await service.crawl(caller.team, crawl_id)
    rows = await service.denied(found, after=position(cursor) or 0, limit=limit)
    items = [SkippedView(url=row.url, reason=row.reason, message=row.message, referrer=row.referrer) for row in rows]
    return Page(items=items, next=cursor_of(rows[-1].id) if len(rows) == limit else None)


@router.get("/{crawl_id}/failures", summary="Pages that could not be had", responses={400: PROBLEM})
async def failures(
    request: Request, caller: Called, crawl_id: str, cursor: Cursor = None, limit: Limit = 100
) -> Page[FailureView]:
    service = _service(request)
    found = await service.crawl(caller.team, crawl_id)
    rows = await service.failures(found, after=position(cursor) or 0, limit=limit)
    items = [FailureView(**{**row._asdict(), "at": at(row.at)}) for row in rows]
    return Page(items=items, next=cursor_of(rows[-1].job) if len(rows) == limit else None)


@router.get("/{crawl_id}/deliveries", summary="The log of its webhook deliveries", responses={400: PROBLEM})
async def deliveries(
    request: Request, caller: Called, crawl_id: str, cursor: Cursor = None, limit: Limit = 100
) -> Page[DeliveryView]:
    service = _service(request)
    found = await service.crawl(caller.team, crawl_id)
    rows = await service.store.outbox.attempts(found.id, after=position(cursor) or 0, limit=limit)
    items = [
        DeliveryView(
            event=attempt.kind.name.lower() if attempt.kind.name else "",
            webhook_id=attempt.uid,
            url=attempt.url,
            at=at(attempt.at),
            attempt=attempt.attempt,
            status=attempt.status,
            error=attempt.error,
            final=attempt.final,
        )
        for _number, attempt in rows
    ]
    return Page(items=items, next=cursor_of(rows[-1][0]) if len(rows) == limit else None)


@router.get(
    "/{crawl_id}/events",
    summary="Documents and progress as they happen (Server-Sent Events)",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def live(request: Request, caller: Called, crawl_id: str) -> StreamingResponse:
    """Begins after the document whose number `Last-Event-ID` names. Ends with a `done` event."""
    service = _service(request)
    found = await service.crawl(caller.team, crawl_id)
    last = request.headers.get("last-event-id", "")
    return StreamingResponse(
        events.stream(service, found, after=int(last) if last.isdigit() else 0),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service
