"""What SQLite says is told as the store's own errors; what older versions left behind is understood."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from perseid.errors import StoreError, StoreUnavailable
from perseid.model.crawl import CrawlKind
from perseid.model.job import JobState
from perseid.ports.store import HostDefaults, NewCrawl
from perseid.ports.work import Failed, Finished, NewUrl
from perseid.store.sqlite.connection import connect, migrate, transaction
from perseid.store.sqlite.store import SqliteStore

URL = "https://www.site.example/a"


@pytest.mark.parametrize("error", [apsw.BusyError, apsw.LockedError, apsw.ProtocolError, apsw.FullError, apsw.IOError])
def test_what_may_pass_is_worth_a_retry(tmp_path: Path, error: type[apsw.Error]) -> None:
    connection = connect(tmp_path / "perseid.db", cache_kib=64, busy_timeout_s=1)
    with pytest.raises(StoreUnavailable) as told, transaction(connection, tmp_path / "perseid.db"):
        raise error
    assert told.value.retryable
    assert not connection.in_transaction
    connection.close()


def test_a_disk_that_is_full_from_the_start_is_said_and_the_store_made_once_there_is_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, script = tmp_path / "perseid.db", tmp_path / "0001.sql"
    connection = connect(path, cache_kib=64, busy_timeout_s=1)

    def full() -> None:
        raise apsw.FullError

    connection.create_scalar_function("full", full, 0)
    script.write_text("CREATE TABLE one (id); ROLLBACK; SELECT full();")  # as SQLite does of itself then
    with monkeypatch.context() as patch:
        patch.setattr("perseid.store.sqlite.connection.migrations", lambda: [script])
        with pytest.raises(StoreUnavailable, match="is full"):
            migrate(connection, path)
    migrate(connection, path)
    assert not connection.in_transaction
    connection.close()


async def test_a_failed_page_of_a_crawl_that_was_over_before_jobs_knew_their_host_can_be_retried(
    tmp_path: Path,
) -> None:
    store = await SqliteStore.open(tmp_path / "perseid.db")
    worker = await store.register("here", 1, 1)
    crawl = await store.start(
        NewCrawl(
            uid="u", url=URL, options=b"{}", key_seed=1, kind=CrawlKind.BATCH, first=(NewUrl(URL, 1, "site.example"),)
        )
    )
    (lease,) = (await store.step(worker, (), 1)).leases
    await store.step(worker, [Finished(lease=lease, end=Failed(code="timeout", message="too slow"))], 0)
    await store.sweep()
    with apsw.Connection(str(tmp_path / "perseid.db")) as old:
        old.execute("UPDATE url SET host = NULL, lane = NULL, seq = NULL")
    old.close()
    assert await store.retry_jobs([lease.job]) == 1
    (again,) = (await store.step(worker, (), 1)).leases
    assert (again.job, again.host) == (lease.job, "site.example")
    assert [job.state for job in await store.jobs(crawl=crawl)] == [JobState.ACTIVE]
    assert await store.audit() == []
    await store.close()


async def test_a_store_may_be_closed_twice_and_then_says_that_it_is_closed(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "perseid.db", defaults=HostDefaults())
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="was closed"):
        await store.workers()
