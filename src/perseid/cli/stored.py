"""`perseid list`, `jobs`, `cancel` and `prune`: what the stores under ./out hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perseid.cli import flags
from perseid.cli.context import run
from perseid.cli.output import count, emit, say, table, when
from perseid.cli.stores import stores
from perseid.errors import ConfigError, NotFound

if TYPE_CHECKING:
    from perseid.cli.stores import Opened
    from perseid.model.crawl import Crawl
    from perseid.ports.inspect import JobView


@click.command()
@flags.any_out
@flags.json
@click.pass_context
def list_crawls(ctx: click.Context, *, out: Path | None, json: bool) -> None:
    """List crawls and batches; --json: one object a line."""

    async def show() -> None:
        rows = []
        async for store in stores(ctx, out):
            for crawl in await store.crawls():
                if json:
                    emit(_crawl_json(crawl, store.out_of(crawl)))
                else:
                    rows.append(_crawl_row(crawl, store.out_of(crawl)))
        if rows:
            for line in table(("ID", "STATUS", "PAGES", "FAILED", "OPEN", "STARTED", "OUT", "URL"), rows):
                emit(line)
        elif not json:
            say(f"no crawl under {out or './out'}")

    run(ctx, show())


def _crawl_row(crawl: Crawl, out: str) -> tuple[str, ...]:
    counts = crawl.counts
    numbers = (f"{number:,}" for number in (counts.done, counts.failed, counts.open_pages))
    return (crawl.uid, crawl.status.name.lower(), *numbers, when(crawl.created_at), out, crawl.url)


def _crawl_json(crawl: Crawl, out: str) -> bytes:
    import msgspec  # noqa: PLC0415  start-up time

    return msgspec.json.encode(
        {
            "id": crawl.uid,
            "kind": crawl.kind,
            "url": crawl.url,
            "status": crawl.status.name.lower(),
            "pages": crawl.counts.done,
            "failed": crawl.counts.failed,
            "open": crawl.counts.open_pages,
            "started_at": when(crawl.created_at),
            "ended_at": None if crawl.ended_at is None else when(crawl.ended_at),
            "out": out,
        }
    )


@click.command()
@click.argument("crawl_id", metavar="[ID]", default="", help="Only of this crawl.")
@flags.any_out
@click.option("--state", default="", metavar="STATE", help="Only backlog, queued, active, retrying, failed …")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    metavar="N",
    help="Most jobs of each crawl.",
)
@flags.json
@click.pass_context
def jobs(ctx: click.Context, *, crawl_id: str, out: Path | None, state: str, limit: int, json: bool) -> None:
    """List the jobs of crawls and their state.

    One URL each; with --json one object a line.
    """
    from perseid.model.job import JobState  # noqa: PLC0415  start-up time

    async def show() -> None:
        wanted = _state(state, [known.value for known in JobState])
        rows = []
        found = False
        async for store in stores(ctx, out):
            for crawl in await _asked_for(store, crawl_id):
                found = True
                for job in await store.client.jobs(crawl.uid, state=JobState(wanted) if wanted else None, limit=limit):
                    if json:
                        emit(_job_json(job, crawl.uid))
                    else:
                        rows.append(_job_row(job))
        if crawl_id and not found:
            raise NotFound(f"no crawl {crawl_id} under {out or './out'}")
        if rows:
            for line in table(("STATE", "KIND", "DEPTH", "TRIES", "HOST", "CODE", "URL"), rows):
                emit(line)

    run(ctx, show())


async def _asked_for(store: Opened, crawl_id: str) -> list[Crawl]:
    """The crawl of this id, as far as the store has it; all without one."""
    if not crawl_id:
        return await store.crawls()
    try:
        return [await store.client.crawl(crawl_id)]
    except NotFound:
        return []


def _state(text: str, known: list[str]) -> str:
    if text and text not in known:
        raise ConfigError(f"--state {text}: choose from {', '.join(known)}")
    return text


def _job_row(job: JobView) -> tuple[str, ...]:
    return (
        job.state.value,
        job.kind.name.lower(),
        str(job.depth),
        str(job.attempts),
        job.host or "",
        job.code,
        job.url,
    )


def _job_json(job: JobView, crawl: str) -> bytes:
    import msgspec  # noqa: PLC0415  start-up time

    return msgspec.json.encode({**job._asdict(), "crawl": crawl, "kind": job.kind.name.lower()})


@click.command()
@click.argument("crawl_id", metavar="ID", help="As `perseid list` shows it.")
@flags.any_out
@click.pass_context
def cancel(ctx: click.Context, *, crawl_id: str, out: Path | None) -> None:
    """End a crawl; what it has is kept. A command that runs it ends, too."""

    async def end() -> None:
        async for store in stores(ctx, out):
            try:
                ended = await store.client.cancel(crawl_id)
            except NotFound:
                continue
            say(f"{crawl_id} in {store.name} " + ("is cancelled" if ended else "had ended before"))
            return
        raise NotFound(f"no crawl {crawl_id} under {out or './out'}; `perseid list` shows them, --out names a folder")

    run(ctx, end())


@click.command()
@click.option(
    "--older-than",
    default="7d",
    show_default=True,
    metavar="TIME",
    help="Only what ended longer ago: 12h, 7d, 0.",
)
@flags.any_out
@click.pass_context
def prune(ctx: click.Context, *, older_than: str, out: Path | None) -> None:
    """Delete ended crawls from stores; files in OUT stay."""

    async def delete() -> None:
        try:
            age = flags.seconds(older_than)
        except ConfigError as error:
            raise ConfigError(f"--older-than: {error}") from None
        total = 0
        async for store in stores(ctx, out):
            if store.only:
                raise ConfigError("--out: this store is one for all folders, and pruned as a whole; leave --out away")
            total += await store.client.prune(older_than_s=age)
        say(f"{count(total, 'crawl')} deleted")

    run(ctx, delete())
