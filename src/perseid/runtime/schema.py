"""How far a store's tables are, and bringing them up to date: `perseid db status` and `migrate`."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import msgspec

from perseid.config.settings import Settings
from perseid.errors import MissingExtra, NotFound, StoreUnavailable
from perseid.runtime.stores import DATABASE, is_shared, open_store


class Schema(msgspec.Struct, frozen=True, kw_only=True):
    """`version` is 0 for an empty database; `pending` names the scripts that would bring it to `newest`."""

    store: str
    version: int
    newest: int
    pending: list[str]
    relocation: str = ""
    """Why it is not the truth, if it isn't."""


async def status(folder: Path, settings: Settings) -> Schema:
    """Changes nothing. Raises `NotFound` for a folder without a store, `StoreUnavailable`, `StoreError`."""
    if is_shared(settings):
        try:
            from perseid.store.postgres.status import status as of_server  # noqa: PLC0415 - an extra
        except ModuleNotFoundError as error:
            raise MissingExtra(
                f"{error.name}, which speaks to PostgreSQL, is missing: pip install 'perseid[postgres]'"
            ) from error
        found = await of_server(settings.store.url)
    else:
        from perseid.store.sqlite.status import status as of_file  # noqa: PLC0415 - only where one is

        path = folder / DATABASE
        if not path.is_file():
            raise NotFound(f"{folder} holds no store; --data names the folder of one")
        found = await asyncio.to_thread(of_file, path)
    version, names, relocation = found.version, found.scripts, found.relocation
    told = ""
    if relocation is not None:
        told = ("being filled from " if relocation.arrived else "copied to ") + relocation.other
    return Schema(store=found.shown, version=version, newest=len(names), pending=names[version:], relocation=told)


async def migrate(folder: Path, settings: Settings, *, wait_s: float = 0.0) -> list[str]:
    """Bring the store to this release, making it if need be; the scripts that were run.

    A store that is away is waited for, up to `wait_s`. Raises `StoreError` where older workers stand against it.
    """
    until = time.monotonic() + wait_s
    while True:
        try:
            pending = (await status(folder, settings)).pending
        except NotFound:
            pending = ["all"]
        except StoreUnavailable:
            if time.monotonic() >= until:
                raise
            await asyncio.sleep(min(1.0, max(0.0, until - time.monotonic())))
            continue
        store, _blobs = await open_store(folder, settings)
        await store.close()
        return pending
