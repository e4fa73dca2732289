"""Many small sites, on behalf of a team: what the CLI and the server's skins are thin over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from perseid.config.named import of_team
from perseid.errors import ConfigError, NotFound
from perseid.items.comparing import changes
from perseid.items.rereading import Reread, Rereader
from perseid.model.rule import Rule
from perseid.model.seed import Seed
from perseid.model.terms import DEFAULT_TEAM
from perseid.ports.configs import ConfigKind
from perseid.ports.items import Items, SinkState, StoredItem
from perseid.ports.seeds import SeedState, SiteRow
from perseid.ports.sink import SinkSpec
from perseid.publishing.draft import redraft
from perseid.publishing.kinds import Targets
from perseid.publishing.publisher import Publisher, said
from perseid.publishing.seed_template import filled
from perseid.rules.complaint import Complaints
from perseid.rules.shaped import file_body, tree
from perseid.rules.tree import plain
from perseid.rules.trying import ItemChange
from perseid.runtime.collecting import Collector
from perseid.runtime.engine import Engine
from perseid.runtime.seeding import Seeding
from perseid.runtime.sinking import SinkRoom
from perseid.seeds import loading
from perseid.worker.stop import Stop

_PAGE = 1_000


class SiteState(NamedTuple):
    """`rule` is the version in use, None where there is none."""

    row: SiteRow
    rule: int | None


class SinkView(NamedTuple):
    """A sink that is published, or has items in line all the same. `state` is None before its first item."""

    name: str
    spec: SinkSpec | None
    state: SinkState | None


class SeedsRead(NamedTuple):
    """What was read, and what is worth knowing about it, in sentences."""

    seeds: list[Seed]
    notes: list[str]

    @property
    def seed(self) -> Seed:
        return self.seeds[0]


class Sites:
    """`author` is who publishes; `team_name` is None for the operator's own team, which may name all connections."""

    def __init__(
        self, engine: Engine, team: int = DEFAULT_TEAM, *, author: str = "", team_name: str | None = None
    ) -> None:
        self.team = team
        self._engine = engine
        self._seeds = engine.store.seeds
        self.items: Items = engine.store.items
        settings = engine.settings
        targets = Targets(frozenset(settings.connections), frozenset(settings.folders))
        if team_name is not None:
            targets = Targets(of_team(settings.connections, team_name), of_team(settings.folders, team_name))
        self.publishing = Publisher(engine.store.configs, team, author=author, targets=targets)
        self.seeding = Seeding(engine.store, team, targets=targets, now_us=engine.clock.now_us)

    # Seeds

    async def seeds_in(self, file: Path, *, template: str = "") -> SeedsRead:
        """The seeds of a file, filled in from a published template where one is named.

        Raises `SeedInvalid`, `ConfigError`, `NotFound`.
        """
        if not template:
            return await self._read(await asyncio.to_thread(loading.load_file, file))
        found = [await self.seed_of({**each, "template": template}) for each in await asyncio.to_thread(_values, file)]
        return SeedsRead([each.seed for each in found], [note for each in found for note in each.notes])

    async def seed_of(self, given: dict[str, Any]) -> SeedsRead:
        """A seed from its flat form as a JSON value, filled in from the `template` that it may name.

        Raises `SeedInvalid`, `NotFound`.
        """
        name = given.get("template")
        if isinstance(name, str):
            head = await self.publishing.head(ConfigKind.SEED_TEMPLATE, name)
            given = filled(said(head), given)
        return await self._read(await asyncio.to_thread(loading.from_value, given))

    async def _read(self, loaded: loading.Loaded) -> SeedsRead:
        sites = dict.fromkeys(seed.site_id for seed in loaded.seeds if seed.rule is None)
        configs = self._engine.store.configs
        ruleless = [site for site in sites if await configs.head(self.team, ConfigKind.RULE, site) is None]
        notes = [f"nobody has published a rule for the site {site!r} yet" for site in ruleless]
        return SeedsRead(list(loaded.seeds), [*map(str, loaded.warnings), *notes])

    async def collect(self, names: Sequence[str], stop: Stop, *, concurrency: int) -> None:
        """Work on the queue until these seeds, or all there are, have nothing left to do and no sink is to be written
        to: what a sink that is away would not take waits in its line.
        """

        async def over() -> bool:
            collector = Collector(self._engine)
            if not names:
                return await collector.idle()
            return not await self._at_work(names) and not await collector.items_wait()

        await self._engine.work(stop, over, concurrency=concurrency)

    async def _at_work(self, names: Sequence[str]) -> bool:
        """Whether any of them runs or is due, and isn't held."""
        now = self._engine.clock.now_us()
        for name in names:
            row = await self._seeds.seed(self.team, name)
            if row is None or row.state is not SeedState.ACTIVE:
                continue
            if row.running or (row.next_at is not None and row.next_at <= now):
                site = await self._seeds.site(self.team, row.site)
                if site is None or not site.paused:
                    return True
        return False

    # Sites

    async def site(self, name: str) -> SiteRow:
        """Raises `NotFound`."""
        row = await self._seeds.site(self.team, name)
        if row is None:
            raise NotFound(f"there is no site {name!r}; a seed makes it")
        return row

    async def sites(self, *, after: str = "", limit: int = 100) -> list[SiteState]:
        """By name."""
        rows = await self._seeds.sites(self.team, after=after, limit=limit)
        return [await self.state_of(row) for row in rows]

    async def state_of(self, row: SiteRow) -> SiteState:
        head = await self._engine.store.configs.head(self.team, ConfigKind.RULE, row.name)
        return SiteState(row, None if head is None else head.version)

    async def pause(self, name: str, reason: str) -> SiteRow:
        """Hold all its runs. Raises `NotFound`."""
        await self._seeds.pause_site((await self.site(name)).id, reason or "by hand")
        return await self.site(name)

    async def resume(self, name: str) -> SiteRow:
        """Raises `NotFound`."""
        await self._seeds.pause_site((await self.site(name)).id, None)
        return await self.site(name)

    # Items

    async def all_items(
        self, *, site: str | None = None, seed: str | None = None, after: int = 0, since: int = 0
    ) -> AsyncIterator[StoredItem]:
        """In the order of their last change; only those that changed at `since` (µs) or later."""
        while rows := await self.items.items(self.team, site=site, seed=seed, after=after, limit=_PAGE):
            for row in rows:
                if row.updated_at >= since:
                    yield row
            after = rows[-1].change

    async def reread(
        self,
        site: str,
        *,
        rule_version: int | None = None,
        reason: str | None = None,
        tell: Callable[[Reread], None] | None = None,
    ) -> Reread:
        """Read the pages of these exceptions again by the rule in use; nothing is fetched. Raises `NotFound`."""
        reader = Rereader(self.items, self._seeds, self._engine.store.configs)
        return await reader.reread(self.team, site, rule_version=rule_version, reason=reason, tell=tell)

    async def changes(self, rule: Rule) -> AsyncGenerator[ItemChange, None]:
        """What this rule would make of the kept pages of its site, against the one in use; page by page, those where
        something changes. Raises `NotFound`.
        """
        row = await self.site(rule.site_id)
        head = await self.publishing.head(ConfigKind.RULE, rule.site_id)
        async for change in changes(self.items, row.id, redraft(head).value, rule):
            yield change

    # Sinks

    async def sinks(self) -> list[SinkView]:
        """By name."""
        states = {state.name: state for state in await self.items.sink_states(self.team)}
        specs = {
            head.name: msgspec.json.decode(head.body, type=SinkSpec)
            for head in await self.publishing.all_heads(ConfigKind.SINK)
        }
        return [SinkView(name, specs.get(name), states.get(name)) for name in sorted({*states, *specs})]

    async def check_sinks(self, names: Sequence[str] = ()) -> list[tuple[str, list[str]]]:
        """What is wrong with each (all where none is named), in sentences; targets are asked, no item is altered. One
        that is all right is held no longer, if it failed before.

        Raises `NotFound` for one that nobody has published.
        """
        room = SinkRoom(self._engine.store.configs, self._engine.settings)
        try:
            wanted = names or [head.name for head in await self.publishing.all_heads(ConfigKind.SINK)]
            for name in wanted:
                await self.publishing.head(ConfigKind.SINK, name)
            found = [(name, await room.check(self.team, name)) for name in wanted]
        finally:
            await room.close()
        for name, wrong in found:
            if not wrong:
                await self.items.try_sink(self.team, name)
        return found

    async def resend(self, sink: str, *, site: str | None = None) -> int:
        """Put all items (of a site) in its line again; how many. Raises `NotFound`."""
        await self.publishing.head(ConfigKind.SINK, sink)
        return await self.items.line_up(self.team, sink, site=site)


def _values(file: Path) -> list[dict[str, Any]]:
    """What a file says, as JSON values. Raises `SeedInvalid`, `ConfigError`."""
    complaints = Complaints(str(file))
    root = tree(file_body(file, "seed"), complaints, is_json=file.suffix.lower() == ".json")
    if root is None:
        raise loading.SeedInvalid(complaints.sorted())
    value = plain(root)
    found = value if isinstance(value, list) else [value]
    if not all(isinstance(each, dict) for each in found):
        raise ConfigError(f"{file}: a seed is a mapping; it begins with `seed_id: NAME`")
    return found
