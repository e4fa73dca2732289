"""Queries on PostgreSQL servers: one statement in a transaction that can't write, under a time limit of the server."""

from __future__ import annotations

import asyncpg  # type: ignore[import-untyped]  # ships no types

from perseid.errors import SourceFailed
from perseid.ports.source import Query, Rows
from perseid.source.wrapping import statement

_CONNECT_S = 10.0
_PASSING = (
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.TransactionRollbackError,
    asyncpg.LockNotAvailableError,
    asyncpg.InterfaceError,
    OSError,
    TimeoutError,
)


async def read_rows(query: Query, address: str, patience_s: float) -> Rows:
    """`postgresql://user:password@host/database`. Raises SourceFailed."""
    text, values = statement(query, "$1")
    name = query.connection
    try:
        connection = await asyncpg.connect(
            address,
            timeout=_CONNECT_S,
            command_timeout=patience_s + _CONNECT_S,
            server_settings={"application_name": "perseid", "statement_timeout": str(int(patience_s * 1_000))},
        )
        try:
            # A prepared statement is a single one, whatever the query holds.
            async with connection.transaction(readonly=True):
                prepared = await connection.prepare(text)
                found = await prepared.fetch(*values)
                return Rows(tuple(each.name for each in prepared.get_attributes()), [tuple(row) for row in found])
        finally:
            await connection.close(timeout=_CONNECT_S)
    except asyncpg.QueryCanceledError:
        raise SourceFailed(f"the query took longer than {patience_s:g} s; give it an index, or a `key`") from None
    except _PASSING as error:
        said = str(error) or type(error).__name__
        raise SourceFailed(f"the database {name!r} can't be reached: {said}", retryable=True) from None
    except (asyncpg.PostgresError, ValueError) as error:
        raise SourceFailed(f"the database {name!r} refuses the query: {error}") from None
