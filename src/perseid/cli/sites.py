"""`perseid sites`: what is collected, and what is paused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perseid.cli import flags, sited
from perseid.cli.context import run
from perseid.cli.output import emit_json, say, when

if TYPE_CHECKING:
    from perseid.runtime.sites import SiteState

_NAME = click.argument("site", metavar="SITE", help="As `perseid sites list` shows it.")


@click.group()
def sites() -> None:
    """List sites, pause them, and let them go on."""


@sites.command("list")
@sited.data
@flags.json
@click.pass_context
def list_sites(ctx: click.Context, *, data: Path, json: bool) -> None:
    """List sites with the version of their rule."""

    async def work() -> None:
        found: list[SiteState] = []
        async with sited.sites(ctx, data) as known:
            while rows := await known.sites(after=found[-1].row.name if found else "", limit=1_000):
                found += rows
        if json:
            for each in found:
                emit_json(_site(each))
        else:
            shown = [
                (each.row.name, str(each.rule or "none"), f"paused: {each.row.reason}" if each.row.paused else "active")
                for each in found
            ]
            sited.show(("SITE", "RULE", "STATE"), shown)

    run(ctx, work())


@sites.command()
@_NAME
@click.option("--reason", default="", metavar="TEXT", help="For people.")
@sited.data
@click.pass_context
def pause(ctx: click.Context, *, site: str, reason: str, data: Path) -> None:
    """Run no task of a site; what runs ends."""

    async def work() -> None:
        async with sited.sites(ctx, data) as known:
            await known.pause(site, reason)
        say(f"{site} is paused")

    run(ctx, work())


@sites.command()
@_NAME
@sited.data
@click.pass_context
def resume(ctx: click.Context, *, site: str, data: Path) -> None:
    """Go on with a site that was paused, by hand or by an alarm."""

    async def work() -> None:
        async with sited.sites(ctx, data) as known:
            await known.resume(site)
        say(f"{site} goes on")

    run(ctx, work())


def _site(found: SiteState) -> dict[str, Any]:
    row = found.row
    return {
        "site_id": row.name,
        "rule_version": found.rule,
        "paused": row.paused,
        "reason": row.reason,
        "paused_at": None if row.paused_at is None else when(row.paused_at),
    }
