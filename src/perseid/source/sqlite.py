"""Queries on SQLite files: opened for reading, everything but reading forbidden, under a time limit."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote, urlsplit

import apsw

from perseid.errors import SourceFailed
from perseid.ports.source import Query, Rows
from perseid.source.wrapping import statement

_ALLOWED = frozenset({apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_FUNCTION, apsw.SQLITE_RECURSIVE})
_FORBIDDEN_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})
_STEPS = 10_000
"""Of the virtual machine between two looks at the clock: well below a millisecond."""


async def read_rows(query: Query, address: str, patience_s: float) -> Rows:
    """`sqlite:///srv/shop.db`. Raises SourceFailed."""
    return await asyncio.to_thread(_read, query, Path(unquote(urlsplit(address).path)), patience_s)


def _read(query: Query, path: Path, patience_s: float) -> Rows:
    text, values = statement(query, "?")
    deadline = time.monotonic() + patience_s
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            connection.set_busy_timeout(int(patience_s * 1_000))
            connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
            connection.authorizer = _authorize
            cursor = connection.cursor()
            try:
                columns = tuple(name for name, _ in cursor.execute(text, values).get_description())
            except apsw.ExecutionCompleteError:  # no rows, and then no columns
                return Rows((), [])
            return Rows(columns, [tuple(row) for row in cursor])
    except apsw.InterruptError:
        raise SourceFailed(f"the query took longer than {patience_s:g} s; give it an index, or a `key`") from None
    except (apsw.BusyError, apsw.LockedError, apsw.IOError, apsw.FullError, apsw.NoMemError) as error:
        raise SourceFailed(f"the database {query.connection!r} can't be read now: {error}", retryable=True) from None
    except apsw.CantOpenError as error:
        raise SourceFailed(f"the database {query.connection!r} can't be opened: {error}") from None
    except apsw.AuthError:
        raise SourceFailed(f"the database {query.connection!r} may only be read: one SELECT is wanted") from None
    except apsw.Error as error:
        raise SourceFailed(f"the database {query.connection!r} refuses the query: {error}") from None


def _authorize(operation: int, first: str | None, second: str | None, _database: str | None, _by: str | None) -> int:
    if operation == apsw.SQLITE_FUNCTION and (second or first or "").lower() in _FORBIDDEN_FUNCTIONS:
        return apsw.SQLITE_DENY
    return apsw.SQLITE_OK if operation in _ALLOWED else apsw.SQLITE_DENY
