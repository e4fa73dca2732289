"""Reaching the server: addresses, connections, migrations, and what its errors mean to a caller."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

import msgspec

from perseid.errors import ConfigError, MissingExtra, StoreCorrupt, StoreError, StoreUnavailable
from perseid.store.contract import OBSERVED_S, Working, contracts, older, refuse_beside

try:
    import asyncpg  # type: ignore[import-untyped]  # ships no types
except ModuleNotFoundError as error:  # pragma: no cover - depends on what is installed
    raise MissingExtra("a PostgreSQL store needs asyncpg: pip install 'perseid[postgres]'") from error

Connection: TypeAlias = asyncpg.Connection
Row: TypeAlias = asyncpg.Record
"""Like a tuple, and like a mapping."""

OLDEST_SERVER = 130_000
_MIGRATIONS = Path(__file__).with_name("migrations")
_MIGRATING = 0x5045525331
"""Number of the advisory lock under which the schema changes."""
_VERSIONS = "CREATE TABLE IF NOT EXISTS perseid_schema (version bigint NOT NULL, at timestamptz NOT NULL DEFAULT now())"
_PASSING = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.QueryCanceledError,
    asyncpg.LockNotAvailableError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.OutOfMemoryError,
    asyncpg.InterfaceError,
    ConnectionError,
    TimeoutError,
    OSError,
)
PLANS = {
    "plan_cache_mode": "force_custom_plan",
    # A plan that can't do without what is off looks dear enough to be shared out: that alone takes 20 ms.
    "max_parallel_workers_per_gather": "0",
    **dict.fromkeys(("enable_seqscan", "enable_hashjoin", "enable_mergejoin", "enable_bitmapscan", "jit"), "off"),
}
"""How reads are planned: for the tables as they are now, by the index that each statement is written for.

What looks cheap while a table is small (read all of it, and sort) is not looked for again when it has grown.
"""
_COMMIT = {"synchronous_commit": "off"}
"""What is to be on disk before somebody is told says so itself."""
ANY_PLAN = "; ".join(f"SET LOCAL {name} = on" for name in PLANS if name.startswith("enable_"))
"""For a transaction that has to read all of it anyway."""
CLASHES = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
"""The same transaction succeeds when it is run again."""


class Address(msgspec.Struct, frozen=True):
    """Where the database is; `shown` names it without its password."""

    dsn: str
    shown: str
    pooled: bool
    """A pooler in transaction mode lies between: nothing may be kept in a session."""


def address_of(url: str) -> Address:
    """Read `postgresql://user:password@host:port/database?pooled=1`. Raises `ConfigError`."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ConfigError(
            f"the store's address can't be read ({error}); write postgresql://user@host/database"
        ) from None
    if parts.scheme not in ("postgresql", "postgres"):
        raise ConfigError(f"a PostgreSQL store's address begins with postgresql://, not {parts.scheme}://")
    options = parse_qsl(parts.query, keep_blank_values=True)
    pooled = any(name == "pooled" and value not in ("0", "false", "no") for name, value in options)
    query = urlencode([(name, value) for name, value in options if name != "pooled"])
    host = parts.hostname or dict(options).get("host") or "the local socket"
    database = unquote(parts.path.lstrip("/")) or "of the user's name"
    shown = f"database {database} on {host}{f':{port}' if port else ''}"
    return Address(urlunsplit(parts._replace(scheme="postgresql", query=query)), shown, pooled)


