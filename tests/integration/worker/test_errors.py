"""Callers of a worker meet our errors as they are, and an operator's new settings hold for hosts known before."""

from __future__ import annotations

from pathlib import Path

import pytest

from perseid.config.settings import PolitenessSettings, Settings
from perseid.errors import StoreCorrupt
from perseid.runtime.client import Client
from perseid.testing import Site


async def test_an_error_of_the_store_is_not_wrapped(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.page("/", "<h1>x</h1>")
    async with await Client.open(tmp_path) as client:
        crawl = await client.start_crawl(site.url("/"))

        async def damaged(*_args: object, **_options: object) -> None:
            raise StoreCorrupt("the database is damaged")

        monkeypatch.setattr(client._store, "step", damaged)
        with pytest.raises(StoreCorrupt):
            await client.run(crawl.uid)
        monkeypatch.undo()
        assert (await client.run(crawl.uid)).counts.done == 1


async def test_new_limits_hold_for_known_hosts(site: Site, tmp_path: Path) -> None:
    async with await Client.open(tmp_path) as client:
        await client.start_batch(["https://public.example/"])
    slower = Settings(politeness=PolitenessSettings(rate_per_host=1, per_host=2))
    async with await Client.open(tmp_path, slower) as client:
        (host,) = await client.hosts()
    assert (host.interval_us, host.max_active) == (1_000_000, 2)


async def test_bodies_of_a_crawl_that_is_gone_are_deleted(tmp_path: Path) -> None:
    async with await Client.open(tmp_path) as client:
        await client._engine.blobs.put("4711/1/document", b"x")
        await client.prune(older_than_s=0)
    assert not (tmp_path / "blobs" / "4711").exists()
