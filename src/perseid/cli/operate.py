"""`perseid doctor`, and `perseid config`: the settings, and what is published beside rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perseid.cli import flags, published, sited
from perseid.cli.context import loaded, run
from perseid.cli.exits import Exit
from perseid.cli.output import emit, emit_json, say, table

if TYPE_CHECKING:
    from perseid.config.settings import Settings


@click.group()
def config() -> None:
    """Show the settings; publish proxy pools, sinks and what else stands beside rules."""


published.install(config, None)


@click.command()
@click.option("--out", "-o", type=flags.FOLDER, metavar="FOLDER", help="Check the store of this crawl, too.")
@flags.json
@click.pass_context
def doctor(ctx: click.Context, *, out: Path | None, json: bool) -> None:
    """Check this machine and a crawl's store. Exit code 1 if something is wrong."""

    async def check() -> int:
        settings = loaded(ctx).settings
        if out is None:
            from tempfile import TemporaryDirectory  # noqa: PLC0415  start-up time

            with TemporaryDirectory(prefix="perseid-doctor-") as folder:
                return await _check(Path(folder), settings, json=json)
        from perseid.cli.places import known  # noqa: PLC0415  start-up time
        from perseid.runtime.stores import is_shared  # noqa: PLC0415  start-up time

        return await _check(known(out, shared=is_shared(settings))[0].state, settings, json=json)

    ctx.exit(run(ctx, check()))


async def _check(folder: Path, settings: Settings, *, json: bool) -> int:
    from perseid.runtime import Client  # noqa: PLC0415  start-up time

    async with await Client.open(folder, settings) as client:
        checks = await client.doctor()
    for check in checks:
        if json:
            emit_json({"name": check.name, "ok": check.ok, "detail": check.detail, "advice": check.advice})
            continue
        emit(f"{'ok   ' if check.ok else 'WRONG'}  {check.name}: {check.detail}")
        if not check.ok and check.advice:
            emit(f"       {check.advice}")
    return Exit.OK if all(check.ok for check in checks) else Exit.ERROR


@config.command()
@click.argument("kind", metavar="[KIND]", default="", help="Show this object instead: KIND NAME.")
@click.argument("name", metavar="[NAME]", default="")
@click.option("--changed", is_flag=True, help="Of the settings, only what differs from the default.")
@published.number
@sited.data
@flags.json
@click.pass_context
def show(
    ctx: click.Context, *, kind: str, name: str, changed: bool, number: int | None, data: Path, json: bool
) -> None:
    """Show every setting, its value, and where it came from; secrets are masked. Or show a published object."""
    if kind:
        from perseid.ports.configs import ConfigKind  # noqa: PLC0415  start-up time

        if kind not in published.KINDS or not name:
            raise click.UsageError(f"name an object: one of {', '.join(published.KINDS)}, and its name")
        published.show(ctx, kind=ConfigKind(kind), name=name, number=number, data=data, json=json)
    else:
        _show_settings(ctx, changed=changed, json=json)


def _show_settings(ctx: click.Context, *, changed: bool, json: bool) -> None:
    async def rows() -> None:
        from perseid.config.listing import rows as listed  # noqa: PLC0415  start-up time

        settings = loaded(ctx)
        for note in settings.notes:
            say(f"perseid: {note}")
        found = [row for row in listed(settings) if not changed or row.origin != "default"]
        if json:
            for row in found:
                emit_json({"name": row.name, "value": row.value, "origin": row.origin, "variable": row.variable})
        elif found:
            for line in table(
                ("SETTING", "VALUE", "FROM"), [(row.name, _shown(row.value), row.origin) for row in found]
            ):
                emit(line)

    run(ctx, rows())


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(value) or "-"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if value != "" else "-"
