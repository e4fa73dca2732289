"""Reads kept pages by rules without holding up the loop: in a thread, large ones in a child process."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import msgspec

from perseid.content.pipeline import Failed
from perseid.crawls.child import Child, ChildLimits
from perseid.crawls.pack import unpack
from perseid.model.item import Extraction
from perseid.model.rule import Rule
from perseid.ports.items import KeptPage
from perseid.rules.child import MODULE, Question
from perseid.rules.extracting import extract
from perseid.rules.page import Page

HEAVY_BYTES = 2_000_000


def page_of(kept: KeptPage) -> Page:
    """The page as it came."""
    return Page(kept.url, unpack(kept.body), headers=_headers(kept), fetched_at=_instant(kept))


class KeptReader:
    """One for an event loop."""

    def __init__(self, limits: ChildLimits = ChildLimits()) -> None:  # noqa: B008 - frozen
        self._limits = limits
        self._child = Child(MODULE, limits)

    async def read(self, rule: Rule, kept: KeptPage) -> Extraction | None:
        """None where even a child process can't read it."""
        body = await asyncio.to_thread(unpack, kept.body)
        if len(body) > HEAVY_BYTES:
            return await self._beside(rule, kept, body)
        page = Page(kept.url, body, headers=_headers(kept), fetched_at=_instant(kept))
        return await asyncio.to_thread(extract, rule, page, kept.kind, list_page=kept.list_page)

    async def _beside(self, rule: Rule, kept: KeptPage, body: bytes) -> Extraction | None:
        question = Question(
            memory_bytes=self._limits.memory_bytes,
            cpu_s=self._limits.cpu_s,
            rule=rule,
            url=kept.url,
            headers=_headers(kept),
            fetched_at=kept.fetched_at,
            kind=kept.kind,
            list_page=kept.list_page,
        )
        told = await self._child.ask(msgspec.json.encode(question) + b"\n", body, "the page")
        return None if isinstance(told, Failed) else msgspec.json.decode(told, type=Extraction)


def _headers(kept: KeptPage) -> dict[str, str]:
    """Of several with one name the first."""
    return dict(reversed(msgspec.json.decode(kept.headers, type=list[tuple[str, str]])))


def _instant(kept: KeptPage) -> datetime:
    return datetime.fromtimestamp(kept.fetched_at / 1_000_000, UTC)
