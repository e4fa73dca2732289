"""Items a second into each kind of sink, in batches of 500 as the worker writes them.

    python benchmarks/item_sinks.py [items] [address]...

An address is that of a connection (`postgresql://…`, `clickhouse://…`); without any: SQLite and files.
Each item has ten fields and 1 kB of JSON. New ones first, then the same items again, fetched later.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time

import msgspec

from perseid.config.settings import Settings
from perseid.errors import MissingExtra
from perseid.model.ids import JobId
from perseid.ports.items import Batch, StoredItem
from perseid.ports.sink import Sink, SinkSpec
from perseid.runtime.sinking import SinkRoom

SIZE = 500


def _item(number: int, at: int) -> StoredItem:
    fields = {
        "title": f"Kettle no. {number}",
        "stock": number % 100,
        "weight": 1.25,
        "available": number % 3 == 0,
        "price": {"amount": f"{number % 1000}.50", "currency": "EUR"},
        "tags": ["kitchen", "steel"],
        "maker": {"name": "Ünal & Söhne", "since": 1921},
        "seen": "2026-03-01T10:00:00Z",
        "url": f"https://shop.example/kettles/{number}",
        "text": "water boils here. " * 40,
    }
    return StoredItem(
        id=number, team=1, site="shop.example", key=f"k{number}", fields=msgspec.json.encode(fields), rule_version=1,
        task=JobId(number), seed="daily", url=f"https://shop.example/kettles/{number}", fetched_at=at, updated_at=at,
        change=number,
    )  # fmt: skip


async def _pour(sink: Sink, count: int, at: int, number: int, position: bytes) -> tuple[float, int, bytes]:
    began = time.perf_counter()
    for first in range(0, count, SIZE):
        items = [_item(each, at) for each in range(first, min(count, first + SIZE))]
        batch = Batch(
            sink=1, team=1, name="bench", lock=1, position=position, number=number, items=items, attempts=0
        )  # fmt: skip
        position = (await sink.write(batch)).position
        number += 1
    return count / (time.perf_counter() - began), number, position


async def main(count: int, addresses: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        named = {str(number): address for number, address in enumerate(addresses or [f"sqlite://{folder}/items.db"])}
        settings = Settings(connections=named, folders={} if addresses else {"folder": folder})
        room = SinkRoom(None, settings)  # type: ignore[arg-type]  # nothing published is asked for
        formats = [] if addresses else ["jsonl", "csv", "parquet"]
        kinds = [(url.partition("://")[0], SinkSpec(connection=name, table="bench")) for name, url in named.items()]
        kinds += [(each, SinkSpec(connection="folder", table="bench", format=each)) for each in formats]
        for kind, spec in kinds:
            try:
                sink = room.make(spec)
            except MissingExtra as error:
                print(f"{kind:12} {error}")
                continue
            new, number, position = await _pour(sink, count, 1_750_000_000_000_000, 0, b"")
            again, _number, _position = await _pour(sink, count, 1_750_000_000_000_001, number, position)
            await sink.close()
            print(f"{kind:12} {new:9,.0f} new items/s {again:9,.0f} newer versions/s")
        await room.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if sys.argv[1:] else 20_000, sys.argv[2:]))
