"""A whole store from one database into another one that is empty, offline: `perseid db copy`.

The source is marked as left and refuses every write, the target is marked as being filled until all is there. A copy
that was cut off goes on when it is asked for again; `reopen` gives a source back to its work instead.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from perseid.config.settings import Settings
from perseid.errors import ConfigError, MissingExtra, NotFound, StoreError
from perseid.ports.blob import Blobs
from perseid.ports.transfer import OWN, TABLES, Side, Table
from perseid.ports.truth import Truth
from perseid.runtime.stores import DATABASE, is_shared, open_store
from perseid.worker.enroll import dead_here

_WATCHED_S = 5.0
_BODIES_AT_ONCE = 4
_DOCUMENTS = next(table for table in TABLES if table.name == "document")
Tell = Callable[[str, int, int], None]
"""What is being copied, how much of it is there, and how much there is."""


class Place(NamedTuple):
    """A store as somebody named it; `settings` are those of a process that works on it."""

    folder: Path
    settings: Settings

    @property
    def shared(self) -> bool:
        return is_shared(self.settings)


class Copied(msgspec.Struct, kw_only=True):
    """What was done. `findings` is what the target counts differently from what it holds: empty when all is well."""

    source: str
    target: str
    rows: dict[str, int]
    bodies: int = 0
    bodies_missing: int = 0
    """Named by a document, and not there in the source either."""
    leases_returned: int = 0
    seconds: float = 0.0
    findings: list[str] = []


def place_of(text: str, settings: Settings) -> Place:
    """A PostgreSQL's address, the folder of a crawl or a server, or the file in it. Raises `ConfigError`."""
    if "://" in text:
        place = Place(Path(), _with_url(settings, text))
        is_shared(place.settings)
        return place
    path = Path(text)
    if path.suffix == ".db":
        if path.name != DATABASE:
            raise ConfigError(f"{text}: a store's file is named {DATABASE}; name its folder")
        path = path.parent
    elif not (path / DATABASE).exists() and (path / ".perseid").is_dir():
        path /= ".perseid"
    return Place(path, _with_url(settings, ""))


def _with_url(settings: Settings, url: str) -> Settings:
    return msgspec.structs.replace(settings, store=msgspec.structs.replace(settings.store, url=url))


async def copy(source: Place, target: Place, tell: Tell) -> Copied:
    """Raises `StoreError` where the source is at work or the target holds something, and for trouble on the way."""
    began = time.monotonic()
    if not source.shared and not (source.folder / DATABASE).is_file():
        raise NotFound(f"{source.folder} holds no store")
    returned = await _rest(source)
    async with _side(source) as old, _side(target) as new:
        await _mark(old, new)
        found = Copied(source=old.shown, target=new.shown, rows={}, leases_returned=returned)
        for table in TABLES:
            found.rows[table.name] = await _copy_table(table, old, new, tell)
        found.bodies, found.bodies_missing = await _copy_bodies(source, target, old, tell)
        await new.set_counters(await old.counters())
        await new.tidy()
        await new.stay()
    found.findings = await _examine(target)
    found.seconds = time.monotonic() - began
    return found


async def reopen(place: Place) -> bool:
    """Take the mark away that a copy left: this store is the truth again, the other one isn't. False without one."""
    async with _side(place) as side:
        left = await side.relocation()
        if left is None:
            return False
        if left.arrived:
            raise StoreError(f"{side.shown} was being filled from {left.other}, and is not whole; copy it again")
        await side.stay()
    return True


@asynccontextmanager
async def _side(place: Place) -> AsyncIterator[Side]:
    side: Side
    if place.shared:
        try:
            from perseid.store.postgres.transfer import PgSide  # noqa: PLC0415 - an extra
        except ModuleNotFoundError as error:
            raise MissingExtra(
                f"{error.name}, which speaks to PostgreSQL, is missing: pip install 'perseid[postgres]'"
            ) from error
        side = await PgSide.open(place.settings.store.url)
    else:
        from perseid.store.sqlite.transfer import SqliteSide  # noqa: PLC0415 - only where one is

        side = await SqliteSide.open(place.folder / DATABASE)
    try:
        yield side
    finally:
        await side.close()


async def _rest(source: Place) -> int:
    """Nobody works on it, and what those held who did goes back to waiting; how many jobs. Nothing once it is left."""
    async with _side(source) as side:
        if await side.relocation() is not None:
            return 0
    store, _blobs = await open_store(source.folder, source.settings)
    try:
        await _refuse_alive(store, source)
        return await store.reap([worker.id for worker in await store.workers()])
    finally:
        await store.close()


