"""Reads pages by rules without holding up the loop: large ones in a child process, slow ones in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from perseid.content.pipeline import Failed
from perseid.crawls.child import Child, ChildLimits
from perseid.model.item import Extraction
from perseid.model.rule import PageKind
from perseid.ports.fetch import Response
from perseid.rules.child import MODULE, Question
from perseid.rules.extracting import extract
from perseid.rules.page import Page
from perseid.seeds.site import Site

HEAVY_BYTES = 2_000_000
SLOW_S = 0.05
"""A page that took so long has the next ones of its site read beside the loop."""


class Found(NamedTuple):
    """What a page gave, and the page itself where it was read here."""

    extraction: Extraction
    page: Page | None


class Reader:
    """One for an event loop."""

    def __init__(self, now_s: Callable[[], float], limits: ChildLimits = ChildLimits()) -> None:  # noqa: B008  # frozen
        self._now_s = now_s
        self._limits = limits
        self._child = Child(MODULE, limits)

    async def read(
        self, site: Site, answer: Response, kind: PageKind, *, list_page: int, fetched_at: int
    ) -> Found | Failed:
        """Failed where even a child process can't read it. `fetched_at` is µs."""
        headers = dict(reversed(answer.headers))
        if len(answer.body) > HEAVY_BYTES:
            return await self._beside(site, answer, headers, kind, list_page=list_page, fetched_at=fetched_at)
        at = datetime.fromtimestamp(fetched_at / 1_000_000, UTC)
        page = Page(answer.url, answer.body, headers=headers, fetched_at=at)
        began = self._now_s()
        if site.slow:
            found = await asyncio.to_thread(extract, site.rule, page, kind, list_page=list_page)
        else:
            found = extract(site.rule, page, kind, list_page=list_page)
        site.slow = self._now_s() - began > SLOW_S
        return Found(found, page)

    async def _beside(
        self, site: Site, answer: Response, headers: dict[str, str], kind: PageKind, *, list_page: int, fetched_at: int
    ) -> Found | Failed:
        question = Question(
            memory_bytes=self._limits.memory_bytes,
            cpu_s=self._limits.cpu_s,
            rule=site.rule,
            url=answer.url,
            headers=headers,
            fetched_at=fetched_at,
            kind=kind,
            list_page=list_page,
        )
        told = await self._child.ask(msgspec.json.encode(question) + b"\n", answer.body, "the page")
        if isinstance(told, Failed):
            return told
        return Found(msgspec.json.decode(told, type=Extraction), None)
