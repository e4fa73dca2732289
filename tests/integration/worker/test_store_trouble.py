"""A database that is locked or on a full disk: the crawl pauses, goes on, and loses nothing."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from perseid.errors import StoreUnavailable
from perseid.ports.store import StepResult, Store
from perseid.testing import Answer, Site
from perseid.worker.stop import Stop


def _site(site: Site, pages: int = 20) -> None:
    site.links({"/": [f"/{n}" for n in range(pages)]})
    for n in range(pages):
        site.page(f"/{n}", f"<p>{os.urandom(4000).hex()}</p>", delay_s=0.02)


async def _retrying(lab: Any, uid: str, url: str) -> None:
    async def retrying() -> bool:
        return bool((await lab.explain(url, uid)).state == "retrying")

    await lab.until(retrying)


@pytest.mark.folder
async def test_a_locked_database_pauses_the_crawl(
    site: Site, open_lab: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lab = await open_lab(store={"busy_timeout_s": 0.1})
    _site(site)
    crawl = await lab.start(site.url("/"), sitemap="skip")
    running = asyncio.create_task(lab.client.run(crawl.uid, concurrency=4))
    await site.wait_for(n=6)
    other = apsw.Connection(str(tmp_path / "store" / "perseid.db"))
    other.set_busy_timeout(5_000)
    other.execute("BEGIN IMMEDIATE")
    await asyncio.sleep(1.0)
    other.execute("ROLLBACK")
    other.close()
    async with asyncio.timeout(20):
        await running
    found = await lab.outcome(crawl.uid)
    assert len(found.paths) == 21
    assert found.failures == {}
    assert any("store.failed" in record.getMessage() for record in caplog.records)


@pytest.mark.folder
async def test_a_stop_is_heard_while_the_database_is_away(site: Site, open_lab: Any, tmp_path: Path) -> None:
    lab = await open_lab(store={"busy_timeout_s": 0.1}, worker={"grace_s": 0.5})
    _site(site)
    crawl = await lab.start(site.url("/"), sitemap="skip")
    stop = Stop()
    running = asyncio.create_task(lab.client.run(crawl.uid, concurrency=4, stop=stop))
    await site.wait_for(n=6)
    other = apsw.Connection(str(tmp_path / "store" / "perseid.db"))
    other.set_busy_timeout(5_000)
    other.execute("BEGIN IMMEDIATE")
    stop.now()
    try:
        await asyncio.wait([running], timeout=5)
        assert running.done()
    finally:
        other.execute("ROLLBACK")
        other.close()
        await asyncio.wait([running], timeout=20)
    running.exception()
    await lab.client.run(crawl.uid)
    assert len((await lab.outcome(crawl.uid)).paths) == 21


# Files can't grow for a while, as on a full disk: SQLite and the folder of large documents both meet it.
CRAMPED = """
import asyncio, logging, os, pathlib, resource, sys
from perseid.config.settings import Settings, StoreSettings
from perseid.runtime import Client

class Relief(logging.Handler):
    def emit(self, record):
        if "store." in record.getMessage():
            asyncio.get_running_loop().call_later(0.5, lift)

def lift():
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print("lifted", flush=True)

async def main(folder, uid, blob_bytes):
    logging.getLogger("perseid").addHandler(Relief())
    settings = Settings(store=StoreSettings(blob_bytes=int(blob_bytes)))
    async with await Client.open(pathlib.Path(folder), settings) as client:
        large = max(path.stat().st_size for path in pathlib.Path(folder).iterdir() if path.is_file())
        resource.setrlimit(resource.RLIMIT_FSIZE, (large + 30_000, resource.RLIM_INFINITY))
        await client.run(uid, concurrency=4)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.folder
async def test_a_full_disk_pauses_the_crawl(site: Site, lab: Any, tmp_path: Path) -> None:
    _site(site)
    crawl = await lab.start(site.url("/"), sitemap="skip")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CRAMPED, str(tmp_path / "store"), crawl.uid, "1000000",
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(60):
        out, _ = await process.communicate()
    assert process.returncode == 0
    assert b"lifted" in out, "the disk never was full: the test tests nothing"
    found = await lab.outcome(crawl.uid)
    assert len(found.paths) == 21
    assert found.failures == {}


@pytest.mark.folder
async def test_a_page_whose_body_finds_no_room_is_put_off(site: Site, lab: Any, tmp_path: Path) -> None:
    site.links({"/": ["/large"]})
    site.handle("/large", lambda _request: Answer(body=f"<p>{os.urandom(400_000).hex()}</p>"))
    crawl = await lab.start(site.url("/"), sitemap="skip")
    folder = tmp_path / "store"
    blobs = folder / "blobs"
    blobs.write_text("a file stands where the folder should be")
    running = asyncio.create_task(lab.client.run(crawl.uid))
    await site.wait_for("/large")
    await _retrying(lab, crawl.uid, site.url("/large"))
    blobs.unlink()
    async with asyncio.timeout(20):
        await running
    found = await lab.outcome(crawl.uid)
    assert found.paths == ["/", "/large"]
    assert (await lab.explain(site.url("/large"), crawl.uid)).attempts == 1


async def test_a_block_list_that_cannot_be_read_stops_fetching_not_the_worker(
    site: Site, open_lab: Any, tmp_path: Path
) -> None:
    listed = tmp_path / "blocked.txt"
    listed.write_text("blocked.test\n")
    lab = await open_lab(politeness={"block_list": str(listed)})
    site.links({"/": ["/a"]})
    crawl = await lab.start(site.url("/"), sitemap="skip")
    listed.unlink()
    running = asyncio.create_task(lab.client.run(crawl.uid))
    await _retrying(lab, crawl.uid, site.url("/"))
    assert site.counts() == {}
    listed.write_text("blocked.test\n")
    async with asyncio.timeout(20):
        await running
    assert (await lab.outcome(crawl.uid)).paths == ["/", "/a"]


async def test_what_was_claimed_though_the_answer_got_lost_is_worked_off(
    site: Site, lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else may run it before it expires, which takes minutes."""
    site.links({"/": [f"/{n}" for n in range(20)]})
    crawl = await lab.start(site.url("/"), sitemap="skip")
    store = type(lab.client._engine.store)
    step = store.step
    lost = []

    async def commits_and_is_silent(self: Store, *arguments: Any, **fields: Any) -> StepResult:
        result: StepResult = await step(self, *arguments, **fields)
        if result.leases and len(lost) < 3:
            lost.append(len(result.leases))
            raise StoreUnavailable("the connection was lost")
        return result

    monkeypatch.setattr(store, "step", commits_and_is_silent)
    async with asyncio.timeout(30):
        await lab.client.run(crawl.uid, concurrency=4)
    found = await lab.outcome(crawl.uid)
    assert (len(lost), len(found.paths)) == (3, 21)
    assert max(site.counts().values()) == 1
