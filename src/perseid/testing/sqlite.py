"""Databases for tests in files: an empty one is a copy of the one that this process has made.

To make all tables takes longer than most tests; tests of how a store is made begin without a file.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from uuid import uuid4

from perseid.store.sqlite.connection import connect, migrate


def put_empty(path: Path) -> None:
    """A store with all its tables and nothing in them, where there is no file."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    begun = path.with_name(f"{path.name}.{uuid4()}")
    begun.write_bytes(_empty())
    with suppress(FileExistsError):  # somebody else did the same meanwhile
        os.link(begun, path)
    begun.unlink()


@cache
def _empty() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "perseid.db")
        connection = connect(path, cache_kib=2_048, busy_timeout_s=30)
        migrate(connection, path)
        connection.close()
        return path.read_bytes()
