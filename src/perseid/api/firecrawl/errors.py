"""What goes wrong, in the words of this API: one exception, one shape of body, one table from our errors to it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import Response

from perseid.api.errors import report, retry_after
from perseid.errors import (
    Busy,
    ConfigError,
    InvalidURL,
    KeyUsed,
    MissingExtra,
    NotFound,
    PerseidError,
    QuotaExceeded,
    StoreUnavailable,
    Unavailable,
)

BAD_REQUEST = "BAD_REQUEST"
UNKNOWN = "UNKNOWN_ERROR"
JOB_NOT_FOUND = "Job not found"
KEY_USED = "Idempotency key already used"
_RETRY_S = 5


class WireError(Exception):
    """An answer other than success; `code` and `details` are left out where they are None."""

    def __init__(
        self,
        status: int,
        error: str,
        code: str | None = None,
        details: Any = None,
        *,
        headers: dict[str, str] | None = None,
        bare: bool = False,
    ) -> None:
        super().__init__(error)
        self.status = status
        self.error = error
        self.code = code
        self.details = details
        self.headers = headers
        self.bare = bare
        """Without `success`: some routes of the contract have it so."""

    def response(self) -> Response:
        body: dict[str, Any] = {} if self.bare else {"success": False}
        if self.code is not None:
            body["code"] = self.code
        body["error"] = self.error
        if self.details is not None:
            body["details"] = self.details
        return answer(body, self.status, self.headers)


def answer(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(body), status, headers, media_type="application/json")


_STATUS: tuple[tuple[type[PerseidError], int, str | None], ...] = (
    (InvalidURL, 400, BAD_REQUEST),
    (ConfigError, 400, BAD_REQUEST),
    (QuotaExceeded, 402, None),
    (NotFound, 404, None),
    (KeyUsed, 409, None),
    (Busy, 429, None),
    (MissingExtra, 501, None),
    (Unavailable, 501, None),
    (StoreUnavailable, 503, None),
)
_SENTENCES: dict[type[PerseidError], str] = {NotFound: JOB_NOT_FOUND, KeyUsed: KEY_USED}


def wire_error(error: Exception, path: str) -> WireError:
    """What a caller is told of any exception; what nobody planned is logged under the id that is told."""
    if isinstance(error, WireError):
        return error
    if isinstance(error, HTTPException):
        return _of_http(error, path)
    for kind, status, code in _STATUS:
        if isinstance(error, kind):
            return _planned(error, _SENTENCES.get(kind, str(error)), status, code)
    return _unplanned(error, path)


def _planned(error: PerseidError, sentence: str, status: int, code: str | None) -> WireError:
    """A retry that may help is asked for by a status and a header that say so."""
    if isinstance(error, Busy):
        return WireError(status, sentence, headers=retry_after(error.retry_after_s))
    if error.retryable:
        return WireError(503, sentence, headers=retry_after(_RETRY_S))
    return WireError(status, sentence, code)


def _of_http(error: HTTPException, path: str) -> WireError:
    phrase = HTTPStatus(error.status_code).phrase
    sentences = {404: f"There is nothing at {path}", 405: f"{path} does not take this method"}
    unsaid = error.detail in {"", phrase}
    message = sentences.get(error.status_code, phrase) if unsaid else error.detail
    return WireError(error.status_code, message, headers=dict(error.headers or {}))


def _unplanned(error: Exception, path: str) -> WireError:
    number = report(error, path)
    code = error.code if isinstance(error, PerseidError) else type(error).__name__
    return WireError(500, f"This is a fault of the server ({code}); its log has it under error id {number}", UNKNOWN)
