"""What every target of items has to keep, whatever it is.

One call gives a test module every test (pytest, pytest-asyncio in auto mode):
`globals().update(sink_suite(my_target, Traits(...)))`, where `my_target()` is an asynchronous context manager of an
empty `Target`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

import msgspec
import pytest
import pytest_asyncio

from perseid.model.ids import JobId
from perseid.ports.items import Batch, StoredItem
from perseid.ports.sink import Mode, Sink, SinkFailure, SinkSpec
from perseid.sink.rows import OWN, UNFIT, instant

AT = 1_750_000_000_000_000
"""When items were fetched; µs."""
SITE = "shop.example"
TABLE = "items"


class Traits(NamedTuple):
    """What a kind of target can and can't."""

    log: bool = False
    """It keeps all versions; readers take the newest."""
    merges: bool = False
    typed: bool = False
    """Columns have types: what doesn't fit lies in `unfit`."""
    outage: bool = False
    """It can be cut off."""
    many: int = 10_000
    """How many items are poured in."""


class Target(Protocol):
    """A real one, empty."""

    def sink(self, spec: SinkSpec) -> Sink: ...

    async def read(self, table: str) -> list[dict[str, Any]]:
        """Its rows as they lie there, by names of columns; [] where nothing is."""
        ...

    async def cut(self) -> None:
        """Nobody reaches it."""
        ...

    async def mend(self) -> None: ...


NewTarget = Callable[[], AbstractAsyncContextManager[Target]]


class Subject:
    """A target under test, with all sinks that a test has made on it."""

    def __init__(self, target: Target, traits: Traits) -> None:
        self.target = target
        self.traits = traits
        self.made: list[Sink] = []

    def sink(self, *, table: str = TABLE, mode: Mode = "replace", **more: Any) -> Sink:
        self.made.append(self.target.sink(SinkSpec(connection="test", table=table, mode=mode, **more)))
        return self.made[-1]

    async def close(self) -> None:
        for sink in self.made:
            await sink.close()

    async def newest(self, table: str = TABLE) -> dict[str, dict[str, Any]]:
        """By site and key what counts, as the documentation says that it is to be read."""
        found: dict[str, dict[str, Any]] = {}
        for row in await self.target.read(table):
            key = f"{row['site_id']}:{row['unique_key']}"
            known = found.get(key)
            if known is None or _age(known) <= _age(row):
                found[key] = row
        return found


def _age(row: dict[str, Any]) -> tuple[str, int]:
    return str(row["fetched_at"]), int(row["rule_version"])


def item(key: str, fields: dict[str, Any] | bytes, *, at: int = AT, version: int = 1, site: str = SITE) -> StoredItem:
    return StoredItem(
        id=1,
        team=1,
        site=site,
        key=key,
        fields=fields if isinstance(fields, bytes) else msgspec.json.encode(fields),
        rule_version=version,
        task=JobId(41),
        seed="daily",
        url=f"https://{site}/{key}",
        fetched_at=at,
        updated_at=at + 7,
        change=1,
    )


def batch(items: Sequence[StoredItem], *, number: int = 0, position: bytes = b"", attempts: int = 0) -> Batch:
    return Batch(sink=1, team=1, name="out", lock=1, position=position, number=number, items=items, attempts=attempts)


class Line:
    """Settles as the worker does: batch by batch, each with the position that the one before left."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.position = b""
        self.number = 0
        self.notes: tuple[str, ...] = ()

    def batch(self, *items: StoredItem, attempts: int = 0) -> Batch:
        return batch(items, number=self.number, position=self.position, attempts=attempts)

    async def settle(self, *items: StoredItem) -> None:
        reached = await self.sink.write(self.batch(*items))
        self.position, self.number, self.notes = reached.position, self.number + 1, reached.notes


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """What a row says of its item, the same for all targets: no nulls, prices as one, JSON read, numbers exact."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if value is None or value == "" or name in OWN or name in {"_id", UNFIT}:
            continue
        found[name] = _exact(value)
    for name in [name for name in found if name.endswith("_amount")]:
        whole = name.removesuffix("_amount")
        found[whole] = {"amount": found.pop(name), "currency": found.pop(f"{whole}_currency", None)}
    return found


