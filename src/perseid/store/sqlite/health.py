"""What an operator should know of the database file: its SQLite, its disk, its log."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw

from perseid.ports.truth import Check
from perseid.store.sqlite.connection import SAFE_SQLITE, file_system, sqlite_version

_LOW_DISK_BYTES = 500 * 1024 * 1024
_LARGE_WAL_BYTES = 256 * 1024 * 1024


def checks(path: Path) -> list[Check]:
    return [_sqlite(), _disk(path.parent), _wal(path)]


def _sqlite() -> Check:
    version = apsw.sqlite_lib_version()
    return Check(
        name="sqlite",
        ok=sqlite_version() >= SAFE_SQLITE,
        detail=f"SQLite {version} (apsw {apsw.apsw_version()})",
        advice="" if sqlite_version() >= SAFE_SQLITE else "upgrade apsw: older releases can corrupt a shared database",
    )


def _disk(folder: Path) -> Check:
    free = shutil.disk_usage(folder).free
    kind = file_system(folder) or "unknown file system"
    return Check(
        name="disk",
        ok=free >= _LOW_DISK_BYTES,
        detail=f"{free / 1e9:.1f} GB free on {kind}",
        advice="" if free >= _LOW_DISK_BYTES else "free some space: a full disk pauses the crawl (it loses nothing)",
    )


def _wal(path: Path) -> Check:
    wal = path.with_name(path.name + "-wal")
    size = wal.stat().st_size if wal.exists() else 0
    ok = size < _LARGE_WAL_BYTES
    return Check(
        name="write-ahead log",
        ok=ok,
        detail=f"{size / 1e6:.1f} MB",
        advice="" if ok else "a reader keeps a snapshot open: look for a process that has the database open",
    )
