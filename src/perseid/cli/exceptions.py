"""`perseid exceptions`: items that were kept back, and the alarms about them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perseid.cli import flags, sited
from perseid.cli.context import run
from perseid.cli.output import count, emit_json, say, when

if TYPE_CHECKING:
    from perseid.ports.items import Alarm, StoredException

_OF_SITE = click.option("--site", metavar="SITE", required=True, help="Of this site.")
_VERSION = click.option("--rule-version", type=int, metavar="N", help="Only of this version of the rule.")
_REASON = click.option("--reason", metavar="TEXT", help="Only of this reason, as `groups` shows it.")


@click.group()
def exceptions() -> None:
    """Look after items that were kept out of the sinks."""


@exceptions.command("list")
@sited.only_site
@_VERSION
@_REASON
@sited.limit
@sited.data
@flags.json
@click.pass_context
def list_exceptions(
    ctx: click.Context,
    *,
    site: str | None,
    rule_version: int | None,
    reason: str | None,
    limit: int,
    data: Path,
    json: bool,
) -> None:
    """List them one by one, with what was wrong."""

    async def work() -> None:
        async with sited.sites(ctx, data) as sites:
            found = await sites.items.exceptions(
                sites.team, site=site, rule_version=rule_version, reason=reason, limit=limit
            )
        if json:
            for each in found:
                emit_json(exception_json(each))
            return
        rows = [(each.site, str(each.rule_version), each.reason, each.key, each.url) for each in found]
        sited.show(("SITE", "RULE", "REASON", "KEY", "URL"), rows)

    run(ctx, work())


@exceptions.command()
@sited.only_site
@sited.data
@flags.json
@click.pass_context
def groups(ctx: click.Context, *, site: str | None, data: Path, json: bool) -> None:
    """List what one change of a rule will probably mend, the largest group first."""

    async def work() -> None:
        async with sited.sites(ctx, data) as sites:
            found = await sites.items.groups(sites.team, site=site)
        if json:
            for each in found:
                emit_json(
                    {
                        "site_id": each.site,
                        "rule_version": each.rule_version,
                        "reason": each.reason,
                        "count": each.count,
                        "first_at": when(each.first_at),
                        "last_at": when(each.last_at),
                        "example": each.example,
                    }
                )
            return
        rows = [
            (each.site, str(each.rule_version), f"{each.count:,}", each.reason, when(each.last_at), each.example)
            for each in found
        ]
        sited.show(("SITE", "RULE", "COUNT", "REASON", "LAST", "EXAMPLE"), rows)

    run(ctx, work())


@exceptions.command()
@_OF_SITE
@_VERSION
@_REASON
@sited.data
@flags.json
@click.pass_context
def retry(
    ctx: click.Context, *, site: str, rule_version: int | None, reason: str | None, data: Path, json: bool
) -> None:
    """Read the kept pages again by the rule in use: what is sound now goes to the sinks. Nothing is fetched."""

    async def work() -> None:
        async with sited.sites(ctx, data) as sites:
            done = await sites.reread(site, rule_version=rule_version, reason=reason)
        if json:
            emit_json(done)
            return
        say(f"{count(done.pages, 'page')} read: {count(done.items, 'item')}, {done.exceptions:,} still kept back")
        if done.unread:
            say(f"{count(done.unread, 'page')} left as they are: they can't be read, or their seed is gone")

    run(ctx, work())


@exceptions.command()
@_OF_SITE
@_VERSION
@_REASON
@sited.data
@click.pass_context
def drop(ctx: click.Context, *, site: str, rule_version: int | None, reason: str | None, data: Path) -> None:
    """Forget them for good."""

    async def work() -> None:
        async with sited.sites(ctx, data) as sites:
            dropped = await sites.items.drop_exceptions(sites.team, site=site, rule_version=rule_version, reason=reason)
        say(f"{count(dropped, 'exception')} dropped")

    run(ctx, work())


@exceptions.command()
@sited.only_site
@click.option("--all", "everything", is_flag=True, help="Those that are over, too.")
@sited.limit
@sited.data
@flags.json
@click.pass_context
def alarms(ctx: click.Context, *, site: str | None, everything: bool, limit: int, data: Path, json: bool) -> None:
    """List fields that too many items lack."""

    async def work() -> None:
        async with sited.sites(ctx, data) as sites:
            found = await sites.items.alarms(sites.team, site=site, is_open=not everything, limit=limit)
        if json:
            for each in found:
                emit_json(_alarm(each))
            return
        rows = [
            (
                each.site,
                str(each.rule_version),
                each.field,
                f"{each.rate:.0%} of {each.n:,}",
                when(each.at),
                "" if each.cleared_at is None else when(each.cleared_at),
            )
            for each in found
        ]
        sited.show(("SITE", "RULE", "FIELD", "EMPTY", "SINCE", "OVER"), rows)

    run(ctx, work())


def exception_json(found: StoredException) -> dict[str, Any]:
    """The exception as JSON shows it."""
    import msgspec  # noqa: PLC0415  start-up time

    return {
        "site_id": found.site,
        "rule_version": found.rule_version,
        "reason": found.reason,
        "unique_key": found.key,
        "url": found.url,
        "fields": msgspec.Raw(found.fields),
        "problems": msgspec.Raw(found.problems),
        "task_id": found.task,
        "seed_id": found.seed,
        "at": when(found.at),
    }


def _alarm(alarm: Alarm) -> dict[str, Any]:
    return {
        "site_id": alarm.site,
        "rule_version": alarm.rule_version,
        "field": alarm.field,
        "rate": alarm.rate,
        "items": alarm.n,
        "raised_at": when(alarm.at),
        "cleared_at": None if alarm.cleared_at is None else when(alarm.cleared_at),
        "paused": alarm.paused,
    }
