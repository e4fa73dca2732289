"""`perseid items`: what was collected of sites."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perseid.cli import flags, sited
from perseid.cli.context import run
from perseid.cli.output import count, emit, emit_json, say, when
from perseid.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from perseid.ports.items import StoredItem

_SEED = click.option("--seed", metavar="SEED", help="Only those that this seed brought last.")
_AFTER = click.option("--after", type=int, default=0, metavar="N", help="Only changes behind this one.")
_SHORT = 60


@click.group()
def items() -> None:
    """Show and export what was collected of sites."""


@items.command("list")
@sited.only_site
@_SEED
@_AFTER
@sited.limit
@sited.data
@flags.json
@click.pass_context
def list_items(
    ctx: click.Context, *, site: str | None, seed: str | None, after: int, limit: int, data: Path, json: bool
) -> None:
    """List items in the order of their last change."""

    async def work() -> None:
        async with sited.sites(ctx, data) as sites:
            found = await sites.items.items(sites.team, site=site, seed=seed, after=after, limit=limit)
        if json:
            for item in found:
                emit_json(item_json(item))
            return
        sited.show(("CHANGE", "SITE", "KEY", "FETCHED", "RULE", "FIELDS"), map(_row, found))

    run(ctx, work())


@items.command()
@sited.only_site
@_SEED
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True)
@click.option("--since", metavar="TIME", help="Only what changed since: 2025-06-01, 2025-06-01T12:00:00Z, or 7d ago.")
@_AFTER
@sited.data
@click.pass_context
def export(
    ctx: click.Context, *, site: str | None, seed: str | None, form: str, since: str | None, after: int, data: Path
) -> None:
    """Print items as JSON Lines or CSV, in the order of their last change.

    The last line on stderr says how a later export goes on where this one ended.
    """

    async def work() -> None:
        at = 0 if since is None else _instant(since)
        async with sited.sites(ctx, data) as sites:

            def chosen() -> AsyncIterator[StoredItem]:
                return sites.all_items(site=site, seed=seed, after=after, since=at)

            written, last = await (_jsonl(chosen) if form == "jsonl" else _csv(chosen))
        say(f"{count(written, 'item')}; --after {last or after} goes on behind the last")

    run(ctx, work())


async def _jsonl(chosen: Callable[[], AsyncIterator[StoredItem]]) -> tuple[int, int]:
    """How many, and the change of the last."""
    from perseid.sink.rows import document, rows  # noqa: PLC0415  start-up time

    written = last = 0
    async for item in chosen():
        emit_json(document(rows([item])[0]))
        written, last = written + 1, item.change
    return written, last


async def _csv(chosen: Callable[[], AsyncIterator[StoredItem]]) -> tuple[int, int]:
    """The same. Items are looked through twice: the first line names the columns of all of them."""
    import csv  # noqa: PLC0415  start-up time
    import io  # noqa: PLC0415  start-up time

    columns: dict[str, None] = {}
    upto = 0
    async for item in chosen():
        columns.update(dict.fromkeys(_cells(item)))
        upto = item.change
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, restval="", extrasaction="ignore", lineterminator="\n")
    if columns:
        writer.writeheader()
    written = 0
    async for item in chosen():
        if item.change > upto:  # it came meanwhile, perhaps with further columns
            break
        writer.writerow(_cells(item))
        written += 1
        emit(buffer.getvalue(), end=b"")
        buffer.seek(0)
        buffer.truncate()
    emit(buffer.getvalue(), end=b"")
    return written, upto


def _cells(item: StoredItem) -> dict[str, str]:
    """Texts by column; a price is two of them."""
    from perseid.sink.fitting import is_price, text  # noqa: PLC0415  start-up time
    from perseid.sink.rows import document, rows  # noqa: PLC0415  start-up time

    cells: dict[str, str] = {}
    for name, value in document(rows([item])[0]).items():
        if is_price(value):
            cells[f"{name}_amount"] = value["amount"]
            cells[f"{name}_currency"] = value.get("currency") or ""
        else:
            cells[name] = text(value)
    return cells


def _row(item: StoredItem) -> tuple[str, ...]:
    text = item.fields.decode("utf-8", "replace")
    short = text if len(text) <= _SHORT else f"{text[:_SHORT]}…"
    return (str(item.change), item.site, item.key, when(item.fetched_at), str(item.rule_version), short)


def item_json(item: StoredItem) -> dict[str, Any]:
    """The item as JSON shows it, its fields apart from what it says about itself."""
    import msgspec  # noqa: PLC0415  start-up time

    return {
        "site_id": item.site,
        "unique_key": item.key,
        "fields": msgspec.Raw(item.fields),
        "rule_version": item.rule_version,
        "task_id": item.task,
        "seed_id": item.seed,
        "url": item.url,
        "fetched_at": when(item.fetched_at),
        "updated_at": when(item.updated_at),
        "change": item.change,
    }


def _instant(text: str) -> int:
    """A day, an instant or an age as µs since the epoch. Raises `ConfigError`."""
    from datetime import UTC, datetime  # noqa: PLC0415  start-up time

    try:
        at = datetime.fromisoformat(text)
        return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1_000_000)
    except ValueError:
        pass
    try:
        return time.time_ns() // 1_000 - int(flags.seconds(text) * 1_000_000)
    except ConfigError:
        message = f"--since {text}: write a day (2025-06-01), an instant, or an age such as 12h or 7d"
        raise ConfigError(message) from None
