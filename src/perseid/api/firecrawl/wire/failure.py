"""How a page that could not be had is told: status, code and sentence by the code of our failure."""

from __future__ import annotations

from perseid.api.firecrawl.errors import UNKNOWN, WireError
from perseid.model.document import Document
from perseid.model.verdict import DenialReason, FailureCode

TIMEOUT = "SCRAPE_TIMEOUT"
SITE = "SCRAPE_SITE_ERROR"
NO_ENGINE = "SCRAPE_ALL_ENGINES_FAILED"

_BY_CODE: dict[str, tuple[int, str | None]] = {
    FailureCode.TIMEOUT: (408, TIMEOUT),
    FailureCode.DEADLINE: (408, TIMEOUT),
    # An answer, so to say: the contract has it as success of the call and failure of the page.
    FailureCode.DNS: (200, "SCRAPE_DNS_RESOLUTION_ERROR"),
    FailureCode.TLS: (500, "SCRAPE_SSL_ERROR"),
    FailureCode.PROXY: (500, "SCRAPE_PROXY_SELECTION_ERROR"),
    FailureCode.UNSUPPORTED_FILE: (500, "SCRAPE_UNSUPPORTED_FILE_ERROR"),
    FailureCode.BLOCKED_ADDRESS: (403, None),
    FailureCode.NOT_CACHED: (404, "SCRAPE_NO_CACHED_DATA"),
    FailureCode.CONVERSION: (500, NO_ENGINE),
    FailureCode.FEATURE_UNAVAILABLE: (500, NO_ENGINE),
    FailureCode.LLM: (500, NO_ENGINE),
    FailureCode.STALLED: (500, NO_ENGINE),
    FailureCode.STORE_ERROR: (500, UNKNOWN),
    FailureCode.INTERNAL: (500, UNKNOWN),
    "cancelled": (500, "SCRAPE_JOB_CANCELLED"),
}
_REFUSALS = frozenset(reason.value.lower() for reason in DenialReason)


def scrape_error(code: str, message: str, *, lockdown: bool = False) -> WireError:
    """The answer to a scrape that brought no page."""
    if code in _REFUSALS:
        return WireError(403, message)
    status, name = _BY_CODE.get(code, (500, SITE))
    if lockdown and code == FailureCode.NOT_CACHED:
        name = "SCRAPE_LOCKDOWN_CACHE_MISS"
    return WireError(status, f"{_opening(message)} ({code})", name)


def is_hollow(document: Document) -> bool:
    """Nothing came of a page that was there: for the contract that is a failure, unlike an error page without text."""
    return document.markdown is not None and not document.markdown.strip() and 200 <= document.status < 300


def hollow_error() -> WireError:
    return WireError(500, "The page could not be read: the site sent it without any text", NO_ENGINE)


def wire_code(code: str) -> str | None:
    """The code of a failed page in a list of errors."""
    return _BY_CODE.get(code, (500, SITE))[1]


def _opening(message: str) -> str:
    return f"The page could not be read: {message}" if message else "The page could not be read"
