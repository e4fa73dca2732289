"""What a batch is about to write into a folder, said before it does: so that the same batch finds what it left there.

`.NAME.perseid` beside what it is about holds the number of the batch that was begun last. A crash between write and
settle leaves it behind, and the batch of the same number undoes what the first try did. A higher number than that of
the batch in hand means that another store writes there, or that somebody took over long ago.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from perseid.ports.sink import SinkFailure

if os.name == "posix":
    import fcntl


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """`start` is where the batch began in a file that is appended to; `files` are those that it writes whole."""

    number: int
    start: int = 0
    files: tuple[str, ...] = ()


def journal_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.perseid")


def read(journal: Path, number: int) -> Begun | None:
    """What was begun last. Raises `SinkFailure` where that was a later batch than this one."""
    try:
        return understood(journal.read_bytes(), number, str(journal))
    except FileNotFoundError:
        return None


def understood(content: bytes, number: int, where: str) -> Begun:
    """Raises `SinkFailure` for what is no journal, and for that of a later batch than `number`."""
    try:
        begun = msgspec.json.decode(content, type=Begun)
    except msgspec.DecodeError:
        raise SinkFailure(f"{where} can't be read: remove it if nobody else writes here", lasting=True) from None
    if begun.number > number:
        raise SinkFailure(
            f"batch {begun.number} was written here and this is {number}: another store writes to the same place, or"
            f" this one is older. Give the sink another `table`, or remove {where}",
            lasting=True,
        )
    return begun


def write(journal: Path, begun: Begun) -> None:
    write_whole(journal, msgspec.json.encode(begun))


def write_whole(path: Path, content: bytes) -> None:
    """All of it or nothing, durable on return."""
    fresh = path.with_name(f".{path.name}.new")
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """What was made, renamed or removed in it stays so."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def alone(handle: int, name: Path) -> Iterator[None]:
    """Nobody else on this machine writes there meanwhile. Raises `SinkFailure` where somebody does."""
    if os.name == "posix":
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SinkFailure(f"another process is writing {name}; it is tried again") from None
    try:
        yield
    finally:
        if os.name == "posix":
            fcntl.flock(handle, fcntl.LOCK_UN)


def failure(error: OSError, where: Path) -> SinkFailure:
    """What to do about it, for people."""
    import errno  # noqa: PLC0415 - for messages only

    place = error.filename or where
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return SinkFailure(f"no room for {place}: make some; it is tried again")
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return SinkFailure(f"{place} may not be written: give the user of the workers the right to", lasting=True)
    return SinkFailure(f"{place}: {error.strerror or type(error).__name__}; it is tried again")


def root_of(folder: str) -> Path:
    """Raises `SinkFailure`: a folder that is not there may be a disk that was not mounted, so it is not made."""
    root = Path(folder)
    if not root.is_dir():
        raise SinkFailure(f"the folder {root} is not there: make it, or mount it", lasting=True)
    return root
