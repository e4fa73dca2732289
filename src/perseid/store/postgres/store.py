"""The PostgreSQL store: its parts put together."""

from __future__ import annotations

from collections.abc import Callable

from perseid.ports.store import HostDefaults
from perseid.store.postgres.connection import address_of, errors_of, make_pool, migrate
from perseid.store.postgres.living import PgLiving
from perseid.store.postgres.memory import Memory
from perseid.store.postgres.notice import PgNotices
from perseid.store.postgres.reading import PgReading
from perseid.store.postgres.settle import take_settings
from perseid.store.postgres.stepping import PgStepping


class PgStore(PgStepping, PgLiving, PgReading, PgNotices):
    """`Truth` on one database. Any number of processes, on any number of machines, may open it."""

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        defaults: HostDefaults | None = None,
        clock: Callable[[], int] | None = None,
        connections: int = 4,
        patience_s: float = 60.0,
    ) -> PgStore:
        """Connect, and create or update the schema.

        `url` is `postgresql://user:password@host:port/database`, with `?pooled=1` behind a pooler in transaction
        mode. `clock` gives µs since the epoch; without one the server's own time holds. A statement that takes longer
        than `patience_s` is given up. Raises `StoreUnavailable`, `StoreError`, `ConfigError`.
        """
        address = address_of(url)
        memory = Memory(keeps=not address.pooled)
        pool = await make_pool(address, most=connections, patience_s=patience_s, made=memory.connect)
        store = cls(address, pool, defaults or HostDefaults(), clock, memory)
        try:
            with errors_of(address):
                async with pool.acquire() as connection:
                    await migrate(connection, address)
            await store._write(take_settings, synced=True)
        except BaseException:
            await pool.close()
            raise
        return store

    async def close(self) -> None:
        await self.close_notices()
        await self.pages.close()
        await self._pool.close()
