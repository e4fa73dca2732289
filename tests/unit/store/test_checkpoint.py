"""Moving the log into the database on a disk that is full."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from perseid.errors import StoreUnavailable
from perseid.store.sqlite.scrub import scrub
from perseid.store.sqlite.store import SqliteStore


async def test_a_full_disk_is_the_stores_own_trouble(tmp_path: Path) -> None:
    """What waits for space tries again at such an error, and only at such."""
    path = tmp_path / "perseid.db"
    store = await SqliteStore.open(path)
    await store.checkpoint()
    for number in range(20):
        await store.put_robots(f"http://{number}.example", 200, os.urandom(20_000))
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 4_096, unlimited[1]))
    try:
        with pytest.raises(StoreUnavailable):
            await store.checkpoint()
        assert not scrub(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    await store.checkpoint()
    assert path.stat().st_size > 400_000
    await store.close()
