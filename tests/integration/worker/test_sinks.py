"""Items of tasks reach the sinks of their rule: each once, none held up by another, the newest published version."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import apsw
import msgspec
import pytest

from perseid.config.settings import Settings
from perseid.model.crawl import CrawlKind
from perseid.model.ids import WorkerId
from perseid.model.job import JobKind
from perseid.ports.configs import ConfigKind, NewVersion
from perseid.ports.items import Harvest, NewItem, SinkState
from perseid.ports.sink import SinkSpec
from perseid.ports.store import NewCrawl
from perseid.ports.truth import Truth
from perseid.ports.work import Done, Finished
from perseid.runtime.clock import SystemClock
from perseid.runtime.sinking import SinkRoom
from perseid.testing import ground
from perseid.testing.conformance.store.desk import FREE, page
from perseid.worker.duties.sinks import SinkOptions, Sinks
from perseid.worker.stop import Stop


class Heard:
    def __init__(self) -> None:
        self.acked: list[tuple[str, int]] = []
        self.trouble_with: list[tuple[str, str]] = []

    def sink_acked(self, *, sink: str, items: int, seconds: float) -> None:
        assert seconds >= 0
        self.acked.append((sink, items))

    def trouble(self, event: str, message: str) -> None:
        self.trouble_with.append((event, message))


class House:
    """A store, the operator's settings, and the duty at work."""

    def __init__(self, folder: Path, store: Truth) -> None:
        self.folder = folder
        self.store = store
        self.heard = Heard()
        (folder / "files").mkdir()
        self.settings = Settings(
            connections={
                "db": f"sqlite://{folder}/items.db",
                "gone": "postgresql://perseid:hunter2@127.0.0.1:1/nowhere",
                "slow": "gate://slow",
                "odd": "odd://somewhere",
            },
            folders={"out": str(folder / "files")},
        )
        self.room = SinkRoom(store.configs, self.settings)
        self._numbers = itertools.count()
        self._at = itertools.count(1_750_000_000_000_000)

    def duty(self, write_s: float = 30.0) -> Sinks:
        options = SinkOptions(poll_s=0.02, batch_items=3, write_s=write_s)
        return Sinks(
            self.store.items,
            self.room,
            options,
            whose=lambda: WorkerId(0),
            clock=SystemClock(),
            telemetry=self.heard,  # type: ignore[arg-type]
        )

    async def publish(self, name: str, **spec: Any) -> None:
        body = msgspec.json.encode(SinkSpec(**spec))
        await self.store.configs.publish(NewVersion(team=1, kind=ConfigKind.SINK, name=name, body=body))

    async def bring(self, *keys: str, sinks: tuple[str, ...], title: str = "t") -> None:
        """A task ends with these items."""
        number = next(self._numbers)
        task = page(f"https://shop.example/{number}", kind=JobKind.TASK)
        new = NewCrawl(uid=f"run-{number}", url=task.url, options=b"{}", key_seed=1, kind=CrawlKind.SEED, first=(task,))
        crawl = await self.store.start(new)
        worker = await self.store.register("here", 1, 1)
        (lease,) = (await self.store.step(worker, [], 1, crawl=crawl)).leases
        harvest = Harvest(
            team=1,
            site=(await self.store.seeds.put_site(1, "shop.example")).id,
            rule_version=1,
            url=lease.url,
            fetched_at=next(self._at),
            items=[NewItem(key, msgspec.json.encode({"title": title})) for key in keys],
            sinks=sinks,
        )
        result = await self.store.step(worker, [Finished(lease=lease, end=Done(), harvest=harvest)], 0)
        assert all(result.kept)

    async def states(self) -> dict[str, SinkState]:
        return {state.name: state for state in await self.store.items.sink_states(1)}

    async def until(self, holds: Callable[[dict[str, SinkState]], bool]) -> dict[str, SinkState]:
        async with asyncio.timeout(30):
            while not holds(states := await self.states()):  # noqa: ASYNC110 - a database rings no bell
                await asyncio.sleep(0.01)
        return states

    def rows(self, table: str) -> list[tuple[str, str]]:
        with apsw.Connection(str(self.folder / "items.db")) as connection:
            return connection.execute(f"SELECT unique_key, title FROM {table} ORDER BY unique_key").fetchall()


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    stands = await ground.take()
    store = await ground.open_store(stands, tmp_path / "perseid.db", defaults=FREE)
    made = House(tmp_path, store)
    try:
        yield made
    finally:
        await made.room.close()
        await store.close()
        await ground.give_back(stands)


@pytest.fixture
async def work(house: House) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Begins the duty; it is stopped at the end of the test."""
    stop = Stop()
    begun: list[asyncio.Task[None]] = []

    async def begin() -> None:
        begun.append(asyncio.create_task(house.duty().run(stop)))

    try:
        yield begin
    finally:
        stop.now()
        await asyncio.gather(*begun)


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A distribution that brings a sink along, installed: it writes no batch until a file says so."""
    package = tmp_path / "site-packages"
    info = package / "perseid_gate-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: perseid-gate\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[perseid.sinks]\ngate = perseid_gate:Gate\n")
    opened = tmp_path / "opened"
    (package / "perseid_gate.py").write_text(
        dedent(f"""
        import asyncio
        from pathlib import Path
        from perseid.ports.sink import Reached

        class Gate:
            def __init__(self, spec, url):
                assert url == "gate://slow" and spec.connection == "slow"

            async def check(self):
                return []

            async def write(self, batch):
                while not Path({str(opened)!r}).exists():
                    await asyncio.sleep(0.01)
                return Reached(position=batch.position + b"+" * len(batch.items))

            async def close(self):
                pass
        """)
    )
    monkeypatch.syspath_prepend(package)
    yield opened
    sys.modules.pop("perseid_gate", None)


