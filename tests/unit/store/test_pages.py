"""The cache of pages in the database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib import resources
from pathlib import Path

import apsw
import msgspec
import pytest

from perseid.ports.pages import KnownPage
from perseid.store.sqlite.store import SqliteStore

PAGE = KnownPage(
    url="http://e.test/", etag='"1"', last_modified=None, headers=(("etag", '"1"'), ("x", "ü")), body=b"\0b"
)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "perseid.db", clock=lambda: 1_000)
    yield store
    await store.close()


async def test_a_page_comes_back_as_it_was_put(store: SqliteStore) -> None:
    await store.pages.put(b"k", PAGE)
    assert await store.pages.get(b"k") == PAGE
    assert await store.pages.get(b"other") is None


async def test_a_redirect_comes_back_with_its_age_and_its_cookies(store: SqliteStore) -> None:
    redirect = msgspec.structs.replace(PAGE, etag=None, status=302, fetched_at=77, chain=b"\0c")
    await store.pages.put(b"k", redirect)
    assert await store.pages.get(b"k") == redirect


async def test_the_last_put_counts(store: SqliteStore) -> None:
    await store.pages.put(b"k", PAGE)
    newer = KnownPage(url=PAGE.url, etag=None, last_modified="d", headers=(), body=b"")
    await store.pages.put(b"k", newer)
    assert await store.pages.get(b"k") == newer


async def test_a_page_is_written_with_the_next_transaction(store: SqliteStore, tmp_path: Path) -> None:
    other = await SqliteStore.open(tmp_path / "perseid.db", clock=lambda: 1_000)
    await store.pages.put(b"k", PAGE)
    assert await other.pages.get(b"k") is None
    await store.put_robots("http://e.test", 200, b"")
    assert await other.pages.get(b"k") == PAGE
    assert await store.pages.get(b"k") == PAGE
    await other.close()


async def test_many_pages_wait_for_no_other_transaction(store: SqliteStore, tmp_path: Path) -> None:
    for number in range(60):
        await store.pages.put(b"%d" % number, PAGE)
    other = await SqliteStore.open(tmp_path / "perseid.db", clock=lambda: 1_000)
    assert [await other.pages.get(b"%d" % number) for number in range(50)] == [PAGE] * 50
    await other.close()


async def test_a_page_that_does_not_fit_costs_its_company_nothing(store: SqliteStore) -> None:
    await store.pages.put(b"odd", msgspec.structs.replace(PAGE, body=None))
    await store.pages.put(b"k", PAGE)
    await store.put_robots("http://e.test", 200, b"")
    assert await store.get_robots("http://e.test") is not None
    assert await store.pages.get(b"odd") is None
    assert await store.pages.get(b"k") == PAGE


async def test_a_dropped_page_is_gone(store: SqliteStore) -> None:
    await store.pages.put(b"k", PAGE)
    await store.pages.drop(b"k")
    await store.pages.drop(b"k")
    assert await store.pages.get(b"k") is None


async def test_old_pages_expire(store: SqliteStore) -> None:
    await store.pages.put(b"k", PAGE)
    assert await store.pages.expire(1_000) == 0
    assert await store.pages.expire(1_001) == 1


async def test_a_database_of_the_first_version_gains_the_table(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    script = resources.files("perseid.store.sqlite").joinpath("migrations/0001_initial.sql").read_text(encoding="utf-8")
    old = apsw.Connection(str(path))
    old.execute(script)
    old.execute("PRAGMA user_version=1")
    old.execute(f"PRAGMA application_id={0x50455253}")
    old.close()
    store = await SqliteStore.open(path)
    await store.pages.put(b"k", PAGE)
    assert await store.pages.get(b"k") == PAGE
    await store.close()
