"""Opening the database: version, file system, pragmas, migrations, and the transaction every write runs in."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import apsw

from perseid.errors import StoreCorrupt, StoreError, StoreUnavailable
from perseid.store.contract import OBSERVED_S, Working, contracts, older, refuse_beside

# SQLite releases 3.7.0 to 3.51.2 can corrupt a WAL that two connections write and checkpoint at once.
SAFE_SQLITE = (3, 51, 3)
_NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "fuse.sshfs", "glusterfs", "ceph"}
)
_MIGRATIONS = Path(__file__).with_name("migrations")
_APPLICATION_ID = 0x50455253  # "PERS"

Connection = apsw.Connection
Row = tuple[Any, ...]
T = TypeVar("T")


def sqlite_version() -> tuple[int, ...]:
    return tuple(int(part) for part in apsw.sqlite_lib_version().split("."))


def file_system(path: Path) -> str:
    """The type of the file system that holds `path`, or "" where the system doesn't tell."""
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    best, kind = "", ""
    target = str(path.resolve())
    for line in mounts.splitlines():
        _device, mount, fs_type, *_ = line.split(" ")
        mount = re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), mount)
        if (target == mount or target.startswith(mount.rstrip("/") + "/")) and len(mount) >= len(best):
            best, kind = mount, fs_type
    return kind


def connect(path: Path, *, cache_kib: int, busy_timeout_s: float) -> Connection:
    """Open with the pragmas this schema relies on. Raises `StoreUnavailable` or `StoreCorrupt`."""
    if sqlite_version() < SAFE_SQLITE:
        raise StoreError(
            f"SQLite {apsw.sqlite_lib_version()} can corrupt a database that several processes write; "
            "install apsw 3.51.3 or newer"
        )
    kind = file_system(path.parent)
    if kind in _NETWORK_FILE_SYSTEMS:
        raise StoreError(
            f"{path.parent} lies on a network file system ({kind}), where SQLite's locks can't be trusted; "
            "choose a local folder"
        )
    with _errors(path):
        connection = apsw.Connection(str(path), statementcachesize=300)
        connection.set_busy_timeout(int(busy_timeout_s * 1_000))
        for pragma in (
            "journal_mode=WAL",
            "synchronous=NORMAL",
            "wal_autocheckpoint=0",
            f"cache_size=-{cache_kib}",
            "mmap_size=0",
            "temp_store=MEMORY",
            "foreign_keys=OFF",
            "trusted_schema=OFF",
            "secure_delete=ON",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()
    return connection


def migrations() -> list[Path]:
    return sorted(_MIGRATIONS.glob("*.sql"))


def migrate(connection: Connection, path: Path) -> None:
    """Bring the schema to the newest version, under the write lock."""
    scripts = migrations()
    with _errors(path):
        _let_older_go(connection, path, scripts)
    with transaction(connection, path):
        version = _known_version(connection, path, newest=len(scripts))
        for number, script in enumerate(scripts[version:], start=version + 1):
            connection.execute(script.read_text(encoding="utf-8"))
            connection.execute(f"PRAGMA user_version={number}")
        connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")


def _let_older_go(connection: Connection, path: Path, scripts: list[Path]) -> None:
    version = _pragma(connection, "user_version")
    if version == 0 or not contracts(script.read_text(encoding="utf-8") for script in scripts[version:]):
        return
    before = older(_working(connection))
    if before:
        time.sleep(OBSERVED_S)
        refuse_beside(before, _working(connection), str(path))


def _working(connection: Connection) -> list[Working]:
    """Workers by the columns they have: a release before versions were written down is older than any."""
    columns = {row[1] for row in connection.execute("PRAGMA table_info(worker)")}
    version = "version" if "version" in columns else "''"
    rows = connection.execute(f"SELECT id, host, pid, beat, {version} FROM worker")  # noqa: S608 - one of two constants
    return [Working(*row) for row in rows]


def _known_version(connection: Connection, path: Path, *, newest: int) -> int:
    application, version = _pragma(connection, "application_id"), _pragma(connection, "user_version")
    if application not in (0, _APPLICATION_ID):
        raise StoreError(f"{path} is a database of another program (application id {application:#x})")
    if version > newest:
        raise StoreError(f"{path} was written by a newer Perseid (schema {version}, this one knows {newest}); upgrade")
    return version


def _pragma(connection: Connection, name: str) -> int:
    row = connection.execute(f"PRAGMA {name}").fetchone()
    return int(row[0]) if row else 0


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except apsw.FullError as error:
        raise StoreUnavailable(f"the disk that holds {path} is full; free some space, nothing is lost") from error
    except (apsw.BusyError, apsw.LockedError, apsw.ProtocolError) as error:
        raise StoreUnavailable(f"{path} is locked by another program ({error})") from error
    except apsw.IOError as error:
        raise StoreUnavailable(f"the disk that holds {path} can't be read or written ({error})") from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StoreUnavailable(f"{path} can't be opened for writing ({error})") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreCorrupt(
            f"{path} is damaged ({error}); restore a backup or start afresh in another folder"
        ) from error


@contextmanager
def transaction(connection: Connection, path: Path) -> Iterator[None]:
    """BEGIN IMMEDIATE … COMMIT, rolled back on any error; SQLite's errors become the store's."""
    with _errors(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            # A full disk or an I/O error may have rolled back already.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def reading(connection: Connection, path: Path, query: Callable[[Connection], T]) -> T:
    """Run statements outside any transaction: each sees the newest state and holds no snapshot."""
    with _errors(path):
        return query(connection)
