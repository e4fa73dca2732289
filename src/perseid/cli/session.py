"""Running one crawl in the foreground: pages to OUT as they come, progress, Ctrl-C, and the end of it."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perseid.cli.exits import Exit
from perseid.cli.interrupt import Interrupt, signals
from perseid.cli.progress import Progress
from perseid.inplace import InPlace
from perseid.model.crawl import CrawlStatus
from perseid.sink.ledger import write_failed, write_skipped
from perseid.sink.pages import PageWriter
from perseid.sink.place import FAILED_JSONL, SKIPPED_JSONL, Place, Record, discard_next, replace, save_record
from perseid.worker.stop import Stop

if TYPE_CHECKING:
    from perseid.model.crawl import Crawl
    from perseid.model.document import Document
    from perseid.runtime import Client

    Page = tuple[int, bytes, Document]

POLL_S = 0.5
COMMIT_S = 1.0
BATCH_PAGES = 100
BATCH_BYTES = 4 * 1024 * 1024


class Session(NamedTuple):
    """One crawl and where its result goes."""

    client: Client
    place: Place
    record: Record
    concurrency: int
    processes: int


class Outcome(NamedTuple):
    """How the session ended; `signal` is what interrupted it."""

    crawl: Crawl
    signal: signal.Signals | None
    kept: bool
    """The earlier result stays in OUT, since this one is nothing to replace it with."""

    @property
    def exit(self) -> Exit:
        if self.signal is not None and self.crawl.status is CrawlStatus.SCRAPING:
            return Exit.TERMINATED if self.signal is signal.SIGTERM else Exit.INTERRUPTED
        if self.crawl.status is not CrawlStatus.COMPLETED:
            return Exit.ERROR
        return Exit.OK if self.crawl.counts.done else Exit.HOLLOW


async def work(session: Session, *, show: bool) -> Outcome:
    """Crawl until the end or a signal, and write all there is to OUT.

    Raises `StoreUnavailable` when OUT can't be written: the crawl has been stopped gracefully by then.
    """
    stop = Stop()
    folder = session.place.target(staged=session.record.staged)
    async with signals(Interrupt(stop)) as interrupt:
        with PageWriter(folder, session.place.cursor, session.record.uid) as writer:
            crawl = await _run_and_write(session, stop, writer, Progress(show=show))
        kept = await _finish(session, crawl)
    return Outcome(crawl, interrupt.signal, kept)


async def _run_and_write(session: Session, stop: Stop, writer: PageWriter, progress: Progress) -> Crawl:
    client, uid, here = session.client, session.record.uid, InPlace()
    running = asyncio.create_task(
        client.run(uid, concurrency=session.concurrency, processes=session.processes, stop=stop)
    )
    try:
        with progress:
            committed = time.monotonic()
            while not running.done():
                await asyncio.wait({running}, timeout=POLL_S)
                await _write_new(client, uid, writer, here)
                if time.monotonic() - committed >= COMMIT_S:
                    await asyncio.to_thread(writer.commit)
                    committed = time.monotonic()
                if progress.shown:
                    progress.update(await client.crawl(uid), await client.progress(uid))
    except BaseException:
        stop.ask()
        await asyncio.wait({running})
        if not running.cancelled():
            running.exception()  # the first error is the one to tell
        raise
    crawl = running.result()
    await _write_new(client, uid, writer, here)
    return crawl


async def _write_new(client: Client, uid: str, writer: PageWriter, here: InPlace) -> None:
    """Write what was finished since; where the disk is slow in a thread, for it must not hold up the fetching."""
    batch: list[Page] = []
    size = 0
    async for page in client.documents(uid, after=writer.seq):
        batch.append(page)
        size += len(page[1])
        if len(batch) >= BATCH_PAGES or size >= BATCH_BYTES:
            await _write(writer, batch, here)
            batch, size = [], 0
    if batch:
        await _write(writer, batch, here)


async def _write(writer: PageWriter, pages: list[Page], here: InPlace) -> None:
    def write() -> None:
        for seq, line, document in pages:
            writer.write(seq, line, document)

    if here.may:
        here.do(write)
        await asyncio.sleep(0)
    else:
        await asyncio.to_thread(write)


async def _finish(session: Session, crawl: Crawl) -> bool:
    """Write the lists beside the pages, and where the crawl has ended let OUT show it.

    A crawl that was cancelled, or brought no page, doesn't replace an earlier result: True where that stays.
    """
    client, place, record = session.client, session.place, session.record
    folder = place.target(staged=record.staged)
    await write_skipped(folder / SKIPPED_JSONL, client.denied(record.uid))
    await write_failed(folder / FAILED_JSONL, client.failures(record.uid))
    if crawl.status is CrawlStatus.SCRAPING:
        return False
    if record.replaces is not None and not (crawl.status is CrawlStatus.COMPLETED and crawl.counts.done):
        save_record(place, msgspec.structs.replace(record.replaces, staged=False, done=True))
        discard_next(place)
        return True
    if record.staged:
        replace(place)
    save_record(place, msgspec.structs.replace(record, staged=False, done=True, replaces=None))
    return False
