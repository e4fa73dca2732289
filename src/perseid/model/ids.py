"""Identifiers as distinct types, so that a crawl's number can't be passed for a job's."""

from __future__ import annotations

from typing import NewType

CrawlId = NewType("CrawlId", int)
"""The store's own number of a crawl; `Crawl.uid` is the public one."""
JobId = NewType("JobId", int)
"""The number of one admitted URL or one piece of crawl work; grows in order of admission."""
WorkerId = NewType("WorkerId", int)
LockToken = NewType("LockToken", int)
"""Random 63-bit proof that a lease is still one's own."""
UrlKey = NewType("UrlKey", int)
"""Signed 64-bit xxh3 of a normalised URL, seeded per crawl (see `perseid.links.key`)."""
