"""The stores that a command about stored crawls looks into: each folder's own, or the one that the settings name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from perseid.cli.context import loaded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    import click

    from perseid.model.crawl import Crawl
    from perseid.runtime import Client

SHARED = "the store"


class Opened(NamedTuple):
    """One store. A shared one holds crawls of many: `only` names the one that was asked for by its folder."""

    client: Client
    name: str
    outs: Mapping[str, Path]
    only: str = ""

    def out_of(self, crawl: Crawl) -> str:
        """The folder that shows it, for people; empty where none of here does."""
        if not self.client.shared:
            return self.name
        return str(self.outs.get(crawl.uid, ""))

    async def crawls(self) -> list[Crawl]:
        found = await self.client.crawls(limit=1000 if self.only else 100)
        return [crawl for crawl in found if self.only in ("", crawl.uid)]


async def stores(ctx: click.Context, out: Path | None) -> AsyncIterator[Opened]:
    """One after the other, each open while it is looked at. Raises `NotFound` where `out` holds no crawl."""
    from perseid.cli.places import known  # noqa: PLC0415  start-up time
    from perseid.runtime import Client  # noqa: PLC0415  start-up time
    from perseid.runtime.stores import is_shared  # noqa: PLC0415  start-up time

    settings = loaded(ctx).settings
    if not is_shared(settings):
        for place in known(out):
            async with await Client.open(place.state, settings) as client:
                yield Opened(client, str(place.out), {})
        return
    from perseid.sink.place import load_record  # noqa: PLC0415  start-up time

    outs = {record.uid: place.out for place in known(out, shared=True) if (record := load_record(place))}
    only = next(iter(outs)) if out is not None else ""
    async with await Client.open(Path(), settings) as client:
        yield Opened(client, SHARED, outs, only)
