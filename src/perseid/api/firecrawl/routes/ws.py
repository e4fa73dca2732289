"""A job as it goes, over a WebSocket: all that is there, then each page as it arrives, then the end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import orjson
from fastapi import APIRouter, WebSocket
from starlette.exceptions import HTTPException
from starlette.websockets import WebSocketDisconnect, WebSocketState

from perseid.api.auth import ws_caller
from perseid.api.errors import report as report_error
from perseid.api.firecrawl.asked import asked_of, terms_of
from perseid.api.firecrawl.dialect import Dialect
from perseid.api.firecrawl.errors import JOB_NOT_FOUND, WireError
from perseid.api.firecrawl.reporting import PAGE_BYTES, Report, pages, report
from perseid.api.firecrawl.serving import job_of, service_of, uid_of
from perseid.errors import NotFound
from perseid.model.crawl import Crawl, CrawlStatus
from perseid.runtime.service import Service

NORMAL, POLICY, INTERNAL, UNAUTHORIZED = 1000, 1008, 1011, 3000
_LOOK_S = 0.25
"""Well below the silence after which clients ask for the status, and take its end for that of the documents."""
_PAGE = 100
_LONGEST_REASON = 123
"""Bytes that a close frame has room for (RFC 6455, 5.5)."""


def router(dialect: Dialect) -> APIRouter:
    routes = APIRouter(prefix=dialect.prefix)

    @routes.websocket("/crawl/{job_id}")
    @routes.websocket("/batch/scrape/{job_id}")
    async def watch(socket: WebSocket, job_id: str) -> None:
        offered = socket.headers.get("sec-websocket-protocol", "").partition(",")[0].strip()
        await socket.accept(subprotocol=offered or None)
        code, reason = await _told(socket, job_id)
        if socket.client_state is WebSocketState.CONNECTED:
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):  # the client went in that moment
                await socket.close(code, reason)

    return routes


async def _told(socket: WebSocket, job_id: str) -> tuple[int, str]:
    """Tell all there is to tell; the code and the reason to close with."""
    try:
        caller = await ws_caller(socket)
        service = service_of(socket)
        await _follow(socket, service, await job_of(service, caller.team, uid_of(job_id)))
    except HTTPException as error:
        return UNAUTHORIZED, _reason("error", str(error.detail))
    except WireError as error:
        return POLICY, "Invalid job ID" if error.status == 400 else _reason("error", error.error)
    except NotFound:
        return POLICY, _reason("error", JOB_NOT_FOUND)
    except WebSocketDisconnect:
        return NORMAL, ""
    except Exception as error:  # noqa: BLE001 - logged under the id that the client is told
        return INTERNAL, _reason("error", f"Internal error {report_error(error, socket.url.path)}")
    return NORMAL, _reason("done")


async def _follow(socket: WebSocket, service: Service, job: Crawl) -> None:
    told = await report(service, job, Report(0, _PAGE, times=False))
    await _send(socket, "catchup", told.body)
    gone = asyncio.create_task(_until_gone(socket))
    try:
        async for page in _pages(service, job, told.last, gone):
            await _send(socket, "document", page)
    finally:
        gone.cancel()


async def _pages(service: Service, job: Crawl, seen: int, gone: asyncio.Task[None]) -> AsyncIterator[dict[str, Any]]:
    """Each page after number `seen`, until the job is over or the client has gone."""
    terms = terms_of(job)
    asked = asked_of(terms)
    while not gone.done():
        over = job.status is not CrawlStatus.SCRAPING
        found = await service.documents(job, after=seen, limit=_PAGE, max_bytes=PAGE_BYTES)
        for page in pages(job, asked, terms, found):
            yield page
        if found:
            seen = found[-1][0]
            continue
        if over:
            return
        await asyncio.wait([gone], timeout=_LOOK_S)
        job = await service.crawl(job.team, job.uid)


async def _until_gone(socket: WebSocket) -> None:
    """Clients have nothing to say here; what they say is read so that their going is noticed."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


async def _send(socket: WebSocket, kind: str, data: dict[str, Any]) -> None:
    await socket.send_text(orjson.dumps({"type": kind, "data": data}).decode())


def _reason(kind: str, error: str | None = None) -> str:
    """JSON that fits into a close frame."""
    told = {"type": kind} if error is None else {"type": kind, "error": error}
    text = orjson.dumps(told).decode()
    while len(text.encode()) > _LONGEST_REASON and error:
        error = error[:-1]
        text = orjson.dumps({"type": kind, "error": error}).decode()
    return text
