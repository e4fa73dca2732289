"""One step of any source: what the job that expands a seed calls."""

from __future__ import annotations

import msgspec

from perseid.errors import ConfigError, SourceFailed
from perseid.links.host import politeness_host
from perseid.model.seed import (
    ApiSource,
    CsvSource,
    FeedSource,
    Payload,
    PluginSource,
    SitemapSource,
    SqlSource,
    Template,
    UrlList,
)
from perseid.seeds import plugins
from perseid.seeds.addresses import Gathering
from perseid.seeds.expansion import MAX_NOTES, MAX_URLS, Asks, Stepped
from perseid.seeds.sources import api, csv_file, feed, lists, sitemap, sql
from perseid.seeds.sources.answers import MAX_BYTES, Shelf


def first_host(payload: Payload) -> str:
    """The host that the first step asks; "" where it asks none."""
    match payload:
        case SitemapSource() | FeedSource() | ApiSource():
            return politeness_host(payload.url)
        case _:
            return ""


class Expander:
    """Takes steps; one serves a process, and keeps answers of sites between two steps that read the same one."""

    def __init__(self, *, max_bytes: int = MAX_BYTES) -> None:
        self._shelf = Shelf(max_bytes)

    async def step(self, payload: Payload, cursor: bytes | None, asks: Asks) -> Stepped:  # noqa: PLR0911  one a kind
        """Go on from the cursor; None begins.

        Raises `SourceFailed` where the source can't be read (see its `retryable`), and what `asks` raises beside it.
        """
        match payload:
            case UrlList():
                return await lists.step_urls(payload, cursor)
            case Template():
                return await lists.step_template(payload, cursor, asks)
            case SitemapSource():
                return await sitemap.step(payload, cursor, asks, self._shelf)
            case FeedSource():
                return await feed.step(payload, cursor, asks, self._shelf)
            case ApiSource():
                return await api.step(payload, cursor, asks, self._shelf)
            case SqlSource():
                return await sql.step(payload, cursor, asks)
            case CsvSource():
                return await csv_file.step(payload, cursor, asks)
            case PluginSource():
                return await _plugin(payload, cursor, asks)


async def _plugin(payload: PluginSource, cursor: bytes | None, asks: Asks) -> Stepped:
    try:
        source = plugins.source(payload.name)
    except ConfigError as error:
        raise SourceFailed(str(error)) from error
    brought = await source.step(payload.options, cursor, asks)
    if len(brought.urls) > MAX_URLS:
        raise SourceFailed(
            f"the source {payload.name!r} gave {len(brought.urls)} addresses in one step, not {MAX_URLS}"
        )
    found = Gathering()
    found.take_all(brought.urls)
    return msgspec.structs.replace(
        brought,
        urls=tuple(found.urls),
        skipped=brought.skipped + found.skipped,
        notes=(*brought.notes, *found.notes)[:MAX_NOTES],
    )
