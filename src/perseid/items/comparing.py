"""What another version of a rule would make of the pages that are kept: nothing is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from perseid.items.reading import page_of
from perseid.model.rule import Rule
from perseid.ports.items import Items, SitePage
from perseid.rules.trying import ItemChange, compare

_CHUNK = 25


async def changes(items: Items, site: int, before: Rule, after: Rule) -> AsyncIterator[ItemChange]:
    """Page by page of the site, those where something changes; in constant memory."""
    position = 0
    while pages := await items.pages(site, after=position, limit=_CHUNK):
        for change in await asyncio.to_thread(_compared, before, after, pages):
            yield change
        position = pages[-1].id


def _compared(before: Rule, after: Rule, pages: list[SitePage]) -> list[ItemChange]:
    return list(compare(before, after, ((page_of(row.page), row.page.kind) for row in pages)))
