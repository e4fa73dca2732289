"""Files in folders that the operator has named: nothing outside of them, however a path or a link is written."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from perseid.errors import SourceFailed
from perseid.ports.source import Chunk


class NamedFolders:
    """`Folders` over the paths of the settings."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = dict(paths)

    async def read(self, folder: str, file: str, *, offset: int, size: int) -> Chunk:
        root = self._paths.get(folder)
        if root is None:
            there = f"there are: {', '.join(sorted(self._paths))}" if self._paths else "there is none"
            raise SourceFailed(f"no folder is named {folder!r} in the settings; {there}")
        return await asyncio.to_thread(_read, Path(root), folder, file, offset, size)


def _read(root: Path, folder: str, file: str, offset: int, size: int) -> Chunk:
    try:
        base = root.resolve(strict=True)
        path = (base / file).resolve(strict=True)
        if not path.is_relative_to(base):
            raise SourceFailed(f"{file!r} leads out of the folder {folder!r}")
        # Without waiting for who may write into it, should it be a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError, RuntimeError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise SourceFailed(f"{file!r} in the folder {folder!r} can't be read: {said}") from None
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise SourceFailed(f"{file!r} in the folder {folder!r} is no file")
        data = _whole(descriptor, offset, size)
    except OSError as error:
        message = f"{file!r} in the folder {folder!r} can't be read: {error.strerror}"
        raise SourceFailed(message, retryable=True) from None
    finally:
        os.close(descriptor)
    return Chunk(data, about.st_size, f"{about.st_dev:x}:{about.st_ino:x}")


def _whole(descriptor: int, offset: int, size: int) -> bytes:
    """All of the part, in as many reads as that takes."""
    os.lseek(descriptor, offset, os.SEEK_SET)
    parts = []
    while size > 0 and (part := os.read(descriptor, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
