"""Pages as they come: a markdown file each, and a line each in pages.jsonl. Goes on where it was killed.

The store is the truth. A cursor says up to which document, and up to which byte of pages.jsonl, all is
written; whatever lies beyond is cut off and written again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, Self

import msgspec

from perseid.sink.frontmatter import front_matter
from perseid.sink.paths import page_path
from perseid.sink.place import PAGES, PAGES_JSONL, disk_trouble, write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from perseid.model.document import Document

_BUFFER = 1024 * 1024
_KNOWN_FOLDERS = 20_000
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Cursor(msgspec.Struct, frozen=True):
    """Documents up to `seq` of crawl `uid` are the first `size` bytes of pages.jsonl."""

    uid: str
    seq: int = 0
    size: int = 0


class PageWriter:
    """Writes the pages of one crawl into a folder. A context manager; not for two processes at once.

    All methods raise `StoreUnavailable` when the disk is full or the folder can't be written.
    """

    def __init__(self, folder: Path, cursor: Path, uid: str) -> None:
        self._folder = folder
        self._root = str(folder / PAGES)
        self._lines_path = folder / PAGES_JSONL
        self._cursor_path = cursor
        self._made: set[str] = set()
        self.repaired = False
        """What was found did not fit the cursor, or held a torn line."""
        try:
            folder.joinpath(PAGES).mkdir(parents=True, exist_ok=True)
            self._lines, self._at = self._open(_load(cursor, uid))
        except OSError as error:
            raise disk_trouble(self._lines_path, error) from None
        self._saved = self._at

    @property
    def seq(self) -> int:
        """The last document written."""
        return self._at.seq

    def _open(self, at: Cursor) -> tuple[BinaryIO, Cursor]:
        self._lines_path.touch()
        lines = self._lines_path.open("r+b", buffering=_BUFFER)
        size = lines.seek(0, os.SEEK_END)
        if size < at.size or not _ends_line(lines, at.size):
            at = Cursor(at.uid)  # not what we left: write everything anew
        self.repaired = size != at.size
        lines.truncate(at.size)
        lines.seek(at.size)
        return lines, at

    def write(self, seq: int, line: bytes, document: Document) -> None:
        """Add one page; `line` is its JSON without a line break. Documents come in order of `seq`."""
        try:
            if document.markdown is not None:
                self._write_markdown(document, document.markdown)
            self._lines.write(line)
            self._lines.write(b"\n")
        except OSError as error:
            raise disk_trouble(self._folder, error) from None
        self._at = Cursor(self._at.uid, seq, self._at.size + len(line) + 1)

    def _write_markdown(self, document: Document, markdown: str) -> None:
        path = f"{self._root}/{page_path(document.url)}"
        folder = path[: path.rindex("/")]
        if folder not in self._made:
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103  no Path objects on the path of every page
            if len(self._made) >= _KNOWN_FOLDERS:
                self._made.clear()
            self._made.add(folder)
        end = "" if markdown.endswith("\n") or not markdown else "\n"
        data = f"{front_matter(document)}\n{markdown}{end}".encode("utf-8", "replace")
        descriptor = os.open(path, _FLAGS, 0o666)
        try:
            _write_all(descriptor, data)
        finally:
            os.close(descriptor)

    def commit(self) -> None:
        """Make what was written survive anything that comes."""
        if self._at == self._saved:
            return
        try:
            self._lines.flush()
            os.fsync(self._lines.fileno())
        except OSError as error:
            raise disk_trouble(self._lines_path, error) from None
        write_whole(self._cursor_path, msgspec.json.encode(self._at))
        self._saved = self._at

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.commit()
        with suppress(OSError):  # after an error; the cursor stands before what is lost
            self._lines.close()


def _load(path: Path, uid: str) -> Cursor:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Cursor)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return Cursor(uid)
    return found if found.uid == uid and found.size >= 0 else Cursor(uid)


def _ends_line(lines: BinaryIO, size: int) -> bool:
    if size == 0:
        return True
    lines.seek(size - 1)
    return lines.read(1) == b"\n"


def _write_all(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    while written < len(data):  # a nearly full disk takes a part
        written += os.write(descriptor, data[written:])