async def test_each_item_is_written_to_each_of_its_sinks_once(
    house: House, work: Callable[[], Awaitable[None]]
) -> None:
    await house.publish("rows", connection="db", table="kept")
    await house.publish("lines", connection="out", table="kept")
    await house.bring("a", "b", "c", "d", sinks=("rows", "lines"))
    await work()
    await house.until(lambda states: states["rows"].waiting == states["lines"].waiting == 0)
    await house.bring("b", sinks=("rows", "lines"), title="new")
    await house.until(lambda states: states["rows"].settled == states["lines"].settled == 3)
    assert house.rows("kept") == [("a", "t"), ("b", "new"), ("c", "t"), ("d", "t")]
    lines = (house.folder / "files" / "kept.jsonl").read_bytes().splitlines()
    assert [msgspec.json.decode(line)["unique_key"] for line in lines] == ["a", "b", "c", "d", "b"]
    assert sorted(house.heard.acked) == sorted(
        [("rows", 3), ("rows", 1), ("rows", 1), ("lines", 3), ("lines", 1), ("lines", 1)]
    )
    assert house.heard.trouble_with == []


async def test_a_slow_sink_and_a_dead_one_hold_up_no_other(
    house: House, work: Callable[[], Awaitable[None]], plug_in: Path
) -> None:
    await house.publish("rows", connection="db", table="kept")
    await house.publish("slow", connection="slow")
    await house.publish("dead", connection="gone")
    await house.bring("a", "b", sinks=("slow", "dead", "rows"))
    await work()
    states = await house.until(lambda states: states["rows"].waiting == 0 and states["dead"].attempts > 0)
    assert (states["slow"].waiting, states["dead"].waiting) == (2, 2)
    assert "can't be reached" in states["dead"].error
    assert "hunter2" not in repr(house.heard.trouble_with) + states["dead"].error
    plug_in.touch()  # noqa: ASYNC240 - a moment
    await house.until(lambda states: states["slow"].waiting == 0)
    # Whoever mends a sink publishes it: what waited goes there.
    await house.publish("dead", connection="db", table="mended")
    states = await house.until(lambda states: states["dead"].waiting == 0)
    assert (states["dead"].error, states["dead"].attempts) == ("", 0)
    assert house.rows("mended") == house.rows("kept") == [("a", "t"), ("b", "t")]


async def test_a_target_that_never_answers_is_given_up_and_tried_again(house: House, plug_in: Path) -> None:
    await house.publish("slow", connection="slow")
    await house.bring("a", sinks=("slow",))
    duty = house.duty(write_s=0.1)
    await duty.round()
    states = await house.until(lambda states: states["slow"].attempts > 0)
    assert "was not taken within 0.1 s" in states["slow"].error
    plug_in.touch()  # noqa: ASYNC240 - a moment
    async with asyncio.timeout(30):
        while (await house.states())["slow"].waiting:
            await duty.round()
            await duty.settled()
            await asyncio.sleep(0.02)


async def test_a_newly_published_version_is_used_for_the_next_batch(
    house: House, work: Callable[[], Awaitable[None]]
) -> None:
    await house.publish("rows", connection="db", table="before")
    await work()
    await house.bring("a", sinks=("rows",))
    await house.until(lambda states: "rows" in states and states["rows"].settled == 1)
    await house.publish("rows", connection="db", table="after")
    await house.bring("b", sinks=("rows",))
    await house.until(lambda states: states["rows"].settled == 2)
    assert (house.rows("before"), house.rows("after")) == ([("a", "t")], [("b", "t")])


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (None, "no sink is published under the name 'rows'"),
        ({"connection": "shop"}, "no connection is named 'shop' in the settings; there are: db, gone, odd, slow"),
        ({"connection": "odd"}, "no sink is known for odd://"),
        ({"connection": "out", "format": "xls"}, "'xls' is no format of files"),
        ({"connection": "out", "mode": "merge"}, "a sink on connection 'out' has no mode `merge`"),
        ({"connection": "db", "format": "csv"}, "a sink on connection 'db' has no `format`"),
        ({"connection": "db", "table": "t", "create": False}, "no table t: make it"),
    ],
)
async def test_items_wait_and_the_reason_is_said(
    house: House, work: Callable[[], Awaitable[None]], spec: dict[str, Any] | None, words: str
) -> None:
    apsw.Connection(str(house.folder / "items.db")).execute("CREATE TABLE mine (x)")
    if spec is not None:
        await house.publish("rows", **spec)
    await house.bring("a", sinks=("rows",))
    await work()
    states = await house.until(lambda states: states["rows"].attempts > 0)
    assert words in states["rows"].error
    assert states["rows"].waiting == 1
    assert await house.room.check(1, "rows") != []
    assert [event for event, _message in house.heard.trouble_with] == ["sink.failed"]


async def test_a_library_that_is_missing_is_named(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "perseid.sink.parquet", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    await house.publish("rows", connection="out", format="parquet")
    words = "this sink needs pyarrow, which is not installed: pip install 'perseid[parquet]'"
    assert await house.room.check(1, "rows") == [words]


async def test_two_processes_share_the_lines(house: House, work: Callable[[], Awaitable[None]]) -> None:
    names = [f"s{number}" for number in range(6)]
    for name in names:
        await house.publish(name, connection="out", table=name)
    for number in range(4):
        await house.bring(*(f"k{number}-{key}" for key in range(5)), sinks=tuple(names))
    await work()
    await work()
    await house.until(lambda states: all(state.waiting == 0 for state in states.values()))
    for name in names:
        assert len((house.folder / "files" / f"{name}.jsonl").read_bytes().splitlines()) == 20
