"""From a wanted crawl or batch to its end: plan against what OUT holds, start or resume, run, sum up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perseid.cli.exits import Exit
from perseid.cli.output import count, emit, say
from perseid.cli.places import sole_writer
from perseid.cli.plan import Resume, Wanted, decide
from perseid.cli.progress import on_terminal
from perseid.cli.session import Outcome, Session, work
from perseid.cli.summary import KEPT, as_json, as_text, resume_command
from perseid.errors import NotFound
from perseid.model.crawl import CrawlStatus
from perseid.sink.place import Place, Record, discard_next, load_record, prepare, recover, save_record

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from perseid.config.settings import Settings
    from perseid.model.crawl import Crawl
    from perseid.runtime import Client
    from perseid.runtime.crew import Crew

    Starter = Callable[[Client], Awaitable[Crawl]]


class Launch(NamedTuple):
    """How a crawl is run and told about, whatever it is."""

    out: Path
    settings: Settings
    json: bool
    crew: Crew | None = None


def crew_of(settings: Settings) -> Crew | None:
    """The further processes that were asked for; to be called before there are threads or a loop."""
    if settings.worker.processes <= 1:
        return None
    from perseid.runtime.crew import Crew  # noqa: PLC0415  start-up time

    return Crew.prepare(settings.worker.processes - 1)


async def launch(how: Launch, wanted: Wanted, start: Starter, *, fresh: bool) -> Exit:
    """Start `wanted`, or go on with it where OUT holds it unfinished."""
    from perseid.runtime import Client  # noqa: PLC0415  start-up time

    place = Place(how.out)
    prepare(place)
    with sole_writer(place):
        recover(place)
        async with await Client.open(place.state, how.settings, crew=how.crew) as client:
            record = load_record(place)
            step = decide(record, await status_of(client, record), wanted, fresh=fresh)
            if isinstance(step, Resume):
                if on_terminal():
                    await _say_where(client, step.record)
                return await conduct(how, client, place, step.record)
            await _give_up_unfinished(client, record)
            discard_next(place)
            crawl = await start(client)
            begun = Record(
                uid=crawl.uid,
                kind=wanted.kind,
                url=wanted.url,
                options=msgspec.Raw(msgspec.json.encode(wanted.options)),
                staged=step.staged,
                replaces=_shown(record) if step.staged else None,
            )
            save_record(place, begun)
            return await conduct(how, client, place, begun)


async def resume(how: Launch) -> Exit:
    """Go on with the crawl that OUT shows, with the options it was started with."""
    from perseid.runtime import Client  # noqa: PLC0415  start-up time

    place = Place(how.out)
    prepare(place)
    with sole_writer(place):
        recover(place)
        async with await Client.open(place.state, how.settings, crew=how.crew) as client:
            record = load_record(place)
            if record is None or await status_of(client, record) is None:
                raise NotFound(f"{how.out} holds no crawl that could be resumed")
            return await conduct(how, client, place, record)


async def conduct(how: Launch, client: Client, place: Place, record: Record) -> Exit:
    """Run it to its end or a signal, then say how it went."""
    worker = how.settings.worker
    session = Session(client, place, record, worker.concurrency, worker.processes)
    outcome = await work(session, show=True)
    await _tell(how, client, outcome)
    if outcome.crawl.status is not CrawlStatus.SCRAPING and not outcome.kept:
        await forget_older(client, outcome.crawl, record)
    return outcome.exit


async def _tell(how: Launch, client: Client, outcome: Outcome) -> None:
    summary = await client.summary(outcome.crawl.uid)
    if how.json:
        emit(msgspec.json.encode(as_json(outcome.crawl, summary, how.out)))
        for warning in summary.warnings:
            say(f"warning: {warning}")
        if outcome.kept:
            say(KEPT)
        if outcome.crawl.status is CrawlStatus.SCRAPING:
            say(f"resume with the same command, or: {resume_command(outcome.crawl.uid, how.out)}")
        return
    for line in as_text(outcome.crawl, summary, how.out, kept=outcome.kept):
        say(line)


async def _say_where(client: Client, record: Record) -> None:
    counts = (await client.crawl(record.uid)).counts
    say(f"going on with {record.uid}: {count(counts.done, 'page')} there, {counts.open_pages:,} waiting")


def _shown(record: Record | None) -> Record | None:
    """The record of what stands in OUT: of a staged crawl that was given up, the one it was to replace."""
    if record is not None and record.staged:
        return record.replaces
    return record


async def _give_up_unfinished(client: Client, record: Record | None) -> None:
    """A store of OUT has one crawl at work; others were given up for it, or killed before they were noted.

    In a store of many only that is ours which OUT has on record.
    """
    if client.shared:
        if await status_of(client, record) is CrawlStatus.SCRAPING:
            await client.cancel(record.uid)  # type: ignore[union-attr]  # it has a status
        return
    for crawl in await client.crawls(limit=1000):
        if crawl.status is CrawlStatus.SCRAPING:
            await client.cancel(crawl.uid)


async def forget_older(client: Client, crawl: Crawl, record: Record) -> None:
    """The store of OUT keeps the crawl that OUT shows; what ended before it began is of no use any more.

    In a store of many that is the crawl whose place in OUT it took.
    """
    if client.shared:
        if record.replaces is not None and await status_of(client, record.replaces) is not None:
            await client.forget(record.replaces.uid)
        return
    import time  # noqa: PLC0415  beside its one use

    await client.prune(older_than_s=max(0.0, time.time() - crawl.created_at / 1e6))


async def status_of(client: Client, record: Record | None) -> CrawlStatus | None:
    """None where the store does not know the recorded crawl."""
    if record is None:
        return None
    try:
        return (await client.crawl(record.uid)).status
    except NotFound:
        return None