def _exact(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in "[{":
        try:
            value = json.loads(value)
        except ValueError:
            return value
    match value:
        case list() | tuple():
            return [_exact(part) for part in value]
        case dict():
            return {name: _exact(part) for name, part in value.items()}
        case bool() | "true" | "false":
            return value in (True, "true")
    try:
        return f"{Decimal(str(value)).normalize():f}"
    except ArithmeticError:
        return value


FULL = {
    "title": "Kettle, 1.5 l: “quiet”",
    "stock": 12,
    "weight": 1.25,
    "available": True,
    "price": {"amount": "12.50", "currency": "EUR"},
    "tags": ["kitchen", "steel"],
    "maker": {"name": "Ünal & Söhne", "since": 1921},
}


async def test_an_item_arrives_with_all_that_it_carries(subject: Subject) -> None:
    line = Line(subject.sink())
    assert await line.sink.check() == []
    await line.settle(item("k1", {**FULL, "missing": None}))
    (row,) = await subject.target.read(TABLE)
    assert {name: str(row[name]) for name in OWN} == {
        "site_id": SITE,
        "unique_key": "k1",
        "task_id": "41",
        "seed_id": "daily",
        "rule_version": "1",
        "fetched_at": instant(AT),
        "updated_at": instant(AT + 7),
    }
    assert plain(row) == plain(FULL)
    assert line.notes == ()


async def test_the_same_batch_again_changes_nothing(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(item("k0", FULL))
    again = line.batch(item("k1", FULL), item("k2", FULL))
    assert (await line.sink.write(again)).position == (await line.sink.write(again)).position
    rows = await subject.target.read(TABLE)
    assert sorted(row["unique_key"] for row in rows) == ["k0", "k1", "k2"]


@pytest.mark.parametrize("settled", [0, 1])
async def test_a_crash_between_write_and_settle_leaves_each_item_once(subject: Subject, settled: int) -> None:
    line = Line(subject.sink())
    for number in range(settled):
        await line.settle(item(f"before{number}", FULL))
    await line.sink.write(line.batch(item("k1", FULL), item("k2", {"title": "old"})))
    # Another process is given what is in line now: k2 has changed, k3 has come.
    line.sink = subject.sink()
    await line.settle(item("k1", FULL), item("k2", {"title": "new"}, at=AT + 1), item("k3", FULL))
    await line.settle(item("k4", FULL))
    rows = await subject.target.read(TABLE)
    expected = [f"before{number}" for number in range(settled)] + ["k1", "k2", "k3", "k4"]
    assert sorted(row["unique_key"] for row in rows) == expected
    assert plain((await subject.newest())[f"{SITE}:k2"]) == {"title": "new"}


async def test_an_older_fetch_never_replaces_a_newer_one(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(item("k", {"title": "newer"}, at=AT + 100), item("v", {"title": "second"}, version=2))
    await line.settle(item("k", {"title": "older"}, at=AT), item("v", {"title": "first"}, version=1))
    found = await subject.newest()
    assert (plain(found[f"{SITE}:k"]), plain(found[f"{SITE}:v"])) == ({"title": "newer"}, {"title": "second"})
    # The same page, read again by a later version of its rule.
    await line.settle(item("k", {"title": "mended"}, at=AT + 100, version=2))
    assert plain((await subject.newest())[f"{SITE}:k"]) == {"title": "mended"}


async def test_new_fields_get_their_place(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(item("k1", {"title": "one"}))
    await line.settle(item("k2", {"title": "two", "colour": "red", "offer": {"amount": "3", "currency": None}}))
    await line.settle(item("k3", {"title": "three"}))
    found = await subject.newest()
    assert [plain(found[f"{SITE}:{key}"]) for key in ("k1", "k2", "k3")] == [
        {"title": "one"},
        plain({"title": "two", "colour": "red", "offer": {"amount": "3", "currency": None}}),
        {"title": "three"},
    ]


async def test_fields_that_a_newer_version_lacks_become_null_or_stay(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(item("k", {"title": "a", "colour": "red"}))
    await line.settle(item("k", {"title": "b"}, at=AT + 1))
    assert plain((await subject.newest())[f"{SITE}:k"]) == {"title": "b"}
    if not subject.traits.merges:
        return
    merging = Line(subject.sink(table="merged", mode="merge"))
    await merging.settle(item("k", {"title": "a", "colour": "red"}))
    await merging.settle(item("k", {"title": "b", "size": 1}, at=AT + 1))
    await merging.settle(item("k", {"title": "old", "size": 2}, at=AT))
    assert plain((await subject.newest("merged"))[f"{SITE}:k"]) == plain({"title": "b", "colour": "red", "size": 1})


async def test_only_the_named_fields_go_there(subject: Subject) -> None:
    line = Line(subject.sink(fields=("title", "price")))
    await line.settle(item("k", FULL))
    assert plain((await subject.newest())[f"{SITE}:k"]) == plain({"title": FULL["title"], "price": FULL["price"]})


async def test_items_of_several_sites_keep_apart(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(item("k", {"title": "a"}), item("k", {"title": "b"}, site="other.example"))
    found = await subject.newest()
    assert {key: plain(row) for key, row in found.items()} == {
        f"{SITE}:k": {"title": "a"},
        "other.example:k": {"title": "b"},
    }


async def test_nothing_is_lost_while_the_target_is_away(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(item("k1", FULL))
    waiting = item("k2", FULL)
    await subject.target.cut()
    with pytest.raises(SinkFailure) as raised:
        await line.settle(waiting)
    assert not raised.value.lasting
    assert "perseid-secret" not in str(raised.value)
    await subject.target.mend()
    await line.settle(waiting)
    assert sorted(row["unique_key"] for row in await subject.target.read(TABLE)) == ["k1", "k2"]


async def test_many_items_all_arrive(subject: Subject) -> None:
    line = Line(subject.sink())
    many = subject.traits.many
    for begin in range(0, many, 1_000):
        await line.settle(*(item(f"k{n}", {**FULL, "stock": n}) for n in range(begin, min(begin + 1_000, many))))
    found = await subject.newest()
    assert len(found) == many
    assert plain(found[f"{SITE}:k{many - 1}"])["stock"] == str(many - 1)


HOSTILE_NAMES = {
    'quo"te': 1,
    "semi; DROP TABLE items": 2,
    "two words": 3,
    "ctid": 4,
    "site_id": 5,
    "Fetched_At": 6,
    "nul\0name": 7,
    "x" * 200: 8,
    "naïve-Ω": 9,
    "": 10,
    "$set": 11,
    "a.b": 12,
    "percent%s": 13,
    "_id": 14,
}
HOSTILE_VALUES = {
    "nul": "a\0b",
    "html": "<script>alert('x')</script>\r\n\t\"",
    "formula": "=cmd|' /C calc'!A0",
    "emoji": "👩‍👩‍👧 \u202e\ufeff",
    "long": "x" * 300_000,
    "nested": [[[[[{"a\0": {"$b": [None, "\0"]}}]]]]],
    "largest": 2**64 - 1,
    "least": -(2**63),
    "double": 1.7976931348623157e308,
    "tiny": 5e-324,
    "odd_price": {"amount": "12.5", "currency": "EUR", "more": 1},
    "empty": {},
}
HUGE = b'{"huge": ' + b"9" * 400 + b', "nan": NaN, "inf": -Infinity, "half": "\\ud800", "title": "kept"}'


async def test_hostile_names_and_values_hold_up_nothing(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(
        item("first", {"title": "kept", "largest": 1, "n": 1}),
        item("names", HOSTILE_NAMES),
        item("values", {**HOSTILE_VALUES, "title": "kept"}),
        item("huge", HUGE),
        item("text", {"n": "no number", "title": "kept"}),
        item("broken", b"{no json"),
        item("list", b"[1]"),
        item("k'\";\0--" + "ü" * 5_000, {"title": "kept"}),
    )
    found = await subject.newest()
    assert len(found) == 8
    titles = [row.get("title") for row in found.values()]
    assert titles.count("kept") == 5
    long_key = next(row["unique_key"] for row in found.values() if row["unique_key"].startswith("k'"))
    assert ":sha256:" in long_key
    values = found[f"{SITE}:values"]
    assert values["html"] == HOSTILE_VALUES["html"]
    assert values["formula"] == HOSTILE_VALUES["formula"]
    assert values["emoji"] == HOSTILE_VALUES["emoji"]
    assert values["long"] == HOSTILE_VALUES["long"]
    names = plain(found[f"{SITE}:names"])
    assert {names[name] for name in names} >= {"1", "2", "3", "4", "5", "6", "8", "9", "13"}


async def test_what_does_not_fit_its_column_is_kept_beside_it(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(item("k1", {"n": 1, "ok": True, "price": {"amount": "1", "currency": "EUR"}}))
    await line.settle(
        item("k2", {"n": "many", "ok": "perhaps", "price": "ask us", "title": "t"}), item("k3", {"n": 2.5})
    )
    found = await subject.newest()
    row = found[f"{SITE}:k2"]
    assert (row.get("n"), row.get("ok"), row["title"]) == (None, None, "t")
    unfit = row[UNFIT]
    assert (json.loads(unfit) if isinstance(unfit, str) else unfit) == {"n": "many", "ok": "perhaps"}
    assert row["price"] == "ask us"
    assert plain(found[f"{SITE}:k3"]) == {"n": "2.5"}


def sink_suite(new_target: NewTarget, traits: Traits) -> dict[str, Any]:
    """Names for a test module: a fixture and all tests of this one."""

    async def subject() -> AsyncIterator[Subject]:
        async with new_target() as target:
            found = Subject(target, traits)
            try:
                yield found
            finally:
                await found.close()

    tests = {name: value for name, value in globals().items() if name.startswith("test_")}
    if not traits.outage:
        del tests["test_nothing_is_lost_while_the_target_is_away"]
    if not traits.typed:
        del tests["test_what_does_not_fit_its_column_is_kept_beside_it"]
    return {"subject": pytest_asyncio.fixture(subject), **tests}
