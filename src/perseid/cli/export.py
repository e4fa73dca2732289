"""`perseid export`: a crawl's pages from the store into another form."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from perseid.cli import flags
from perseid.cli.context import loaded, run
from perseid.cli.output import count, reader_left, say
from perseid.errors import ConfigError, NotFound

if TYPE_CHECKING:
    from perseid.model.document import Document
    from perseid.runtime import Client
    from perseid.sink.place import Place

FORMATS = ("jsonl", "md", "csv")
COLUMNS = ("url", "source_url", "status", "title", "content_type", "markdown")


@click.command()
@click.argument("dest", metavar="DEST|-", help="File (jsonl, csv) or folder (md); - is stdout.")
@click.option("--id", "crawl_id", default="", metavar="ID", help="Crawl to export. Default: the one that OUT shows.")
@flags.out
@click.option(
    "--format",
    "-f",
    "form",
    default="jsonl",
    show_default=True,
    metavar="jsonl|md|csv",
    help="Form of the export.",
)
@click.pass_context
def export(ctx: click.Context, *, dest: str, crawl_id: str, out: Path | None, form: str) -> None:
    """Write a crawl's pages as JSON lines, CSV or markdown."""

    async def write() -> None:
        from perseid.runtime import Client  # noqa: PLC0415  start-up time
        from perseid.runtime.stores import is_shared  # noqa: PLC0415  start-up time

        if form not in FORMATS:
            raise ConfigError(f"--format {form}: choose from {', '.join(FORMATS)}")
        if form == "md" and dest == "-":
            raise ConfigError("--format md writes a folder; name one instead of -")
        settings = loaded(ctx).settings
        place, uid = _chosen(crawl_id, out, shared=is_shared(settings))
        async with await Client.open(place.state, settings) as client:
            uid = uid or await _only(client, place)
            pages = await _write(client, uid, form, dest)
        say(f"{count(pages, 'page')} of {uid} written to {'stdout' if dest == '-' else dest}")

    run(ctx, write())


def _chosen(crawl_id: str, out: Path | None, *, shared: bool) -> tuple[Place, str]:
    """The folder to read, and the crawl in it. Raises `ConfigError` where several folders could be meant."""
    from perseid.cli.places import known  # noqa: PLC0415  start-up time
    from perseid.sink.place import Place, load_record  # noqa: PLC0415  start-up time

    if shared and crawl_id:
        return Place(out or Path()), crawl_id
    places = known(out, shared=shared)
    if not places:
        raise NotFound("no crawl under ./out; --out names the folder of one")
    if crawl_id and len(places) > 1:
        places = [place for place in places if (record := load_record(place)) and record.uid == crawl_id] or places
    if len(places) > 1:
        raise ConfigError(f"several folders hold crawls, name one with --out: {', '.join(str(p.out) for p in places)}")
    record = load_record(places[0])
    return places[0], crawl_id or (record.uid if record else "")


async def _only(client: Client, place: Place) -> str:
    crawls = await client.crawls()
    if len(crawls) == 1:
        return crawls[0].uid
    raise NotFound(f"{place.out} holds {count(len(crawls), 'crawl')}; name one with --id")


async def _write(client: Client, uid: str, form: str, dest: str) -> int:
    if form == "md":
        return await _write_folder(client, uid, Path(dest))
    written = 0
    with _sink(dest) as file:
        if form == "csv":
            file.write(_csv(COLUMNS))
        async for _seq, line, document in client.documents(uid):
            file.write(_csv(_row(document)) if form == "csv" else line + b"\n")
            written += 1
    return written


async def _write_folder(client: Client, uid: str, folder: Path) -> int:
    from perseid.sink.pages import PageWriter  # noqa: PLC0415  start-up time

    _must_be_new(folder)
    cursor = folder / ".cursor"
    written = 0
    with PageWriter(folder, cursor, uid) as writer:
        async for seq, line, document in client.documents(uid):
            writer.write(seq, line, document)
            written += 1
    cursor.unlink(missing_ok=True)
    return written


def _must_be_new(folder: Path) -> None:
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ConfigError(f"{folder} is not an empty folder; name a new one")


@contextmanager
def _sink(dest: str) -> Iterator[BinaryIO]:
    """stdout, or a file that appears when it is complete. Raises `StoreUnavailable` on a full disk."""
    from perseid.sink.place import disk_trouble  # noqa: PLC0415  start-up time

    if dest == "-":
        try:
            yield sys.stdout.buffer
            sys.stdout.flush()
        except BrokenPipeError:
            reader_left()
        return
    path = Path(dest)
    partial = path.with_name(path.name + ".part")
    try:
        with partial.open("wb", buffering=1024 * 1024) as file:
            yield file
        partial.replace(path)
    except OSError as error:
        raise disk_trouble(path, error) from None


def _row(document: Document) -> list[str]:
    return [str(value) if (value := getattr(document, name)) is not None else "" for name in COLUMNS]


def _csv(cells: tuple[str, ...] | list[str]) -> bytes:
    """One line by RFC 4180. A NUL, which no reader takes, becomes U+FFFD."""
    line = io.StringIO()
    csv.writer(line).writerow([cell.replace("\0", "\ufffd") for cell in cells])
    return line.getvalue().encode("utf-8", "replace")
