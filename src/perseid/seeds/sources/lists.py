"""Sources that ask nobody: addresses one by one, and templates."""

from __future__ import annotations

from datetime import date

import msgspec

from perseid.errors import SourceFailed
from perseid.model.seed import Template, UrlList
from perseid.seeds import template
from perseid.seeds.addresses import Gathering
from perseid.seeds.expansion import MAX_URLS, Asks, Stepped


async def step_urls(said: UrlList, cursor: bytes | None) -> Stepped:
    """The cursor is a position in the list."""
    at = 0 if cursor is None else msgspec.json.decode(cursor, type=int)
    return _part(said.urls[at : at + MAX_URLS], at, len(said.urls))


async def step_template(said: Template, cursor: bytes | None, asks: Asks) -> Stepped:
    """The cursor is a position among the combinations."""
    at = 0 if cursor is None else msgspec.json.decode(cursor, type=int)
    found = combinations(said, asks.today)
    return _part(found[at : at + MAX_URLS], at, len(found))


def combinations(said: Template, today: date) -> template.Addresses:
    """Raises SourceFailed."""
    try:
        return template.addresses(said.url, tuple(said.values.items()), said.since, said.until, today)
    except template.BadTemplate as error:
        raise SourceFailed(f"the template {said.url!r}: {error}") from None


def _part(written: list[str] | tuple[str, ...], at: int, size: int) -> Stepped:
    found = Gathering()
    for number, each in enumerate(written, at + 1):
        found.take(each, f"address {number}")
    behind = at + len(written)
    return Stepped(
        urls=tuple(found.urls),
        cursor=msgspec.json.encode(behind) if behind < size else None,
        skipped=found.skipped,
        notes=found.notes,
    )
