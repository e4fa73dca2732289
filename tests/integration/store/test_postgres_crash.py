"""A server that crashes forgets what it had not yet written to disk: nobody may go by what he remembers of it.

The server is one of the tests' own. What is committed without waiting for the disk is brought there some moments later,
by a process of the server that is stopped here first, so that a crash surely takes it along.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import asyncpg
import pytest

from perseid.errors import StoreUnavailable
from perseid.ports.store import HostDefaults, NewCrawl, StepResult
from perseid.ports.work import Done, Finished, NewUrl
from perseid.store.postgres.store import PgStore
from perseid.testing.cluster import PostgresCluster

pytestmark = pytest.mark.slow
START = NewUrl("https://a.example/", 1, "a.example")
OTHERS = [NewUrl(f"https://{host}.example/", key, f"{host}.example") for key, host in enumerate("abc", start=2)]
FREE = HostDefaults(max_active=1_000_000, interval_us=0, global_interval_us=0)

# With the log's own writer stopped, nobody but who commits and waits for it brings the log to disk.
LAZY = ("autovacuum=off", "bgwriter_lru_maxpages=0", "checkpoint_timeout=1h")


@pytest.fixture
def cluster() -> Iterator[PostgresCluster]:
    cluster = PostgresCluster(*LAZY)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.dispose()


async def test_what_a_crash_took_along_is_found_and_done_again(cluster: PostgresCluster) -> None:
    store = await PgStore.open(cluster.url, defaults=FREE, connections=1)
    try:
        crawl = await store.start(NewCrawl(uid="c", url=START.url, options=b"{}", key_seed=1, first=(START,)))
        worker = await store.register("here", 1, 1)
        (lease,) = (await store.step(worker, (), 1)).leases
        connection = await asyncpg.connect(cluster.url)
        await connection.execute("CHECKPOINT")  # the claim is there for good
        writer = await connection.fetchval("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
        os.kill(writer, signal.SIGSTOP)
        await connection.close()
        connected = store.connected
        done = await store.step(worker, [Finished(lease=lease, end=Done(), urls=OTHERS)], 0)
        assert done.kept == [True]
        cluster.crash()
        cluster.start()
        assert await _patiently(store.held, worker) == [lease], "the crash took the step along"
        assert store.connected > connected
        again: StepResult = await store.step(worker, [Finished(lease=lease, end=Done(), urls=OTHERS)], 10)
        assert again.kept == [True]
        assert {each.url for each in again.leases} == {url.url for url in OTHERS}
        assert {each.host for each in again.leases} == {url.host for url in OTHERS}
        assert (await store.crawl_by_id(crawl)).counts.discovered == 4
        assert await store.audit() == []
    finally:
        await store.close()


async def _patiently(ask, *arguments):  # type: ignore[no-untyped-def]
    for _ in range(100):
        try:
            return await ask(*arguments)
        except StoreUnavailable:
            continue
    raise AssertionError("the server did not come back")
