"""Items in MongoDB. No server of it can be installed by the means of these tests.

So they go as far as the driver goes: what BSON takes, what is asked for, and that nobody answers. Where
`PERSEID_TEST_MONGODB_URL` names a server, whose database `perseid_test` is dropped, all of the contract is tested.
"""

from __future__ import annotations

import gc
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import bson
import pytest
from bson.decimal128 import Decimal128
from pymongo import AsyncMongoClient, UpdateOne

from perseid.ports.sink import Sink, SinkFailure, SinkSpec
from perseid.sink.mongodb import MongoSink, document, upsert
from perseid.sink.rows import instant, rows
from perseid.testing.conformance.sink import (
    AT,
    FULL,
    HOSTILE_NAMES,
    HOSTILE_VALUES,
    HUGE,
    Traits,
    batch,
    item,
    sink_suite,
)

SERVER = os.environ.get("PERSEID_TEST_MONGODB_URL", "")


class InMongo:
    def __init__(self) -> None:
        self.url = urlunsplit(urlsplit(SERVER)._replace(path="/perseid_test"))

    def sink(self, spec: SinkSpec) -> Sink:
        return MongoSink(spec, self.url)

    async def read(self, table: str) -> list[dict[str, Any]]:
        async with AsyncMongoClient[dict[str, Any]](self.url, tz_aware=True) as client:
            found = await client.get_default_database()[table].find().to_list()
        return [{**_plain(row), "fetched_at": instant(row.pop("fetched_us"))} for row in found]

    async def cut(self) -> None:
        raise NotImplementedError

    async def mend(self) -> None:
        raise NotImplementedError


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {name: _plain(part) for name, part in value.items() if name != "fetched_us"}
        case list():
            return [_plain(part) for part in value]
        case Decimal128():
            return str(value)
        case datetime():
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        case _:
            return value


@asynccontextmanager
async def mongo() -> AsyncIterator[InMongo]:
    made = InMongo()
    async with AsyncMongoClient[dict[str, Any]](made.url) as client:
        await client.drop_database("perseid_test")
        yield made
        await client.drop_database("perseid_test")


if SERVER:
    globals().update(sink_suite(mongo, Traits(merges=True)))


def test_whatever_a_page_may_hold_is_bson() -> None:
    items = [item("n", HOSTILE_NAMES), item("v", HOSTILE_VALUES), item("h", HUGE), item("f", FULL)]
    names, values, huge, full = (bson.decode(bson.encode(document(row))) for row in rows(items))
    assert (names["_set"], names["a_b"], names["site_id"], names["site_id_"]) == (11, 12, "shop.example", 5)
    assert not any("$" in name[:1] or "." in name for name in names)
    assert (values["largest"], values["least"]) == (str(2**64 - 1), -(2**63))
    assert len(str(huge["huge"])) >= 300
    assert full["price"] == {"amount": Decimal128("12.50"), "currency": "EUR"}
    assert (full["fetched_us"], full["tags"]) == (AT, ["kitchen", "steel"])


@pytest.mark.parametrize("merge", [False, True])
def test_an_older_fetch_does_not_match_a_newer_document(merge: bool) -> None:
    (row,) = rows([item("k", {"title": "t"}, version=3)])
    asked = upsert(row, merge=merge)
    assert asked._filter == {
        "_id": "shop.example:k",
        "$or": [{"fetched_us": {"$lt": AT}}, {"fetched_us": AT, "rule_version": {"$lte": 3}}],
    }
    assert asked._upsert
    assert isinstance(asked, UpdateOne) == merge


# The driver leaves the sockets of connections that were refused to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
async def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perseid.sink.mongodb._PATIENCE_MS", 100)
    sink = MongoSink(SinkSpec(connection="x"), "mongodb://u:hunter2@127.0.0.1:1/shop")
    with pytest.raises(SinkFailure, match=r"127\.0\.0\.1/shop can't be reached") as raised:
        await sink.write(batch([item("k", FULL)]))
    assert not raised.value.lasting
    assert await sink.check() == [str(raised.value)]
    assert "hunter2" not in str(raised.value)
    await sink.close()
    with pytest.raises(SinkFailure, match="a MongoDB is named by"):
        MongoSink(SinkSpec(connection="x"), "mongodb://")
    del sink, raised
    gc.collect()
