"""How far a database's tables are; looks, and changes nothing."""

from __future__ import annotations

import asyncpg  # type: ignore[import-untyped]  # ships no types

from perseid.ports.truth import Relocation
from perseid.store.postgres.connection import address_of, errors_of, migrations, schema_version
from perseid.store.status import Found


async def status(url: str) -> Found:
    """Raises `StoreUnavailable`, `StoreError`, `ConfigError`."""
    address = address_of(url)
    with errors_of(address):
        connection = await asyncpg.connect(address.dsn, timeout=15.0, statement_cache_size=0)
        try:
            version = await schema_version(connection)
            rows = await connection.fetch("SELECT arrived, other, at FROM relocation") if version else []
        finally:
            await connection.close()
    relocation = Relocation(bool(rows[0][0]), rows[0][1], rows[0][2]) if rows else None
    return Found(address.shown, version, [script.stem for script in migrations()], relocation)
