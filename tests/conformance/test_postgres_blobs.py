"""Bodies in PostgreSQL keep every promise of the contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from perseid.errors import StoreError
from perseid.ports.blob import Blobs
from perseid.store.postgres.store import PgStore
from perseid.testing.conformance.blobs import blob_suite
from perseid.testing.postgres import give_back, take_database, url_of


@asynccontextmanager
async def rows() -> AsyncIterator[Blobs]:
    name = await take_database()
    store = await PgStore.open(url_of(name))
    try:
        yield store.blobs
    finally:
        await store.close()
        await give_back(name)


globals().update(blob_suite(rows))


async def test_a_path_without_the_number_of_a_crawl_is_refused(blobs: Blobs) -> None:
    for path in ("document", "x/1/document", "1", "1/"):
        with pytest.raises(StoreError, match="number of its crawl"):
            await blobs.put(path, b"x")
