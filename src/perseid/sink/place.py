"""The folder a crawl writes to: what lies where, which crawl it belongs to, and how a new result replaces an old.

OUT/pages/<host>/<path>.md    OUT/pages.jsonl    OUT/skipped.jsonl    OUT/failed.jsonl
OUT/.perseid/                 the store, and beside it:
    crawl.json                which crawl OUT shows, see `Record`
    cursor.json               how much of pages.jsonl is whole
    next/                     a new result while an old one still stands in OUT
    swap                      exists while next/ is being moved into OUT
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perseid.errors import ConfigError, StoreUnavailable

if TYPE_CHECKING:
    from pathlib import Path

STATE = ".perseid"
PAGES = "pages"
PAGES_JSONL = "pages.jsonl"
SKIPPED_JSONL = "skipped.jsonl"
FAILED_JSONL = "failed.jsonl"
ENTRIES = (PAGES, PAGES_JSONL, SKIPPED_JSONL, FAILED_JSONL)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The crawl that OUT shows. `done` once all of it is written; `staged` while it is written to next/."""

    uid: str
    kind: str
    url: str
    options: msgspec.Raw
    """JSON of the options it was started with."""
    staged: bool = False
    done: bool = False
    replaces: Record | None = None
    """The record of the result that stands in OUT while this one is staged."""
    version: int = 1


class Place(NamedTuple):
    """OUT and the names in it."""

    out: Path

    @property
    def state(self) -> Path:
        return self.out / STATE

    @property
    def database(self) -> Path:
        return self.state / "perseid.db"

    @property
    def record(self) -> Path:
        return self.state / "crawl.json"

    @property
    def cursor(self) -> Path:
        return self.state / "cursor.json"

    @property
    def next(self) -> Path:
        return self.state / "next"

    @property
    def swap(self) -> Path:
        return self.state / "swap"

    def target(self, *, staged: bool) -> Path:
        """Where pages are written."""
        return self.next if staged else self.out


def prepare(place: Place) -> None:
    """Make the folder.

    Raises `ConfigError` where OUT holds files of the names we write that aren't ours, or is no folder.
    """
    if not place.state.exists():
        foreign = [name for name in ENTRIES if (place.out / name).exists()]
        if foreign:
            raise ConfigError(
                f"{place.out} holds {', '.join(foreign)} but no crawl of ours; choose another folder with --out"
            )
    try:
        place.state.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ConfigError(f"{place.out} is no folder; choose another one with --out") from None
    except OSError as error:
        raise disk_trouble(place.out, error) from None


def recover(place: Place) -> None:
    """Finish a replacement that was cut short. Only for the one process that holds the folder."""
    if place.swap.exists():
        try:
            _move_in(place)
        except OSError as error:
            raise disk_trouble(place.out, error) from None


def replace(place: Place) -> None:
    """Put the finished result in next/ into OUT, in place of the old one.

    Until the marker is written nothing has changed; from then on `recover` completes what a crash cut short.
    """
    try:
        (place.next / PAGES).mkdir(parents=True, exist_ok=True)
        for name in ENTRIES[1:]:
            (place.next / name).touch()
        write_whole(place.swap, b"")
        _move_in(place)
    except OSError as error:
        raise disk_trouble(place.out, error) from None


def _move_in(place: Place) -> None:
    old = place.state / "old"
    for name in ENTRIES:
        fresh, shown = place.next / name, place.out / name
        if not fresh.exists():
            continue  # moved before the crash
        if name == PAGES and shown.exists():
            _remove(old)
            shown.rename(old)
        fresh.replace(shown)
    place.swap.unlink()
    _remove(old)
    _remove(place.next)


def load_record(place: Place) -> Record | None:
    """The crawl that OUT shows; None where there is none, or its record can't be read."""
    try:
        return msgspec.json.decode(place.record.read_bytes(), type=Record)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def save_record(place: Place, record: Record) -> None:
    write_whole(place.record, msgspec.json.encode(record))


def discard_next(place: Place) -> None:
    """Forget a staged result that will not be finished."""
    _remove(place.next)


def _remove(folder: Path) -> None:
    import shutil  # noqa: PLC0415  start-up time, and the usual crawl removes nothing

    if folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


def write_whole(path: Path, data: bytes) -> None:
    """The file holds either its old content or all of the new. Raises `StoreUnavailable` on a full disk."""
    partial = path.with_name(path.name + ".part")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise disk_trouble(path, error) from None


def disk_trouble(path: Path, error: OSError) -> StoreUnavailable:
    """The same trouble with what to do about it."""
    reason = error.strerror or str(error)
    return StoreUnavailable(
        f"cannot write {path}: {reason}. Nothing fetched is lost: mend this and run the same command again"
    )
