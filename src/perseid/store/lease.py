"""The right to run a job, from the columns that every database has of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perseid.model.ids import CrawlId, JobId, LockToken
from perseid.model.job import JobKind
from perseid.ports.work import Lease
from perseid.store.schema import COUNTED


def lease_of(columns: Sequence[Any]) -> Lease:
    """Of a job's columns in `url`, with its lease's `lock` and `expires_at` and what its host is like.

    job, crawl, lock, kind, url, key, depth, attempts, stalls, flags, payload, hops, host's name, gap, private,
    backoffs, expires_at.
    """
    (
        job, crawl, lock, kind, url, key, depth, attempts, stalls, flags, payload, hops, host, gap, private, backoffs,
        expires_at,
    ) = columns  # fmt: skip
    return Lease(
        job=JobId(job),
        crawl=CrawlId(crawl),
        lock=LockToken(lock),
        kind=JobKind(kind),
        url=url,
        key=key,
        depth=depth,
        host=host,
        gap_us=gap,
        attempts=attempts,
        stalls=stalls,
        counted=bool(flags & COUNTED),
        payload=payload,
        hops=hops,
        expires_at=expires_at,
        throttled=not private,
        strained=backoffs > 0,
    )