@contextmanager
def errors_of(address: Address) -> Iterator[None]:
    """The server's errors become the store's; data that it refuses stays an error of its own."""
    try:
        yield
    except (asyncpg.DiskFullError, asyncpg.InsufficientResourcesError) as error:
        raise StoreUnavailable(
            f"{address.shown} is out of room ({_said(error)}); free some space, nothing is lost"
        ) from error
    except (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError) as error:
        raise StoreError(f"{address.shown} refuses us: {_said(error)}; check the store's address") from error
    except asyncpg.InsufficientPrivilegeError as error:
        raise StoreError(f"{address.shown} doesn't let this role work: {_said(error)}; grant it the schema") from error
    except (asyncpg.DataCorruptedError, asyncpg.IndexCorruptedError) as error:
        raise StoreCorrupt(f"{address.shown} is damaged ({_said(error)}); restore a backup") from error
    except asyncpg.SyntaxOrAccessError as error:
        raise StoreError(f"{address.shown} is not as this release knows it: {_said(error)}; migrate it") from error
    except _PASSING as error:
        raise StoreUnavailable(f"{address.shown} can't be reached or doesn't answer ({_said(error)})") from error


def _said(error: BaseException) -> str:
    return str(error) or type(error).__name__


async def make_pool(
    address: Address, *, most: int, patience_s: float, made: Callable[[], None] = lambda: None
) -> asyncpg.Pool:
    """Connections are opened as they are needed, and `made` is called for each before anybody uses it.

    Raises `StoreUnavailable`, `StoreError`.
    """

    async def begin(_connection: Connection) -> None:
        made()

    async def keep(connection: Connection) -> None:
        """Nothing to clean up: every transaction is ended by who began it, and no session state is ever set."""

    with errors_of(address):
        return await asyncpg.create_pool(
            address.dsn,
            min_size=1,
            max_size=most,
            init=begin,
            reset=keep,
            timeout=min(patience_s, 15.0),
            command_timeout=patience_s,
            max_inactive_connection_lifetime=120.0,
            statement_cache_size=0 if address.pooled else 200,
            server_settings={"application_name": "perseid"} | ({} if address.pooled else {**PLANS, **_COMMIT}),
        )


def migrations() -> list[Path]:
    return sorted(_MIGRATIONS.glob("*.sql"))


async def schema_version(connection: Connection) -> int:
    """0 where nothing was ever migrated."""
    async with connection.transaction():
        if await connection.fetchval("SELECT to_regclass('perseid_schema')") is None:
            return 0
        return int(await connection.fetchval("SELECT coalesce(max(version), 0) FROM perseid_schema"))


async def migrate(connection: Connection, address: Address) -> int:
    """Bring the schema to the newest version, one process at a time; how many steps that took."""
    scripts = migrations()
    with errors_of(address):
        if connection.get_server_version().major * 10_000 < OLDEST_SERVER:
            raise StoreError(f"{address.shown} is older than PostgreSQL {OLDEST_SERVER // 10_000}; upgrade the server")
        version = await schema_version(connection)
        _check(version, len(scripts), address)
        if version == len(scripts):
            return 0
        await _let_older_go(connection, address, version, scripts)
        async with connection.transaction():
            await connection.execute("SET LOCAL synchronous_commit = on")
            await connection.execute(f"SELECT pg_advisory_xact_lock({_MIGRATING})")
            await connection.execute(_VERSIONS)
            version = await connection.fetchval("SELECT coalesce(max(version), 0) FROM perseid_schema")
            _check(version, len(scripts), address)
            for number, script in enumerate(scripts[version:], start=version + 1):
                await connection.execute(script.read_text(encoding="utf-8"))
                await connection.execute(f"INSERT INTO perseid_schema (version) VALUES ({number})")  # noqa: S608 - an integer
        return len(scripts) - int(version)


async def _let_older_go(connection: Connection, address: Address, version: int, scripts: Sequence[Path]) -> None:
    if version == 0 or not contracts(script.read_text(encoding="utf-8") for script in scripts[version:]):
        return
    statement = "SELECT id, host, pid, beat, version FROM worker"
    before = older([Working(*row) for row in await connection.fetch(statement)])
    if before:
        await asyncio.sleep(OBSERVED_S)
        refuse_beside(before, [Working(*row) for row in await connection.fetch(statement)], address.shown)


def _check(version: int, newest: int, address: Address) -> None:
    if version > newest:
        raise StoreError(
            f"{address.shown} was written by a newer Perseid (schema {version}, this one knows {newest}); upgrade"
        )
