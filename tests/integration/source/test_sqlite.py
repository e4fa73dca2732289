"""Queries on SQLite files: read, and only read."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from perseid.errors import SourceFailed
from perseid.ports.source import Query
from perseid.source.tables import NamedTables


@pytest.fixture
def shop(tmp_path: Path) -> str:
    with closing(apsw.Connection(str(tmp_path / "shop.db"))) as connection:
        connection.pragma("journal_mode", "wal")
        connection.execute("CREATE TABLE p(id INTEGER PRIMARY KEY, slug TEXT)")
        connection.execute("INSERT INTO p(slug) VALUES ('a'), ('b')")
    return f"sqlite://{tmp_path}/shop.db"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1) AS q; DELETE FROM p; --",
        "SELECT * FROM p); ATTACH '/tmp/other.db' AS other; SELECT (1",
        "WITH x AS (SELECT 1) DELETE FROM p RETURNING 1",
        "SELECT * FROM pragma_database_list",
        "SELECT load_extension('x')",
    ],
)
async def test_nothing_but_reading_is_allowed(shop: str, tmp_path: Path, text: str) -> None:
    with pytest.raises(SourceFailed) as raised:
        await NamedTables({"shop": shop}).rows(Query("shop", text))
    assert not raised.value.retryable
    with closing(apsw.Connection(str(tmp_path / "shop.db"))) as connection:
        assert connection.execute("SELECT count(*) FROM p").get == 2


async def test_a_slow_query_is_ended(shop: str) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(SourceFailed, match=r"took longer than 0\.2 s"):
        await NamedTables({"shop": shop}, patience_s=0.2).rows(Query("shop", endless))


async def test_a_file_that_is_not_there_or_no_database_says_so(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database, but a text that is long enough " * 20)
    tables = NamedTables({"none": f"sqlite://{tmp_path}/none.db", "text": f"sqlite://{tmp_path}/text.db"})
    with pytest.raises(SourceFailed, match="the database 'none' can't be opened"):
        await tables.rows(Query("none", "SELECT 1"))
    with pytest.raises(SourceFailed, match="file is not a database"):
        await tables.rows(Query("text", "SELECT * FROM p"))
