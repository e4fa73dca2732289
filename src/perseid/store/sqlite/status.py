"""How far a file's tables are; looks, and changes nothing."""

from __future__ import annotations

from pathlib import Path

from perseid.ports.truth import Relocation
from perseid.store.sqlite.connection import connect, migrations, reading
from perseid.store.status import Found


def status(path: Path) -> Found:
    """Raises `StoreUnavailable`, `StoreCorrupt`."""
    connection = connect(path, cache_kib=2_048, busy_timeout_s=10.0)
    try:
        ((version,),) = reading(connection, path, lambda opened: opened.execute("PRAGMA user_version").fetchall())
        scripts = [script.stem for script in migrations()]
        statement = "SELECT arrived, other, at FROM relocation"
        known = "SELECT 1 FROM sqlite_master WHERE name = 'relocation'"
        rows = []
        if reading(connection, path, lambda opened: opened.execute(known).fetchall()):
            rows = reading(connection, path, lambda opened: opened.execute(statement).fetchall())
        relocation = Relocation(bool(rows[0][0]), str(rows[0][1]), int(rows[0][2] or 0)) if rows else None
        return Found(str(path), int(version or 0), scripts, relocation)
    finally:
        connection.close()
