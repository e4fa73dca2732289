"""Errors of Perseid's own resources as RFC 9457 problems. Firecrawl's paths have a form of their own."""

from __future__ import annotations

import math
import secrets
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from perseid.errors import (
    Busy,
    ConfigError,
    InvalidURL,
    KeyUsed,
    NotFound,
    PerseidError,
    QuotaExceeded,
    ScrapeFailed,
    Unavailable,
    VersionConflict,
)
from perseid.observe import log
from perseid.rules.complaint import Invalid

MEDIA_TYPE = "application/problem+json"
_STATUS: tuple[tuple[type[PerseidError], int], ...] = (
    (NotFound, 404),
    (InvalidURL, 400),
    (ConfigError, 400),
    (KeyUsed, 409),
    (VersionConflict, 409),
    (ScrapeFailed, 502),
    (QuotaExceeded, 402),
    (Busy, 429),
    (Unavailable, 501),
)


def status_of(error: PerseidError) -> int:
    """The HTTP status an error means; what a retry may help with is 503, what nobody planned 500."""
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return 503 if kind is Unavailable and error.retryable else status
    return 503 if error.retryable else 500


def retry_after(seconds: float) -> dict[str, str]:
    return {"Retry-After": str(max(1, math.ceil(seconds)))}


def headers_of(error: PerseidError) -> dict[str, str]:
    return retry_after(error.retry_after_s) if isinstance(error, Busy) else {}


def report(error: Exception, path: str) -> str:
    """Log an error nobody planned; the id under which the log has it, for whoever asks."""
    number = secrets.token_hex(8)
    log.event("api.failed", error_id=number, path=path, error=repr(error))
    return number


def problem(status: int, code: str, detail: str, *, headers: dict[str, str] | None = None, **more: Any) -> Response:
    """RFC 9457; `code` is stable, `detail` for people."""
    body = {"type": "about:blank", "title": code, "status": status, "detail": detail, **more}
    return JSONResponse(body, status, headers, MEDIA_TYPE)


async def _of_planned(_request: Request, error: Exception) -> Response:
    assert isinstance(error, PerseidError)
    more = {"errors": [msgspec.to_builtins(each) for each in error.complaints]} if isinstance(error, Invalid) else {}
    return problem(status_of(error), error.code, str(error), headers=headers_of(error), **more)


async def _of_http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = f"there is nothing at {_request.url.path}" if error.status_code == 404 else str(error.detail)
    return problem(error.status_code, _CODES.get(error.status_code, "http_error"), detail, headers=_plain(error))


_CODES = {401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method_not_allowed", 429: "rate_limited"}


def _plain(error: HTTPException) -> dict[str, str] | None:
    return dict(error.headers) if error.headers else None


async def _of_input(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = [{"path": list(item["loc"]), "message": item["msg"]} for item in error.errors()]
    first = found[0] if found else {"path": [], "message": "the request can't be read"}
    detail = f"{'.'.join(str(part) for part in first['path'])}: {first['message']}"
    return problem(422, "invalid_request", detail, errors=found)


async def _of_bug(request: Request, error: Exception) -> Response:
    number = report(error, request.url.path)
    return problem(500, "internal_error", f"this is a bug of ours; the log has it under {number}", error_id=number)


def install(app: FastAPI) -> None:
    app.add_exception_handler(PerseidError, _of_planned)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RequestValidationError, _of_input)
    app.add_exception_handler(Exception, _of_bug)
