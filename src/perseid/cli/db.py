"""`perseid db`: the tables of a store, and a whole store into another database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perseid.cli import flags
from perseid.cli.context import loaded, run
from perseid.cli.exits import Exit
from perseid.cli.output import count, emit, say
from perseid.cli.progress import on_terminal
from perseid.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from perseid.runtime.copying import Copied
    from perseid.runtime.schema import Schema


@click.group()
def db() -> None:
    """Bring a store's tables up to date, or copy a store."""


@db.command()
@flags.data
@click.option("--wait", default="0", metavar="TIME", help="How long to wait for a database that is away: 30s, 2m.")
@flags.json
@click.pass_context
def migrate(ctx: click.Context, *, data: Path, wait: str, json: bool) -> None:
    """Bring the store to this release; make it, if there is none.

    Every other command does that by itself; this one is for a job before an upgrade.
    """

    async def work() -> None:
        from perseid.runtime.schema import migrate, status  # noqa: PLC0415  start-up time

        try:
            wait_s = flags.seconds(wait)
        except ConfigError as error:
            raise ConfigError(f"--wait: {error}") from None
        settings = loaded(ctx).settings
        ran = await migrate(data, settings, wait_s=wait_s)
        found = await status(data, settings)
        if json:
            _emit({"store": found.store, "version": found.version, "ran": ran})
        else:
            say(f"{found.store}: schema {found.version}, {', '.join(ran) or 'nothing to do'}")

    run(ctx, work())


@db.command()
@flags.data
@flags.json
@click.pass_context
def status(ctx: click.Context, *, data: Path, json: bool) -> None:
    """Show how far the store's tables are. Exit code 1 if this release wants them otherwise."""

    async def work() -> Schema:
        from perseid.runtime.schema import status  # noqa: PLC0415  start-up time

        return await status(data, loaded(ctx).settings)

    found = run(ctx, work())
    well = found.version == found.newest and not found.relocation
    if json:
        import msgspec  # noqa: PLC0415  start-up time

        emit(msgspec.json.encode(found))
    else:
        emit(f"{found.store}: schema {found.version} of {found.newest}")
        if found.pending:
            emit(f"  to do: {', '.join(found.pending)}; `perseid db migrate` does it")
        if found.relocation:
            emit(f"  not the truth: {found.relocation}")
    ctx.exit(Exit.OK if well else Exit.ERROR)


@db.command()
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@flags.json
@click.pass_context
def copy(ctx: click.Context, *, source: str, target: str, json: bool) -> None:
    """Copy a whole store into an empty database.

    SRC and DST are postgresql://user:password@host/database, or the folder of a crawl or a server. Nobody may work on
    SRC; it refuses every write from then on. What was cut off goes on with the same command.
    """

    async def work() -> Copied:
        from perseid.runtime.copying import copy, place_of  # noqa: PLC0415  start-up time

        settings = loaded(ctx).settings
        tell = _progress() if on_terminal() and not json else _silent
        return await copy(place_of(source, settings), place_of(target, settings), tell)

    found = run(ctx, work())
    if json:
        import msgspec  # noqa: PLC0415  start-up time

        emit(msgspec.json.encode(found))
    else:
        for line in _told(found):
            say(line)
    ctx.exit(Exit.ERROR if found.findings else Exit.OK)


@db.command()
@click.argument("store", metavar="STORE")
@click.pass_context
def reopen(ctx: click.Context, *, store: str) -> None:
    """Take back that STORE was copied: it is the truth again.

    Only where the copy is not in use: two stores that both are the truth are fetched twice.
    """

    async def work() -> bool:
        from perseid.runtime.copying import place_of, reopen  # noqa: PLC0415  start-up time

        return await reopen(place_of(store, loaded(ctx).settings))

    say(f"{_shown(store)} is the truth again" if run(ctx, work()) else f"{_shown(store)} was never left")


def _told(found: Copied) -> list[str]:
    lines = [
        f"{found.source} is copied to {found.target} in {found.seconds:,.1f} s",
        f"  {count(sum(found.rows.values()), 'row')}, of them {count(found.rows['crawl'], 'crawl')},"
        f" {count(found.rows['url'], 'URL')}, {count(found.rows['document'], 'document')}",
    ]
    if found.bodies:
        lines.append(f"  {count(found.bodies, 'large body', 'large bodies')} apart from the tables")
    if found.bodies_missing:
        lines.append(f"  {count(found.bodies_missing, 'large body', 'large bodies')} were not there to copy")
    if found.leases_returned:
        lines.append(f"  {count(found.leases_returned, 'page')} in flight went back to waiting")
    lines += [f"  WRONG {finding}" for finding in found.findings]
    lines.append("  name the new one in PERSEID_STORE__URL (or --data); the old one refuses writes")
    return lines


def _progress() -> Callable[[str, int, int], None]:
    shown = [""]

    def tell(what: str, done: int, total: int) -> None:
        share = f"{what}: {done * 100 // max(total, 1)} %"
        if share != shown[0]:
            shown[0] = share
            say(share)

    return tell


def _silent(what: str, done: int, total: int) -> None:
    """Nobody watches."""


def _shown(store: str) -> str:
    from perseid.observe.mask import mask_text  # noqa: PLC0415  start-up time

    return mask_text(store)


def _emit(value: dict[str, object]) -> None:
    import msgspec  # noqa: PLC0415  start-up time

    emit(msgspec.json.encode(value))
