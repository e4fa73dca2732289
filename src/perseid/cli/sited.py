"""The store that commands about sites work on, and what they share."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import click

from perseid.cli import flags
from perseid.cli.context import loaded
from perseid.cli.output import emit, table
from perseid.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence
    from pathlib import Path

    from perseid.runtime import Client
    from perseid.runtime.sites import Sites

data = click.option(
    "--data",
    type=flags.FOLDER,
    default="perseid-data",
    show_default=True,
    envvar="PERSEID_DATA",
    metavar="FOLDER",
    help="Folder of the store, the same as the server's; with PERSEID_STORE__URL it isn't looked at.",
)
author = click.option("--author", metavar="NAME", help="Who publishes it. Default: who is logged in.")
message = click.option("--message", "-m", default="", metavar="TEXT", help="Why.")
only_site = click.option("--site", metavar="SITE", help="Only of this site.")
limit = click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, metavar="N", help="Most.")


@asynccontextmanager
async def client(ctx: click.Context, folder: Path, *, create: bool = False) -> AsyncIterator[Client]:
    """The store, open. Unless `create` it must be there: a question must not leave an empty one behind."""
    from perseid.runtime import Client  # noqa: PLC0415  start-up time
    from perseid.runtime.stores import DATABASE, is_shared  # noqa: PLC0415  start-up time

    settings = loaded(ctx).settings
    if not (create or is_shared(settings) or (folder / DATABASE).is_file()):
        raise NotFound(f"{folder} holds no store yet; --data names the folder of one")
    # Seeds of strangers may lie beside those of whoever calls: none of them opens a private host by naming it.
    async with await Client.open(folder, settings, allow_named_host=False) as opened:
        yield opened


@asynccontextmanager
async def sites(
    ctx: click.Context, folder: Path, *, create: bool = False, author: str | None = None
) -> AsyncIterator[Sites]:
    """The same as the sites of the default team."""
    async with client(ctx, folder, create=create) as opened:
        yield opened.sites(author=_login() if author is None else author)


def show(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table on stdout; nothing where there are no rows."""
    found = list(rows)
    for line in table(header, found) if found else ():
        emit(line)


def _login() -> str:
    import getpass  # noqa: PLC0415  start-up time

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return ""
