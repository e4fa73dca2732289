"""A migration that takes something away waits until nobody of an older release is at work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import ModuleType

import asyncpg  # type: ignore[import-untyped]  # ships no types
import pytest

from perseid.errors import StoreError
from perseid.ports.truth import Truth
from perseid.store import contract
from perseid.store.contract import Working, contracts, older, refuse_beside
from perseid.store.postgres import connection as postgres
from perseid.store.postgres.store import PgStore
from perseid.store.sqlite import connection as sqlite
from perseid.store.sqlite.store import SqliteStore
from perseid.testing.postgres import give_back, take_database, url_of

Open = Callable[[], Awaitable[Truth]]


def row(number: int, beat: int, version: str) -> Working:
    return Working(number, "there", 7, beat, version)


def test_a_script_says_by_its_first_line_that_it_takes_away() -> None:
    assert contracts(["CREATE TABLE x ();", "-- contract: the old name of x\nDROP TABLE x;"])
    assert not contracts(["-- What a fleet knows.\n-- contract: not the first line"])


def test_older_is_by_numbers_and_no_version_is_the_oldest() -> None:
    rows = [row(1, 5, ""), row(2, 5, "0.0.9"), row(3, 5, contract.__version__), row(4, 5, "99.1")]
    assert set(older(rows)) == {1, 2}


def test_only_who_shows_life_stands_against_it() -> None:
    before = {1: 5, 2: 5}
    refuse_beside(before, [row(1, 5, "0.0.1"), row(3, 9, "99")], "the store")
    with pytest.raises(StoreError, match=r"1 workers of an older release .* process 7 on there, version 0\.0\.2"):
        refuse_beside(before, [row(1, 5, "0.0.1"), row(2, 6, "0.0.2")], "the store")
    with pytest.raises(StoreError, match="version unknown"):
        refuse_beside({}, [row(9, 0, "")], "the store")


class Side:
    """One database, and the module that brings it up to date."""

    def __init__(self, open_store: Open, module: ModuleType) -> None:
        self.open = open_store
        self.module = module


@pytest.fixture(params=["sqlite", "postgresql"])
async def side(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Side]:
    if request.param == "sqlite":
        yield Side(lambda: SqliteStore.open(tmp_path / "perseid.db"), sqlite)
        return
    name = await take_database()
    known = len(postgres.migrations())
    yield Side(lambda: PgStore.open(url_of(name)), postgres)
    connection = await asyncpg.connect(url_of(name))
    await connection.execute("DROP TABLE IF EXISTS perseid_less")
    await connection.execute("DELETE FROM perseid_schema WHERE version > $1", known)
    await connection.close()
    await give_back(name)


async def test_it_waits_for_older_workers_and_for_nobody_else(
    side: Side, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await side.open()
    silent = await store.register("there", 1, 1, slots=4, version="0.0.1")
    worker = await store.register("there", 7, 1, slots=4, version="0.0.1")
    newer = await store.register("there", 8, 1, slots=4, version="99.0")
    scripts = [*side.module.migrations(), tmp_path / "9999_less.sql"]
    scripts[-1].write_text("-- contract: nothing anybody uses\nCREATE TABLE perseid_less (id INTEGER);")
    monkeypatch.setattr(side.module, "migrations", lambda: scripts)
    monkeypatch.setattr(side.module, "OBSERVED_S", 0.3)

    async def beat(*workers: int) -> None:
        while True:
            for number in workers:
                await store.beat(number)  # type: ignore[arg-type]
            await asyncio.sleep(0.05)

    beating = asyncio.create_task(beat(worker, newer))
    with pytest.raises(StoreError, match="1 workers of an older release are at work"):
        await side.open()
    beating.cancel()
    beating = asyncio.create_task(beat(newer))
    later = await side.open()
    beating.cancel()
    assert {silent, worker, newer} <= {seen.id for seen in await later.workers()}
    await later.close()
    await store.close()
