"""Databases for tests on a real PostgreSQL server: empty, ready to be opened, thrown away after the run.

`PERSEID_TEST_POSTGRES_URL` names a role that may create roles and databases; by default the local server's own.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg  # type: ignore[import-untyped]  # ships no types

ADMIN = os.environ.get("PERSEID_TEST_POSTGRES_URL", "postgresql://postgres@127.0.0.1:5432/postgres")
ROLE = "perseid_test"
_PASSWORD = "perseid"  # noqa: S105 - of a role that owns nothing but these databases
_PREFIX = "perseid_test_"
_EMPTY = """
DO $do$
DECLARE it record; found boolean;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  FOR it IN SELECT pid FROM pg_stat_get_activity(NULL) WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
    AND datid = (SELECT oid FROM pg_database WHERE datname = current_database())
  LOOP
    PERFORM pg_terminate_backend(it.pid, 5000);
  END LOOP;
  FOR it IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
    AND relname <> 'perseid_schema' AND pg_relation_size(oid) > 0
  LOOP
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', it.relname) INTO found;
    IF found THEN EXECUTE format('DELETE FROM %I', it.relname); END IF;
  END LOOP;
  FOR it IN SELECT seqrelid::regclass AS name, seqstart FROM pg_sequence
    WHERE pg_sequence_last_value(seqrelid) IS NOT NULL
  LOOP
    PERFORM setval(it.name, it.seqstart, false);
  END LOOP;
  IF to_regclass('team') IS NOT NULL THEN
    INSERT INTO team (id, name, max_active) VALUES (1, 'default', 1099511627776);
  END IF;
END $do$
"""
"""Whoever is connected is thrown out. Into a table that takes no room it does not look: that would open its indexes."""

_free: list[str] = []
_made: list[str] = []
_ready = False


def url_of(name: str, *, admin: bool = False) -> str:
    """The address of a database, for its owner or for who may do everything."""
    parts = urlsplit(ADMIN)
    place = parts.netloc.rpartition("@")[2]
    netloc = parts.netloc if admin else f"{ROLE}:{_PASSWORD}@{place}"
    return urlunsplit(parts._replace(netloc=netloc, path=f"/{name}"))


async def take_database(*, unused: bool = False) -> str:
    """The name of an empty database; it may have Perseid's tables already, and the server may know how full they were.

    Not so where it must be `unused`.
    """
    await _prepare()
    if _free and not unused:
        return _free.pop()
    name = f"{_PREFIX}{os.getpid()}_{len(_made)}"
    connection = await asyncpg.connect(ADMIN)
    try:
        await connection.execute(f"CREATE DATABASE {name} OWNER {ROLE}")
    finally:
        await connection.close()
    _made.append(name)
    return name


async def give_back(name: str) -> None:
    """Nobody uses it any more: whoever is still connected is thrown out, and its rows go."""
    connection = await asyncpg.connect(url_of(name, admin=True))
    try:
        await connection.execute(_EMPTY)
    finally:
        await connection.close()
    _free.append(name)


async def throw_away(name: str) -> None:
    """Nobody shall use it any more."""
    connection = await asyncpg.connect(ADMIN)
    try:
        await connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    finally:
        await connection.close()


class Question:
    """Numbers from a database that may be away, over one connection that is kept; any thread may ask."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._loop = asyncio.new_event_loop()
        self._connection: asyncpg.Connection | None = None
        self._turn = threading.Lock()

    def number(self, statement: str) -> int:
        """-1 while the database is away."""
        with self._turn:
            for _ in range(2):  # what was kept may have ended with the server, which is back by now
                try:
                    return self._loop.run_until_complete(self._ask(statement))
                except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                    self._drop()
            return -1

    def close(self) -> None:
        self._drop()
        self._loop.close()

    async def _ask(self, statement: str) -> int:
        if self._connection is None:
            self._connection = await asyncpg.connect(self._url, timeout=5)
        return int(await self._connection.fetchval(statement))

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None
            self._loop.run_until_complete(asyncio.sleep(0))  # its transport ends in the next turn


async def _prepare() -> None:
    """Once a process: the server runs, the role is there, and databases of processes that died are not."""
    global _ready  # noqa: PLW0603 - it is the process that is prepared
    if _ready:
        return
    connection = await _reach()
    try:
        await connection.execute(
            f"DO $$ BEGIN CREATE ROLE {ROLE} LOGIN PASSWORD '{_PASSWORD}';"
            " EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
        )
        for (name,) in await connection.fetch("SELECT datname FROM pg_database WHERE datname LIKE $1", f"{_PREFIX}%"):
            owner = re.fullmatch(rf"{_PREFIX}(\d+)_\d+", name)
            if owner is not None and not await asyncio.to_thread(Path(f"/proc/{owner[1]}").exists):
                await connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    finally:
        await connection.close()
    atexit.register(_drop)
    _ready = True


async def _reach() -> asyncpg.Connection:
    try:
        return await asyncpg.connect(ADMIN)
    except OSError:
        starter = shutil.which("pg_lsclusters")
        if starter is None or "PERSEID_TEST_POSTGRES_URL" in os.environ:
            raise
        await asyncio.to_thread(_start_clusters, starter)
        return await asyncpg.connect(ADMIN)


def _start_clusters(lister: str) -> None:
    """A machine that has a server installed but not running (Debian's layout)."""
    for line in subprocess.run([lister, "-h"], capture_output=True, text=True, check=True).stdout.splitlines():  # noqa: S603
        version, cluster, *_ = line.split()
        subprocess.run(["pg_ctlcluster", version, cluster, "start"], check=False)  # noqa: S603, S607


def _drop() -> None:
    async def drop() -> None:
        connection = await asyncpg.connect(ADMIN)
        for name in _made:
            await connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        await connection.close()

    asyncio.run(drop())
