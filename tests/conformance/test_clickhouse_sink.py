"""Items in ClickHouse keep every promise of the contract.

Against chdb, ClickHouse's engine as a library, behind a door of the test kit; and the door that a real server has, by
Debian's, which is too old for more than that.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from perseid.ports.sink import Sink, SinkFailure, SinkSpec
from perseid.sink.clickhouse import ClickHouseSink
from perseid.testing.conformance.sink import FULL, TABLE, Line, Subject, Traits, batch, item, sink_suite
from perseid.testing.link import Link

pytest.importorskip("chdb", reason="an engine of `make test-sinks`")
PASSWORD = "perseid-secret"


class InClickHouse:
    def __init__(self, port: int, link: Link) -> None:
        self.port = port
        self.link = link

    def url(self, database: str = "shop", password: str = PASSWORD) -> str:
        return f"clickhouse://default:{password}@127.0.0.1:{self.link.port}/{database}"

    def sink(self, spec: SinkSpec) -> Sink:
        return ClickHouseSink(spec, self.url())

    async def query(self, query: str) -> str:
        async with (
            aiohttp.ClientSession(headers={"X-ClickHouse-Key": PASSWORD}) as session,
            session.post(f"http://127.0.0.1:{self.port}/", params={"database": "default"}, data=query) as answer,
        ):
            text = await answer.text()
            assert answer.status == 200, text
            return text

    async def read(self, table: str) -> list[dict[str, Any]]:
        if not int(await self.query(f"EXISTS shop.`{table}`")):
            return []
        found = await self.query(
            f"SELECT * FROM shop.`{table}` FINAL FORMAT JSONEachRow SETTINGS date_time_output_format = 'iso',"
            " output_format_json_quote_decimals = 1, output_format_json_quote_64bit_integers = 0"
        )
        return [json.loads(line) for line in found.splitlines()]

    async def cut(self) -> None:
        await self.link.cut()

    async def mend(self) -> None:
        await self.link.mend()


@cache
def _engine() -> int:
    """The port of one that serves all tests of this module: it takes five seconds to begin."""
    folder = tempfile.mkdtemp()
    process = subprocess.Popen(
        [sys.executable, "-m", "perseid.testing.chdb_server", folder, PASSWORD], stdout=subprocess.PIPE
    )
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(process.wait)
    atexit.register(process.kill)
    assert process.stdout is not None
    return int(process.stdout.readline())


@asynccontextmanager
async def clickhouse() -> AsyncIterator[InClickHouse]:
    port = await asyncio.to_thread(_engine)
    async with Link("127.0.0.1", port) as link:
        made = InClickHouse(port, link)
        await made.query("CREATE DATABASE shop")
        try:
            yield made
        finally:
            await made.query("DROP DATABASE shop")


globals().update(sink_suite(clickhouse, Traits(typed=True, outage=True)))


def there(subject: Subject) -> InClickHouse:
    assert isinstance(subject.target, InClickHouse)
    return subject.target


async def test_a_table_of_somebody_else_is_used_as_it_is(subject: Subject) -> None:
    await there(subject).query(
        "CREATE TABLE shop.items (site_id String, unique_key String, task_id UInt64, seed_id LowCardinality(String),"
        " rule_version UInt16, fetched_at DateTime64(3), updated_at DateTime, title String, stock UInt8,"
        " published Nullable(DateTime), day Date, price Decimal(10, 2), address IPv4, twice UInt16 ALIAS stock * 2)"
        " ENGINE = ReplacingMergeTree(fetched_at) ORDER BY (site_id, unique_key)"
    )
    line = Line(subject.sink(create=False))
    assert await line.sink.check() == []
    whole = {
        "title": "t",
        "stock": 3,
        "published": "2026-03-01T10:00:00+02:00",
        "day": "2026-03-01",
        "price": 12.5,
        "address": "192.0.2.1",
    }
    await line.settle(item("k1", whole), item("k2", {**whole, "stock": 300}), item("k3", {**whole, "address": "no"}))
    rows = {row["unique_key"]: row for row in await subject.target.read(TABLE)}
    assert (rows["k1"]["stock"], rows["k1"]["published"], rows["k1"]["price"]) == (3, "2026-03-01T08:00:00Z", "12.5")
    assert (rows["k2"]["stock"], rows["k2"]["title"]) == (0, "t")
    assert rows["k3"]["title"] == ""
    assert len(line.notes) == 2


async def test_trouble_says_what_to_do(subject: Subject) -> None:
    target = there(subject)
    spec = SinkSpec(connection="x", table=TABLE)

    async def fails(sink: Sink, words: str) -> None:
        with pytest.raises(SinkFailure, match=words) as raised:
            await sink.write(batch([item("k", FULL)]))
        assert raised.value.lasting
        assert await sink.check() != []
        await sink.close()

    await fails(ClickHouseSink(spec, target.url(database="nowhere")), "no such database: create it")
    await fails(ClickHouseSink(spec, target.url(password="wrong")), "refuses the user or its password")
    await fails(subject.sink(create=False), "no table items: make it")


_CONFIG = """
<yandex>
  <logger><level>warning</level><console>1</console></logger>
  <http_port>{port}</http_port><listen_host>127.0.0.1</listen_host>
  <path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path>
  <mark_cache_size>1000000</mark_cache_size><users_config>users.xml</users_config>
  <default_profile>default</default_profile><default_database>default</default_database>
</yandex>
"""
_USERS = f"""
<yandex>
  <profiles><default/></profiles><quotas><default/></quotas>
  <users><default>
    <password>{PASSWORD}</password><networks><ip>127.0.0.1</ip></networks>
    <profile>default</profile><quota>default</quota>
  </default></users>
</yandex>
"""


async def test_the_door_of_a_real_server(tmp_path: Path) -> None:
    """Its own HTTP interface: who we are, what it says of that, and that it is too old."""
    binary = shutil.which("clickhouse-server")
    if binary is None:
        pytest.skip("apt install clickhouse-server")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "config.xml").write_text(_CONFIG.format(port=port, folder=tmp_path))
    (tmp_path / "users.xml").write_text(_USERS)
    process = await asyncio.create_subprocess_exec(binary, f"--config-file={tmp_path}/config.xml", cwd=tmp_path)

    async def said(password: str, database: str) -> str:
        url = f"clickhouse://default:{password}@127.0.0.1:{port}/{database}"
        sink = ClickHouseSink(SinkSpec(connection="x", table=TABLE), url)
        (words,) = await sink.check()
        await sink.close()
        return words

    try:
        async with asyncio.timeout(60):
            while "can't be reached" in (words := await said(PASSWORD, "default")):  # noqa: ASYNC110 - it rings no bell
                await asyncio.sleep(0.1)
        assert "is the oldest that will do" in words
        assert "refuses the password" in await said("wrong", "default")
        assert "no such database" in await said(PASSWORD, "nowhere")
    finally:
        process.terminate()
        await process.wait()
