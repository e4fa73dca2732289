"""Items as objects keep every promise of the contract, against moto's server, which speaks S3's protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any
from urllib.request import Request, urlopen

import pytest

from perseid.ports.sink import Sink, SinkFailure, SinkSpec
from perseid.testing.conformance.sink import FULL, TABLE, Line, Subject, Traits, batch, item, sink_suite
from perseid.testing.link import Link

boto3 = pytest.importorskip("boto3", reason="an engine of `make test-sinks`")
server = pytest.importorskip("moto.server", reason="an engine of `make test-sinks`")

from perseid.sink.s3 import S3Sink  # noqa: E402 - only where obstore is

KEY, SECRET = "perseid", "perseid-secret"


class InBucket:
    def __init__(self, port: int, link: Link) -> None:
        self.link = link
        # All servers of a process have one memory.
        urlopen(Request(f"http://127.0.0.1:{port}/moto-api/reset", method="POST")).close()
        self.client = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{port}",
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        )
        self.client.create_bucket(Bucket="shop")

    def sink(self, spec: SinkSpec, bucket: str = "shop") -> Sink:
        return S3Sink(spec, f"s3://{KEY}:{SECRET}@{bucket}/deep/down?endpoint=http://127.0.0.1:{self.link.port}")

    def keys(self) -> list[str]:
        found = self.client.get_paginator("list_objects_v2").paginate(Bucket="shop", Prefix="deep/down/")
        return [one["Key"].removeprefix("deep/down/") for page in found for one in page.get("Contents", ())]

    def body(self, key: str) -> bytes:
        return bytes(self.client.get_object(Bucket="shop", Key=f"deep/down/{key}")["Body"].read())

    async def read(self, table: str) -> list[dict[str, Any]]:
        return [
            json.loads(line)
            for key in self.keys()
            if key.startswith(f"{table}/")
            for line in self.body(key).splitlines()
        ]

    async def cut(self) -> None:
        await self.link.cut()

    async def mend(self) -> None:
        await self.link.mend()


@asynccontextmanager
async def moto() -> AsyncIterator[InBucket]:
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    try:
        port = running.get_host_and_port()[1]
        async with Link("127.0.0.1", port) as link:
            yield InBucket(port, link)
    finally:
        running.stop()


globals().update(sink_suite(moto, Traits(log=True, outage=True)))


def there(subject: Subject) -> InBucket:
    assert isinstance(subject.target, InBucket)
    return subject.target


async def test_each_item_may_be_an_object_and_an_older_fetch_replaces_none(subject: Subject) -> None:
    line = Line(subject.sink(options={"objects": "item"}))
    await line.settle(item("a", {"title": "new"}, at=2), item("a/../b", FULL))
    await line.settle(item("a", {"title": "old"}, at=1))
    await line.settle(item("a", {"title": "mended"}, at=2, version=2))
    (plain_key, hashed) = sorted(there(subject).keys(), key=len)
    assert plain_key == "items/shop.example/a.json"
    assert len(hashed) == len("items/shop.example/.json") + 64
    assert json.loads(there(subject).body(plain_key))["title"] == "mended"


async def test_objects_may_be_parquet(subject: Subject) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    line = Line(subject.sink(format="parquet"))
    await line.settle(item("a", {"n": 1}))
    await line.settle(item("b", {"n": 2, "title": "t"}))
    key = "items/000000000001.parquet"
    (row,) = parquet.read_table(BytesIO(there(subject).body(key))).to_pylist()
    assert (row["unique_key"], row["n"], row["title"]) == ("b", 2.0, "t")


async def test_trouble_says_what_to_do(subject: Subject) -> None:
    sink = there(subject).sink(SinkSpec(connection="x", table=TABLE), bucket="nowhere")
    with pytest.raises(SinkFailure, match="no bucket nowhere: make it") as raised:
        await sink.write(batch([item("k", FULL)]))
    assert raised.value.lasting
    assert await sink.check() == [str(raised.value)]
    with pytest.raises(SinkFailure, match="a bucket is named by"):
        S3Sink(SinkSpec(connection="x"), "s3://bucket?region=x&endpint=y")
