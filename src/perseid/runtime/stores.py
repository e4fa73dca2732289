"""Which database holds the truth, by the settings: a PostgreSQL that many share, or an SQLite file in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from perseid.errors import ConfigError, MissingExtra, StoreError
from perseid.ports.store import HostDefaults
from perseid.ports.truth import Relocation, Truth
from perseid.store.blobs import FileBlobs

if TYPE_CHECKING:
    from perseid.config.settings import Settings
    from perseid.ports.blob import Blobs

DATABASE = "perseid.db"
BLOBS = "blobs"
_SCHEMES = ("postgresql", "postgres")


def host_defaults(settings: Settings) -> HostDefaults:
    politeness = settings.politeness
    return HostDefaults(
        max_active=politeness.per_host,
        interval_us=int(1_000_000 / politeness.rate_per_host),
        burst=politeness.burst_per_host,
        give_up_after=politeness.give_up_after,
        give_up_after_us=int(politeness.give_up_after_s * 1_000_000),
        max_backoff_us=int(politeness.max_backoff_s * 1_000_000),
        global_interval_us=int(1_000_000 / politeness.global_rate),
        global_burst=politeness.global_burst,
    )


def is_shared(settings: Settings) -> bool:
    """Whether the store is one for all folders. Raises `ConfigError` for an address that is none."""
    url = settings.store.url
    if not url:
        return False
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES:
        raise ConfigError(
            f"store.url begins with {parts.scheme or url.partition(':')[0][:20]!r}, which is no database of ours;"
            " write postgresql://user:password@host:5432/database, or leave it empty for SQLite"
        )
    return True


class Opened(NamedTuple):
    """A store, and where its large bodies lie."""

    store: Truth
    blobs: Blobs


async def open_store(folder: Path, settings: Settings) -> Opened:
    """Open the store, or create it.

    Raises `StoreUnavailable`, `StoreCorrupt`, `ConfigError`, `MissingExtra`, and `StoreError` for one that was copied
    elsewhere, or is being filled from another.
    """
    opened = await (_postgres(settings) if is_shared(settings) else _sqlite(folder, settings))
    try:
        _must_be_the_truth(await opened.store.relocation())
    except BaseException:
        await opened.store.close()
        raise
    return opened


async def _sqlite(folder: Path, settings: Settings) -> Opened:
    from perseid.store.sqlite.store import SqliteStore  # noqa: PLC0415 - not where PostgreSQL is used

    store = await SqliteStore.open(
        folder / DATABASE,
        defaults=host_defaults(settings),
        busy_timeout_s=settings.store.busy_timeout_s,
        wal_limit_bytes=settings.store.wal_limit_bytes,
    )
    return Opened(store, FileBlobs(Path(settings.store.blob_folder or folder / BLOBS)))


async def _postgres(settings: Settings) -> Opened:
    try:
        from perseid.store.postgres.store import PgStore  # noqa: PLC0415 - an extra, and few have one
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"store.url names a PostgreSQL, and {error.name}, which speaks to it, is not installed:"
            " pip install 'perseid[postgres]'"
        ) from error
    store = await PgStore.open(
        settings.store.url, defaults=host_defaults(settings), connections=settings.store.connections
    )
    blobs: Blobs = FileBlobs(Path(settings.store.blob_folder)) if settings.store.blob_folder else store.blobs
    return Opened(store, blobs)


def _must_be_the_truth(relocation: Relocation | None) -> None:
    if relocation is None:
        return
    if relocation.arrived:
        raise StoreError(
            f"this store is being filled from {relocation.other}, and not complete; run `perseid db copy` again"
        )
    raise StoreError(
        f"this store was copied to {relocation.other} and is the truth no longer; name that one in store.url"
        " (`perseid db reopen` takes it back)"
    )
