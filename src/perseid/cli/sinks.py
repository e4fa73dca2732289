"""`perseid sinks`: where items go."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perseid.cli import flags, sited
from perseid.cli.context import run
from perseid.cli.exits import Exit
from perseid.cli.output import count, emit, emit_json, say, when

if TYPE_CHECKING:
    from perseid.runtime.sites import SinkView


@click.group()
def sinks() -> None:
    """Look after the places that items go to."""


@sinks.command("list")
@sited.data
@flags.json
@click.pass_context
def list_sinks(ctx: click.Context, *, data: Path, json: bool) -> None:
    """List sinks and what waits for them."""

    async def work() -> None:
        async with sited.sites(ctx, data) as known:
            found = await known.sinks()
        if json:
            for each in found:
                emit_json(_sink(each))
        else:
            sited.show(("SINK", "CONNECTION", "WAITING", "BATCHES", "TRIES", "ERROR"), map(_row, found))

    run(ctx, work())


@sinks.command()
@click.argument("sink", nargs=-1, metavar="[SINK]...", help="All where none is named.")
@sited.data
@flags.json
@click.pass_context
def check(ctx: click.Context, *, sink: tuple[str, ...], data: Path, json: bool) -> None:
    """Ask each target whether items could go there: address, rights, table. Exit code 1 if something is wrong.

    A sink that failed, and is all right again, is written to at once.
    """

    async def work() -> bool:
        async with sited.sites(ctx, data) as known:
            found = await known.check_sinks(sink)
        for name, wrong in found:
            if json:
                emit_json({"name": name, "ok": not wrong, "wrong": wrong})
                continue
            emit(f"{'WRONG' if wrong else 'ok   '}  {name}")
            for sentence in wrong:
                emit(f"       {sentence}")
        return not any(wrong for _name, wrong in found)

    ctx.exit(Exit.OK if run(ctx, work()) else Exit.ERROR)


@sinks.command()
@click.argument("sink", metavar="SINK", help="As `perseid sinks list` shows it.")
@sited.data
@click.pass_context
def drop(ctx: click.Context, *, sink: str, data: Path) -> None:
    """Take all items out of the line of a sink that nobody wants any more; the items themselves stay."""

    async def work() -> None:
        async with sited.sites(ctx, data) as known:
            gone = await known.items.leave_line(known.team, sink)
        say(f"{count(gone, 'item')} out of the line for {sink}")

    run(ctx, work())


@sinks.command()
@click.argument("sink", metavar="SINK", help="As `perseid sinks list` shows it.")
@click.option("--site", metavar="SITE", help="Only items of this site.")
@sited.data
@click.pass_context
def resend(ctx: click.Context, *, sink: str, site: str | None, data: Path) -> None:
    """Send all items again: to a new sink, or to one whose target was lost."""

    async def work() -> None:
        async with sited.sites(ctx, data) as known:
            lined = await known.resend(sink, site=site)
        say(f"{count(lined, 'item')} in line for {sink}")

    run(ctx, work())


def _sink(found: SinkView) -> dict[str, Any]:
    state = found.state
    return {
        "name": found.name,
        "connection": None if found.spec is None else found.spec.connection,
        "table": "" if found.spec is None else found.spec.table,
        "waiting": 0 if state is None else state.waiting,
        "batches": 0 if state is None else state.settled,
        "held_until": None if state is None or not state.held_until else when(state.held_until),
        "attempts": 0 if state is None else state.attempts,
        "error": "" if state is None else state.error,
    }


def _row(found: SinkView) -> tuple[str, ...]:
    told = _sink(found)
    return (
        found.name,
        told["connection"] or "out of use",
        f"{told['waiting']:,}",
        f"{told['batches']:,}",
        str(told["attempts"] or ""),
        told["error"],
    )