async def _refuse_alive(store: Truth, source: Place) -> None:
    """Raises `StoreError` where a worker or a server shows life."""
    before = await store.workers()
    dead = set(dead_here(before))
    beats = {worker.id: worker.beat for worker in before if worker.id not in dead}
    if not beats:
        return
    await asyncio.sleep(max(_WATCHED_S, 2.5 * source.settings.worker.beat_s))
    alive = [worker for worker in await store.workers() if beats.get(worker.id, worker.beat) != worker.beat]
    if alive:
        raise StoreError(
            f"{len(alive)} processes are at work on this store (the first is {alive[0].pid} on {alive[0].host});"
            " stop all workers and servers, then copy"
        )


async def _mark(old: Side, new: Side) -> None:
    """Both know of each other before the first row is copied."""
    left, arrived = await old.relocation(), await new.relocation()
    if left is not None and (left.arrived or left.other != new.shown):
        what = "being filled from" if left.arrived else "copied to"
        raise StoreError(f"{old.shown} was {what} {left.other}; `perseid db reopen` takes that back")
    if arrived is None:
        if left is not None:
            raise StoreError(f"{old.shown} was copied to {new.shown} already")
        await _must_be_empty(new)
        await new.arrive(old.shown)
    elif not arrived.arrived or arrived.other != old.shown:
        what = "is being filled from" if arrived.arrived else "was copied to"
        raise StoreError(f"{new.shown} {what} {arrived.other}; choose another, empty database")
    if left is None:
        await old.leave(new.shown)


async def _must_be_empty(new: Side) -> None:
    for table in TABLES:
        # A team is there from the first opening on.
        if await new.count(table.name) > (1 if table.name == "team" else 0):
            raise StoreError(f"{new.shown} holds rows already ({table.name}); copy into an empty database")


async def _copy_table(table: Table, old: Side, new: Side, tell: Tell) -> int:
    total = await old.count(table.name)
    columns = await _columns(table, old, new)
    after, done = 0, 0
    if table.numbered and table.name != "team":
        after, done = await new.last(table), await new.count(table.name)
    elif await new.count(table.name):
        await new.clear(table.name)
    async for rows in old.rows(table, columns, after=after):
        await new.add(table.name, columns, rows)
        done += len(rows)
        tell(table.name, done, total)
    there = await new.count(table.name)
    if there != total:
        raise StoreError(f"{table.name}: {total:,} rows in {old.shown}, {there:,} in {new.shown}; copy it again")
    return total


async def _columns(table: Table, old: Side, new: Side) -> list[str]:
    """Those of both. Raises `StoreError` where one has what the other would lose."""
    own = OWN.get(table.name, set())
    here, there = await old.columns(table.name), set(await new.columns(table.name))
    apart = (set(here) ^ there) - own
    if apart:
        raise StoreError(f"the two databases differ in {table.name} ({', '.join(sorted(apart))}): no copy is possible")
    return [column for column in here if column in there]


async def _copy_bodies(source: Place, target: Place, old: Side, tell: Tell) -> tuple[int, int]:
    """Large bodies, unless both look for them in the same folder: (there, missing in the source too)."""
    if source.settings.store.blob_folder:
        return 0, 0
    wanted = [row[0] async for rows in old.rows(_DOCUMENTS, ["blob"]) for row in rows if row[0] is not None]
    if not wanted:
        return 0, 0
    async with _bodies(source) as there, _bodies(target) as here:
        limit = asyncio.Semaphore(_BODIES_AT_ONCE)

        async def one(path: str) -> bool:
            async with limit:
                return await _copy_body(path, there, here)

        done = missing = 0
        for at in range(0, len(wanted), 100):
            found = await asyncio.gather(*map(one, wanted[at : at + 100]))
            done += sum(found)
            missing += len(found) - sum(found)
            tell("bodies", done + missing, len(wanted))
    return done, missing


async def _copy_body(path: str, there: Blobs, here: Blobs) -> bool:
    """Bodies are never changed: one that is here is the same."""
    try:
        await here.get(path)
    except NotFound:
        try:
            await here.put(path, await there.get(path))
        except NotFound:
            return False
    return True


@asynccontextmanager
async def _bodies(place: Place) -> AsyncIterator[Blobs]:
    """Those of a store, whether it is the truth by now or not."""
    if not place.shared:
        from perseid.runtime.stores import BLOBS  # noqa: PLC0415 - beside its one use
        from perseid.store.blobs import FileBlobs  # noqa: PLC0415 - beside its one use

        yield FileBlobs(place.folder / BLOBS)
        return
    from perseid.store.postgres.store import PgStore  # noqa: PLC0415 - an extra

    store = await PgStore.open(place.settings.store.url, connections=_BODIES_AT_ONCE)
    try:
        yield store.blobs
    finally:
        await store.close()


async def _examine(target: Place) -> list[str]:
    store, _blobs = await open_store(target.folder, target.settings)
    try:
        findings = [
            f"{finding.what}: expected {finding.expected}, found {finding.found}" for finding in await store.audit()
        ]
        stranded = await store.unpark()
        return findings + ([f"{stranded} queues waited for nothing"] if stranded else [])
    finally:
        await store.close()
