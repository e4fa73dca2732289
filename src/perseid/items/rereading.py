"""After a rule was mended: the kept pages of items that were held back are read again, and nothing is fetched."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from perseid.errors import NotFound
from perseid.items.reading import KeptReader
from perseid.model.rule import Rule
from perseid.model.seed import Seed
from perseid.ports.configs import ConfigKind, Configs
from perseid.ports.items import Harvest, Items, SitePage
from perseid.ports.seeds import Seeds, SiteRow
from perseid.rules.harvesting import Origin, harvest

CHUNK = 25
"""Pages that are read between two writes; what was written stays, whenever it is stopped."""


class Reread(msgspec.Struct, frozen=True, kw_only=True):
    """How far it got."""

    pages: int = 0
    """Read."""
    items: int = 0
    """Sound now: on their way to the sinks."""
    exceptions: int = 0
    """Still broken."""
    unread: int = 0
    """Pages left as they are: they can't be read, or the seed that brought the rule is gone."""


class _Reading(NamedTuple):
    """A rule and its version; 0 for one that stands in a seed."""

    rule: Rule
    version: int


class Rereader:
    """Reads groups of exceptions again, each page by the rule that its site, or its seed, has now.

    It may be stopped at any time and begun anew: what is mended by then is no exception any more.
    """

    def __init__(self, items: Items, seeds: Seeds, configs: Configs, reader: KeptReader | None = None) -> None:
        self._items = items
        self._seeds = seeds
        self._configs = configs
        self._reader = reader or KeptReader()

    async def reread(
        self,
        team: int,
        site: str,
        *,
        rule_version: int | None = None,
        reason: str | None = None,
        tell: Callable[[Reread], None] | None = None,
    ) -> Reread:
        """Read the pages of these exceptions; `tell` hears of each chunk.

        Raises `NotFound` where the team has no such site, or nobody has published a rule for it.
        """
        row = await self._seeds.site(team, site)
        if row is None:
            raise NotFound(f"there is no site {site!r}")
        done, after = Reread(), 0
        while pages := await self._items.broken_pages(
            team, site=site, rule_version=rule_version, reason=reason, after=after, limit=CHUNK
        ):
            rules = _Rules(self._seeds, self._configs, row)
            found = [await self._read(row, page, await rules.of(page)) for page in pages]
            harvests = [each for each in found if each is not None]
            await self._items.reread(harvests)
            done = Reread(
                pages=done.pages + len(harvests),
                items=done.items + sum(len(each.items) for each in harvests),
                exceptions=done.exceptions + sum(len(each.exceptions) for each in harvests),
                unread=done.unread + len(found) - len(harvests),
            )
            after = pages[-1].id
            if tell is not None:
                tell(done)
        return done

    async def _read(self, row: SiteRow, page: SitePage, reading: _Reading | None) -> Harvest | None:
        if reading is None:
            return None
        kept = page.page
        found = await self._reader.read(reading.rule, kept)
        if found is None:
            return None
        origin = Origin(
            team=row.team,
            site=row.id,
            version=reading.version,
            seed=page.seed,
            url=page.url,
            found_at=kept.url,
            kind=kept.kind,
            fetched_at=kept.fetched_at,
            list_page=kept.list_page,
        )
        return harvest(reading.rule, found, origin)


class _Rules:
    """The rules of one chunk: what is published meanwhile holds from the next one on."""

    def __init__(self, seeds: Seeds, configs: Configs, row: SiteRow) -> None:
        self._seeds = seeds
        self._configs = configs
        self._row = row
        self._published: _Reading | None = None
        self._own: dict[str, _Reading | None] = {}

    async def of(self, page: SitePage) -> _Reading | None:
        """Raises `NotFound`."""
        if page.rule_version == 0:
            if page.seed not in self._own:
                self._own[page.seed] = await self._of_seed(page.seed)
            return self._own[page.seed]
        if self._published is None:
            head = await self._configs.head(self._row.team, ConfigKind.RULE, self._row.name)
            if head is None:
                raise NotFound(f"nobody has published a rule for the site {self._row.name!r}")
            self._published = _Reading(msgspec.json.decode(head.body, type=Rule), head.version)
        return self._published

    async def _of_seed(self, name: str) -> _Reading | None:
        """The rule that the seed brings along now; None where it has none, or is gone."""
        row = await self._seeds.seed(self._row.team, name)
        rule = None if row is None else msgspec.json.decode(row.spec, type=Seed).rule
        return None if rule is None else _Reading(msgspec.convert(rule, Rule), 0)
