"""Where tests put the stores they work on: in files, or in the servers that a fleet works with.

`PERSEID_TEST_STORE=postgresql` gives each folder a database of its own there, and
`PERSEID_TEST_DELIVERY=rabbitmq` or `redis` lets those who work on it be told by a broker. Without them, or with
`sqlite` and `direct`, a folder holds its store itself.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from perseid.config.settings import DeliverySettings, Settings, StoreSettings
from perseid.ports.store import HostDefaults
from perseid.ports.truth import Truth

STORE = os.environ.get("PERSEID_TEST_STORE") or "sqlite"
DELIVERY = os.environ.get("PERSEID_TEST_DELIVERY") or "direct"
_REDIS = os.environ.get("PERSEID_TEST_REDIS_URL", "redis://127.0.0.1:6379/0")

_count = itertools.count()


class Ground(msgspec.Struct, frozen=True):
    """A store that nobody else uses, and how its workers are told of work."""

    store_url: str = ""
    delivery_url: str = ""
    prefix: str = ""
    database: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """For a process that is to stand on it."""
        told = {
            "PERSEID_STORE__URL": self.store_url,
            "PERSEID_DELIVERY__URL": self.delivery_url,
            "PERSEID_DELIVERY__PREFIX": self.prefix,
        }
        return {name: value for name, value in told.items() if value}

    def under(self, settings: Settings) -> Settings:
        """The same settings, standing on it."""
        if not self.store_url and not self.delivery_url:
            return settings
        store: StoreSettings = msgspec.structs.replace(settings.store, url=self.store_url)
        delivery = DeliverySettings(url=self.delivery_url, prefix=self.prefix)
        return msgspec.structs.replace(settings, store=store, delivery=delivery)


async def open_store(
    ground: Ground, path: Path, *, defaults: HostDefaults | None = None, clock: Callable[[], int] | None = None
) -> Truth:
    """The store there, or in the file `path` where the ground has none. `clock` gives µs since the epoch."""
    if ground.store_url:
        from perseid.store.postgres.store import PgStore  # noqa: PLC0415 - its driver is an extra

        return await PgStore.open(ground.store_url, defaults=defaults, clock=clock)
    from perseid.store.sqlite.store import SqliteStore  # noqa: PLC0415 - only one of the two
    from perseid.testing.sqlite import put_empty  # noqa: PLC0415 - as above

    put_empty(path)
    if clock is None:
        return await SqliteStore.open(path, defaults=defaults)
    return await SqliteStore.open(path, defaults=defaults, clock=clock)


async def take() -> Ground:
    """A new one; give it back when nobody stands on it any more."""
    database = url = ""
    if STORE == "postgresql":
        from perseid.testing.postgres import take_database, url_of  # noqa: PLC0415 - its driver is an extra

        database = await take_database()
        url = url_of(database)
    elif STORE != "sqlite":
        raise ValueError(f"PERSEID_TEST_STORE is {STORE!r}; sqlite or postgresql")
    broker = await asyncio.to_thread(_broker)
    prefix = f"perseid-test-{os.getpid()}-{next(_count)}-" if broker else ""
    return Ground(url, broker, prefix, database)


async def give_back(ground: Ground) -> None:
    """Its rows go; what waits at a broker goes with it."""
    if ground.database:
        from perseid.testing.postgres import give_back as give_back_database  # noqa: PLC0415 - as above

        await give_back_database(ground.database)
    if ground.delivery_url.startswith("redis"):
        await _sweep(ground)


@contextmanager
def standing() -> Iterator[Ground]:
    """For code that runs in no loop; in one as well where a folder is all that is needed."""
    if folders_hold_stores() and DELIVERY == "direct":
        yield Ground()
        return
    ground = asyncio.run(take())
    try:
        yield ground
    finally:
        asyncio.run(give_back(ground))


def folders_hold_stores() -> bool:
    """Whether a folder is all that a store needs: what looks into the file, or copies it, means that."""
    return STORE == "sqlite"


def _broker() -> str:
    if DELIVERY == "rabbitmq":
        from perseid.testing.brokers import own_vhost  # noqa: PLC0415 - only where it is used

        return own_vhost()
    if DELIVERY == "redis":
        return _REDIS
    if DELIVERY != "direct":
        raise ValueError(f"PERSEID_TEST_DELIVERY is {DELIVERY!r}; direct, rabbitmq or redis")
    return ""


async def _sweep(ground: Ground) -> None:
    from redis.asyncio import Redis  # noqa: PLC0415 - an extra

    async with Redis.from_url(ground.delivery_url) as redis:
        async for key in redis.scan_iter(match=f"{ground.prefix}*", count=1_000):
            await redis.delete(key)
