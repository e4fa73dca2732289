"""`perseid seeds`: what is to be collected of sites, and when."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perseid.cli import collecting, flags, published, sited
from perseid.cli.context import run
from perseid.cli.output import emit, emit_json, say, when

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from perseid.ports.items import RunStats
    from perseid.ports.seeds import SeedRow
    from perseid.runtime.seeding import RunView, Seeding, Trace

_SEED = click.argument("seed", metavar="SEED", help="Its seed_id, as `perseid seeds list` shows it.")


@click.group()
def seeds() -> None:
    """Say what is to be collected of sites, when, and look at how it went."""


seeds.add_command(collecting.run_seeds, "run")


@seeds.command()
def schema() -> None:
    """Print the JSON Schema of seeds, for editors."""
    import msgspec  # noqa: PLC0415  start-up time

    from perseid.cli.output import flush  # noqa: PLC0415  start-up time
    from perseid.seeds.schema import schema  # noqa: PLC0415  start-up time

    emit(msgspec.json.format(msgspec.json.encode(schema()), indent=2))
    flush()


@seeds.command()
@click.argument("files", nargs=-1, required=True, type=flags.FOLDER, metavar="FILE...")
@click.option("--template", default="", metavar="NAME", help="Published seed template that the files fill in.")
@sited.data
@flags.json
@click.pass_context
def add(ctx: click.Context, *, files: tuple[Path, ...], template: str, data: Path, json: bool) -> None:
    """Add seeds from files, or replace what they say; a file holds one or a list of them.

    They run by their schedules, at once where they have none, as soon as somebody works: `perseid serve`, `perseid
    worker`, or `perseid seeds run`.
    """

    async def work() -> None:
        async with sited.sites(ctx, data, create=True) as sites:
            read = [await sites.seeds_in(file, template=template) for file in files]
            published.say_notes([note for each in read for note in each.notes])
            for seed in (seed for each in read for seed in each.seeds):
                row = await sites.seeding.put(seed)
                if json:
                    emit_json(_row_json(row))
                else:
                    say(f"{row.seed}: {_due(row)}")

    run(ctx, work())


@seeds.command("list")
@sited.only_site
@sited.data
@flags.json
@click.pass_context
def list_seeds(ctx: click.Context, *, site: str | None, data: Path, json: bool) -> None:
    """List seeds by name."""

    async def work() -> None:
        found: list[SeedRow] = []
        async with sited.sites(ctx, data) as sites:
            while rows := await sites.seeding.rows(site=site, after=found[-1].seed if found else "", limit=1_000):
                found += rows
        if json:
            for row in found:
                emit_json(_row_json(row))
        else:
            shown = [(row.seed, row.site, _state(row), str(row.priority), str(row.runs), _due(row)) for row in found]
            sited.show(("SEED", "SITE", "STATE", "PRIORITY", "RUNS", "NEXT"), shown)

    run(ctx, work())


@seeds.command()
@_SEED
@click.option("--runs", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Most runs.")
@sited.data
@flags.json
@click.pass_context
def show(ctx: click.Context, *, seed: str, runs: int, data: Path, json: bool) -> None:
    """Show a seed, and how its runs went, the newest first."""

    async def work() -> None:
        async with sited.sites(ctx, data) as sites:
            row = await sites.seeding.row(seed)
            found = await sites.seeding.runs(row, limit=runs)
            total = await sites.seeding.total(row)
        if json:
            newest_runs = [_run_json(each) for each in found]
            emit_json(
                {
                    **_row_json(row),
                    "seed": _said(row),
                    "newest_runs": newest_runs,
                    "total": collecting.stats_json(total),
                }
            )
            return
        from perseid.publishing.writing import text_of  # noqa: PLC0415  start-up time

        emit(text_of(_said(row)), end=b"")
        say(f"{_state(row)}, {_due(row)}")
        sited.show(
            ("STARTED", "STATUS", "TASKS", "DONE", "FAILED", "EMPTY", "ITEMS", "KEPT BACK", "P50", "P95", "RUN"),
            [*map(_run_row, found), ("all that are kept", "", *_numbers(total), "")],
        )
        for newest in found[:1]:
            for line in (*([newest.trouble] if newest.trouble else ()), *collecting.left_out(newest)):
                say(f"newest run: {line}")

    run(ctx, work())


@seeds.command()
@_SEED
@sited.data
@click.pass_context
def pause(ctx: click.Context, *, seed: str, data: Path) -> None:
    """Hold its run, and begin no other."""
    _change(ctx, seed, data, lambda seeding: seeding.pause(seed), "is paused")


@seeds.command()
@_SEED
@sited.data
@click.pass_context
def resume(ctx: click.Context, *, seed: str, data: Path) -> None:
    """Go on with the run that was held, and by the schedule."""
    _change(ctx, seed, data, lambda seeding: seeding.resume(seed), "goes on")


@seeds.command()
@_SEED
@sited.data
@click.pass_context
def stop(ctx: click.Context, *, seed: str, data: Path) -> None:
    """Cancel its run, and begin no other; what it has stays."""
    _change(ctx, seed, data, lambda seeding: seeding.stop(seed), "is stopped")


@seeds.command()
@_SEED
@sited.data
@click.pass_context
def delete(ctx: click.Context, *, seed: str, data: Path) -> None:
    """Delete a seed and cancel its run; what it collected stays."""
    _change(ctx, seed, data, lambda seeding: seeding.delete(seed), "is deleted")


@seeds.command()
@click.argument("task", type=click.IntRange(1), metavar="TASK", help="As the task_id of an item says.")
@sited.data
@flags.json
@click.pass_context
def trace(ctx: click.Context, *, task: int, data: Path, json: bool) -> None:
    """Say what became of one task: its state, attempts, items, and what was kept back."""

    async def work() -> None:
        async with sited.sites(ctx, data) as sites:
            found = await sites.seeding.trace(task)
        if json:
            emit_json(_trace_json(found))
            return
        job = found.job
        why = f" ({job.code}: {job.message})" if job.code else ""
        emit(f"{job.url}\n  state     {job.state.value}{why}\n  attempts  {job.attempts}")
        emit(f"  seed      {found.seed.seed_id} of {found.seed.site_id}\n  run       {found.run.uid}")
        for item in found.items:
            emit(f"  item      {item.key}  {item.fields.decode('utf-8', 'replace')}")
        for each in found.exceptions:
            emit(f"  kept back {each.key}  {each.reason}")

    run(ctx, work())


def _change(
    ctx: click.Context, seed: str, data: Path, change: Callable[[Seeding], Awaitable[object]], told: str
) -> None:
    async def work() -> None:
        async with sited.sites(ctx, data) as sites:
            await change(sites.seeding)
        say(f"{seed} {told}")

    run(ctx, work())


def _state(row: SeedRow) -> str:
    return "running" if row.running and row.state == 0 else row.state.name.lower()


def _due(row: SeedRow) -> str:
    return "not due by itself" if row.next_at is None else f"due {when(row.next_at)}"


def _said(row: SeedRow) -> Any:
    from perseid.runtime.seeding import said  # noqa: PLC0415  start-up time
    from perseid.seeds.loading import dumped  # noqa: PLC0415  start-up time

    return dumped(said(row))


def _row_json(row: SeedRow) -> dict[str, Any]:
    return {
        "seed_id": row.seed,
        "site_id": row.site,
        "state": row.state.name.lower(),
        "running": row.running,
        "priority": row.priority,
        "runs": row.runs,
        "next_at": None if row.next_at is None else when(row.next_at),
    }


def _run_json(found: RunView) -> dict[str, Any]:
    crawl = found.crawl
    return {
        "run": crawl.uid,
        "status": crawl.status.name.lower(),
        "started_at": when(crawl.created_at),
        "ended_at": None if crawl.ended_at is None else when(crawl.ended_at),
        **collecting.stats_json(found.stats),
        **collecting.source_json(found),
    }


def _run_row(found: RunView) -> tuple[str, ...]:
    crawl = found.crawl
    return (when(crawl.created_at), crawl.status.name.lower(), *_numbers(found.stats), crawl.uid)


def _numbers(stats: RunStats) -> tuple[str, ...]:
    numbers = (stats.tasks, stats.done, stats.failed, stats.empty, stats.items, stats.exceptions)
    times = ("" if ms is None else f"{ms:,.0f} ms" for ms in (stats.p50_ms, stats.p95_ms))
    return (*(f"{number:,}" for number in numbers), *times)


def _trace_json(found: Trace) -> dict[str, Any]:
    from perseid.cli.exceptions import exception_json  # noqa: PLC0415  start-up time
    from perseid.cli.items import item_json  # noqa: PLC0415  start-up time

    job = found.job
    return {
        "task": job.job,
        "run": found.run.uid,
        "seed_id": found.seed.seed_id,
        "site_id": found.seed.site_id,
        "url": job.url,
        "state": job.state.value,
        "attempts": job.attempts,
        "code": job.code,
        "message": job.message,
        "items": [item_json(each) for each in found.items],
        "exceptions": [exception_json(each) for each in found.exceptions],
    }
