"""Large bodies as files under one folder: written whole, synced, then renamed into place."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
from pathlib import Path

from perseid.errors import NotFound, StoreUnavailable


class FileBlobs:
    """`Blobs` on a local folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, path: str, data: bytes) -> None:
        await asyncio.to_thread(self._put, path, data)

    async def prefixes(self, *, after: int = 0, limit: int | None = None) -> list[int]:
        """Raises `StoreUnavailable`."""
        found = await asyncio.to_thread(self._prefixes)
        return [number for number in found if number > after][:limit]

    async def get(self, path: str) -> bytes:
        return await asyncio.to_thread(self._get, path)

    async def delete_prefix(self, prefix: str) -> int:
        return await asyncio.to_thread(self._delete_prefix, prefix)

    def _put(self, path: str, data: bytes) -> None:
        target = self._folder / path
        part = target.with_name(f"{target.name}.{secrets.token_hex(8)}.part")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(target)
            self._sync_folders(target.parent)
        except OSError as error:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            raise StoreUnavailable(
                f"{target} can't be written ({error.strerror}); nothing is lost, the page is kept"
            ) from error

    def _sync_folders(self, folder: Path) -> None:
        """A file is only there after a power cut if the folders that name it are."""
        while True:
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if folder in (self._folder, folder.parent):
                return
            folder = folder.parent

    def _prefixes(self) -> list[int]:
        if not self._folder.is_dir():
            return []
        try:
            return sorted(
                int(entry.name) for entry in self._folder.iterdir() if entry.is_dir() and entry.name.isdecimal()
            )
        except OSError as error:
            raise StoreUnavailable(f"{self._folder} can't be read ({error.strerror})") from error

    def _get(self, path: str) -> bytes:
        try:
            return (self._folder / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(f"no blob {path} in {self._folder}") from None

    def _delete_prefix(self, prefix: str) -> int:
        folder = self._folder / prefix
        if not folder.is_dir():
            return 0
        count = sum(1 for entry in folder.rglob("*") if entry.suffix != ".part" and entry.is_file())
        shutil.rmtree(folder, ignore_errors=True)
        return count
