"""What was deleted stands in no byte of the files, though pages were split and merged in between."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from perseid.store.sqlite.connection import Connection, connect
from perseid.store.sqlite.scrub import middle, scrub

MARK = b"zq7vk3marker"


def fill(connection: Connection) -> None:
    """Rows in random order, half of them to be deleted, of sizes that change."""
    connection.execute("CREATE TABLE gate (id INTEGER PRIMARY KEY, turn INTEGER); INSERT INTO gate VALUES (1, 0)")
    connection.execute("CREATE TABLE ended (job INTEGER PRIMARY KEY, crawl INTEGER, message TEXT)")
    connection.execute(
        "CREATE TABLE variant (crawl INTEGER, key INTEGER, url TEXT, PRIMARY KEY (crawl, key)) WITHOUT ROWID"
    )
    draw = random.Random(1)
    jobs = list(range(4_000))
    draw.shuffle(jobs)
    connection.execute("BEGIN")
    for job in jobs:
        text = (MARK.decode() if job % 2 else "kept") * draw.randint(1, 20)
        connection.execute("INSERT INTO ended VALUES (?, ?, ?)", (job, job % 2, text))
        connection.execute("INSERT INTO variant VALUES (?, ?, ?)", (job % 2, draw.getrandbits(40), text))
        if job % 3 == 0:
            connection.execute("UPDATE ended SET message = message || message WHERE job = ?", (job,))
    connection.execute("COMMIT")


def traces(path: Path) -> int:
    return sum(file.read_bytes().count(MARK) for file in path.parent.iterdir())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "perseid.db"


@pytest.fixture
def connection(path: Path) -> Connection:
    opened = connect(path, cache_kib=16_384, busy_timeout_s=1.0)
    fill(opened)
    return opened


def forget(connection: Connection) -> None:
    for table in ("ended", "variant"):
        connection.execute(f"DELETE FROM {table} WHERE crawl = 1")


def test_deleting_alone_leaves_traces(connection: Connection, path: Path) -> None:
    """Should this fail one day, SQLite has learnt it, and the module is not needed any more."""
    forget(connection)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert traces(path) > 0


def test_no_trace_is_left_and_nothing_else_is_gone(connection: Connection, path: Path) -> None:
    kept = connection.execute("SELECT * FROM ended WHERE crawl = 0 ORDER BY job").fetchall()
    forget(connection)
    assert scrub(path)
    assert traces(path) == 0
    assert connection.execute("SELECT * FROM ended ORDER BY job").fetchall() == kept
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_caches_of_other_connections_bring_nothing_back(connection: Connection, path: Path) -> None:
    other = connect(path, cache_kib=16_384, busy_timeout_s=1.0)
    forget(connection)
    other.execute("SELECT sum(length(message)) FROM ended").fetchall()
    other.execute("SELECT sum(length(url)) FROM variant").fetchall()
    assert scrub(path)
    for writer in (other, connection):
        writer.execute("UPDATE ended SET message = 'x' || substr(message, 2)")
        writer.execute("UPDATE variant SET url = 'x' || substr(url, 2)")
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        assert traces(path) == 0
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_reader_in_the_way_makes_it_fail_rather_than_lie(connection: Connection, path: Path) -> None:
    reader = apsw.Connection(str(path))
    reader.execute("BEGIN; SELECT count(*) FROM ended").fetchall()
    forget(connection)
    assert not scrub(path, patience_s=0.05)
    reader.execute("COMMIT")
    assert scrub(path)
    assert traces(path) == 0


def test_locks_outlive_the_scrubbing(connection: Connection, path: Path) -> None:
    """POSIX drops a process's locks when it closes any descriptor of a file."""
    scrub(path)
    script = (
        "import apsw, sys\n"
        "c = apsw.Connection(sys.argv[1])\n"
        "c.execute('PRAGMA locking_mode=EXCLUSIVE')\n"
        "print(c.execute('PRAGMA journal_mode=DELETE').fetchall())\n"
    )
    result = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
    assert "BusyError" in result.stderr, result.stdout
    assert connection.execute("SELECT count(*) FROM ended").fetchall() == [(4_000,)]


@pytest.mark.parametrize(
    ("page", "found"),
    [
        (b"\x0d\0\0\0\x01\0\x14\0" + b"\0\x14" + b"\0\0\0x\0\0\0\0\0\0" + b"cell", (10, 20)),
        (b"\x0d\0\0\0\x01\0\x14\0" + b"\0\x14" + b"\0\0\0\0\0\0\0\0\0\0" + b"cell", None),
        (b"\x00\0\0\0\x01\0\x14\0" + b"\0\x14" + b"\0\0\0x\0\0\0\0\0\0" + b"over", None),
        (b"\x0d\0\0\0\x01\x10\0\0" + b"\0\x14" + b"\0\0\0x\0\0\0\0\0\0" + b"past", None),
        (b"\x0d\0\0\0\xff\0\x14\0" + b"\0\x14" + b"\0\0\0x\0\0\0\0\0\0" + b"many", None),
        (b"\x0d\0", None),
    ],
)
def test_only_the_middle_of_a_page_is_touched(page: bytes, found: tuple[int, int] | None) -> None:
    assert middle(page, 24, first=False) == found


def test_a_database_with_a_map_of_pointers_is_left_alone(tmp_path: Path) -> None:
    """The pages of that map could be taken for others. (Only somebody's own hand can have made one.)"""
    path = tmp_path / "perseid.db"
    made = apsw.Connection(str(path))
    made.execute("PRAGMA auto_vacuum=FULL; CREATE TABLE gate (id INTEGER PRIMARY KEY, turn INTEGER)")
    made.close()
    assert not scrub(path, patience_s=0.1)
