"""The pages that a job does not have, each with its reason: failures, and links that were refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from perseid.api.firecrawl.asked import Asked
from perseid.api.firecrawl.wire.document import failure_id
from perseid.api.firecrawl.wire.failure import wire_code
from perseid.api.firecrawl.wire.instant import iso
from perseid.model.crawl import Crawl
from perseid.model.verdict import DenialReason
from perseid.ports.inspect import DeniedRow, FailureRow, JobView

DENIAL = "CRAWL_DENIAL"
_NO_PAGES = frozenset({DenialReason.SECTION_LINK, DenialReason.NON_WEB_PROTOCOL})
"""Links that lead to no page of their own: nobody misses one."""


class Missed(NamedTuple):
    """What kept pages from a job."""

    failures: Sequence[FailureRow]
    refused: Sequence[JobView]
    """Pages it had taken on, the start page first: refused when their turn came."""
    denied: Sequence[DeniedRow]
    """Links it never took on."""


def error_list(crawl: Crawl, asked: Asked, missed: Missed) -> dict[str, Any]:
    """Answers of 4xx and 5xx are no failures here: they stand among the documents.

    `success` is what the asynchronous Python client looks for before it believes the list of a batch.
    """
    failed = [_failed(crawl, asked, row) for row in missed.failures if not row.code.startswith("http_")]
    refused = [_refused(asked, row.url, row.message, failure_id(crawl.uid, row.job)) for row in missed.refused]
    denied = [
        _refused(asked, row.url, row.message, failure_id(crawl.uid, -row.id))
        for row in missed.denied
        if row.reason not in _NO_PAGES
    ]
    blocked = [row.url for row in missed.refused if row.code == DenialReason.ROBOTS_TXT]
    blocked += [row.url for row in missed.denied if row.reason == DenialReason.ROBOTS_TXT]
    listed = list(dict.fromkeys(blocked))
    return {"success": True, "errors": failed + refused + denied, "robotsBlocked": listed}


def _failed(crawl: Crawl, asked: Asked, row: FailureRow) -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": failure_id(crawl.uid, row.job),
        "timestamp": iso(row.at),
        "url": asked.as_sent(row.url),
    }
    code = wire_code(row.code)
    if code is not None:
        told["code"] = code
    return told | {"error": f"{row.message} ({row.code})" if row.message else row.code}


def _refused(asked: Asked, url: str, message: str, uid: str) -> dict[str, Any]:
    return {"id": uid, "url": asked.as_sent(url), "code": DENIAL, "error": message}
