"""`perseid serve` and `perseid keys`: the HTTP server and who may use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from perseid.cli import flags
from perseid.cli.context import loaded, run
from perseid.cli.exits import Exit
from perseid.cli.output import emit, say, table
from perseid.errors import MissingExtra, NotFound


@click.command()
@click.option("--host", metavar="ADDRESS", help="Address to listen on. Default: 127.0.0.1.")
@click.option("--port", type=int, metavar="N", help="Default: 3002; 0 takes any free one.")
@click.option("--workers", type=click.IntRange(0, 64), default=1, show_default=True, help="Processes that crawl.")
@flags.concurrency
@flags.data
@click.option("--insecure-no-auth", is_flag=True, help="Listen beyond loopback without any key.")
@click.pass_context
def serve(
    ctx: click.Context,
    *,
    host: str | None,
    port: int | None,
    workers: int,
    concurrency: int | None,
    data: Path,
    insecure_no_auth: bool,
) -> None:
    """Serve the Firecrawl API (v1, v2) and Perseid's own (/api) over HTTP."""
    found = loaded(
        ctx,
        api__host=host,
        api__port=port,
        api__insecure_no_auth=insecure_no_auth or None,
        worker__concurrency=concurrency,
    )
    for note in found.notes:
        say(f"perseid: {note}")
    settings = found.settings
    from perseid.observe.metrics import use_folder  # noqa: PLC0415  start-up time
    from perseid.runtime.crew import Crew  # noqa: PLC0415  start-up time

    use_folder(data / "metrics")
    # Forked before the server has threads.
    crew = Crew.prepare(workers) if workers else None
    server = _server()
    if settings.api.insecure_no_auth:
        say("perseid: whoever reaches this port may crawl with it (--insecure-no-auth)")
    serving = server.serve(data, settings, crew, on_ready=lambda address: say(f"perseid: serving on {address}"))
    run(ctx, serving, loop=server.event_loop)


def _server() -> Any:
    try:
        from perseid.api import server  # noqa: PLC0415  start-up time
    except ModuleNotFoundError as error:
        raise _missing(error) from error
    return server


def _missing(error: ModuleNotFoundError) -> MissingExtra:
    return MissingExtra(f"the server needs {error.name}, which is not installed: pip install 'perseid[server]'")


@click.group()
def keys() -> None:
    """Make, list and revoke the server's API keys."""


@keys.command()
@click.option("--team", metavar="NAME", default="default", show_default=True, help="Made if there is none.")
@click.option("--name", default="", metavar="TEXT", help="What the key is for.")
@click.option("--concurrency", type=click.IntRange(1), metavar="N", help="Most pages in flight of the team.")
@click.option("--rate", type=click.IntRange(1), metavar="N", help="Most requests a minute of the team.")
@click.option("--quota", type=click.IntRange(1), metavar="N", help="Most pages of the team in a calendar month.")
@flags.data
@flags.json
@click.pass_context
def create(  # noqa: PLR0913 - one argument an option
    ctx: click.Context,
    *,
    team: str,
    name: str,
    concurrency: int | None,
    rate: int | None,
    quota: int | None,
    data: Path,
    json: bool,
) -> None:
    """Make a key. It is shown this once: the store only knows its hash."""

    async def work() -> None:
        async with _service(ctx, data) as service:
            given = {"max_active": concurrency, "requests_per_minute": rate, "pages_per_period": quota}
            limits = {field: value for field, value in given.items() if value is not None}
            secret, key = await service.create_key(team, name, limits)
        if json:
            _emit({"id": key.id, "key": secret, "team": team, "name": name})
            return
        say(f"key {key.id} of team {team}; keep it, it is not shown again:")
        emit(secret)

    run(ctx, work())


@keys.command("list")
@flags.data
@flags.json
@click.pass_context
def list_keys(ctx: click.Context, *, data: Path, json: bool) -> None:
    """List the keys, with their beginnings."""

    async def work() -> None:
        async with _service(ctx, data) as service:
            teams = {team.id: team.name for team in await service.store.teams()}
            found = await service.store.keys()
        rows = [
            {
                "id": key.id,
                "key": f"{key.hint}…",
                "team": teams.get(key.team, str(key.team)),
                "name": key.name,
                "revoked": key.revoked_at is not None,
            }
            for key in found
        ]
        if json:
            for row in rows:
                _emit(row)
        elif rows:
            shown = [
                (str(row["id"]), row["key"], row["team"], row["name"], "yes" if row["revoked"] else "") for row in rows
            ]
            for line in table(("ID", "KEY", "TEAM", "NAME", "REVOKED"), shown):
                emit(line)

    run(ctx, work())


@keys.command()
@click.argument("key", type=int)
@flags.data
@click.pass_context
def revoke(ctx: click.Context, *, key: int, data: Path) -> None:
    """Let the key with this ID in no longer, from two seconds on."""

    async def work() -> int:
        async with _service(ctx, data) as service:
            if not await service.store.revoke(key):
                raise NotFound(f"there is no key {key} that could be revoked; `perseid keys list` shows them")
        return Exit.OK

    ctx.exit(run(ctx, work()))


def _service(ctx: click.Context, data: Path) -> Any:
    from perseid.runtime.service import Service  # noqa: PLC0415  start-up time

    opened: Any = Service.open(data, loaded(ctx).settings)
    return opened


def _emit(value: dict[str, Any]) -> None:
    import msgspec  # noqa: PLC0415  start-up time

    emit(msgspec.json.encode(value))
