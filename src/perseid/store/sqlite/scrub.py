"""Wiping what SQLite leaves behind: copies of rows in the unused middle of pages that were split or merged.

`secure_delete` overwrites what is deleted, but not these. VACUUM would, by writing the whole database anew. Here only
bytes that belong to no cell are zeroed, in the file itself, under the write lock and while nothing waits in the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import apsw

from perseid.errors import StoreUnavailable
from perseid.store.sqlite.connection import Connection, connect, reading, transaction

_BTREE = {2: 12, 5: 12, 10: 8, 13: 8}
"""Kinds of b-tree pages, with the length of their header (SQLite file format, 1.6)."""
_MOST_PAGES = 1 << 24
"""Beyond, the number that other pages begin with could look like a kind of b-tree page."""
_CHUNK_PAGES = 1_000
_READ_PAGES = 256
_ZEROS = bytes(65_536)


class Layout(NamedTuple):
    page_size: int
    usable: int
    pages: int


def scrub(path: Path, *, patience_s: float = 5.0) -> bool:
    """Wipe all unused middles and empty the log; False where a reader or another process stands in the way.

    A page that is changed later is written from a connection's cache, with its middle as it was read. So each wiping
    ends with a commit, which makes all other connections drop their caches.
    """
    own = connect(path, cache_kib=256, busy_timeout_s=patience_s)
    mover = connect(path, cache_kib=256, busy_timeout_s=patience_s)
    try:
        return reading(mover, path, lambda _: _emptied(mover) and _wipe_all(own, mover, path) and _emptied(mover))
    except StoreUnavailable:
        return False
    finally:
        own.close()
        mover.close()


def _wipe_all(own: Connection, mover: Connection, path: Path) -> bool:
    # Through SQLite's own layer: a file closed beside it would take the locks of this process along.
    file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0])
    try:
        found = list(_dirty_pages(file))
        return all(
            _wipe(file, own, mover, path, found[first : first + _CHUNK_PAGES])
            for first in range(0, len(found), _CHUNK_PAGES)
        )
    finally:
        file.xClose()


def _emptied(mover: Connection) -> bool:
    """Everything in the log is in the database now, and the log's file is empty."""
    try:
        busy, _frames, _moved = mover.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
    except (apsw.BusyError, apsw.LockedError):
        return False
    return not busy


def _layout(file: apsw.VFSFile) -> Layout:
    head = file.xRead(100, 0)
    page_size = int.from_bytes(head[16:18], "big")
    page_size = 65_536 if page_size == 1 else page_size
    return Layout(page_size, page_size - head[20], file.xFileSize() // page_size)


def _dirty_pages(file: apsw.VFSFile) -> Iterator[int]:
    """Numbers (from 0) of pages with something in their middle. Read without a lock: they are looked at again."""
    layout = _layout(file)
    if any(file.xRead(4, 52)):
        raise StoreUnavailable("the database keeps a map of pointers (auto_vacuum), whose pages look like others")
    if layout.pages >= _MOST_PAGES:
        raise StoreUnavailable("the database is too large (over 16,777,216 pages) to be wiped in place; VACUUM it")
    for first in range(0, layout.pages, _READ_PAGES):
        count = min(_READ_PAGES, layout.pages - first)
        data = file.xRead(count * layout.page_size, first * layout.page_size)
        for offset in range(count):
            page = data[offset * layout.page_size : (offset + 1) * layout.page_size]
            if middle(page, layout.usable, first=first + offset == 0) is not None:
                yield first + offset


def middle(page: bytes, usable: int, *, first: bool) -> tuple[int, int] | None:
    """Where the unused middle of a b-tree page lies, if it is one and anything but zeros stands there.

    Between the end of the array of cell pointers and the first cell.
    """
    at = 100 if first else 0
    header = _BTREE.get(page[at] if len(page) >= usable else 0)
    if header is None:
        return None
    cells = int.from_bytes(page[at + 3 : at + 5], "big")
    begin = at + header + 2 * cells
    end = int.from_bytes(page[at + 5 : at + 7], "big") or 65_536
    if not begin < end <= usable or page[begin:end] == _ZEROS[: end - begin]:
        return None
    return begin, end


def _wipe(file: apsw.VFSFile, own: Connection, mover: Connection, path: Path, pages: list[int]) -> bool:
    """Zero the middles of these pages while nobody can write and the file alone is the truth."""
    with transaction(own, path):
        if not _in_the_file(mover):
            return False
        layout = _layout(file)
        for number in pages:
            start = number * layout.page_size
            found = middle(file.xRead(layout.page_size, start), layout.usable, first=number == 0)
            if found is not None:
                begin, end = found
                file.xWrite(bytes(end - begin), start + begin)
        file.xSync(apsw.SQLITE_SYNC_FULL)
        own.execute("UPDATE gate SET turn = turn + 1 WHERE id = 1")
    return True


def _in_the_file(mover: Connection) -> bool:
    """No page stands in the log only. Asked under the write lock, so that it stays true."""
    try:
        busy, frames, moved = mover.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()[0]
    except (apsw.BusyError, apsw.LockedError):
        return False
    return not busy and frames == moved
