"""Items told to a receiver keep every promise of the contract, and each delivery can be checked by who receives it."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from perseid.config.settings import Settings
from perseid.ports.sink import Sink, SinkFailure, SinkSpec
from perseid.runtime.sinking import SinkRoom
from perseid.testing.conformance.sink import FULL, TABLE, Line, Subject, Traits, item, sink_suite
from perseid.testing.link import Link

SECRET = b"perseid-secret"


class Receiver:
    """Keeps what it is told as its documentation says: the newest of each site and key."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], dict[str, Any]] = {}
        self.seen: list[tuple[str, dict[str, Any]]] = []
        self.refuses: set[str] = set()
        self.status = 400
        self.port = 0
        self.link = Link("127.0.0.1", 0)
        self.rooms: list[SinkRoom] = []

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        signature = "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()
        if request.headers.get("X-Perseid-Signature") != signature:
            return web.Response(status=401)
        told = json.loads(body)
        if any(row["unique_key"] in self.refuses for row in told["items"]):
            return web.Response(status=self.status, headers={"Retry-After": "7"})
        self.seen.append((request.headers["Idempotency-Key"], told))
        for row in told["items"]:
            key = (row["site_id"], row["unique_key"])
            known = self.rows.get(key)
            if known is None or (known["fetched_at"], known["rule_version"]) <= (
                row["fetched_at"],
                row["rule_version"],
            ):
                self.rows[key] = row
        return web.Response(status=204)

    def sink(self, spec: SinkSpec, secret: str = "perseid-secret") -> Sink:
        address = f"http://127.0.0.1:{self.link.port}/items#{secret}"
        # It asks for nothing that was published.
        self.rooms.append(SinkRoom(None, Settings(connections={"test": address})))  # type: ignore[arg-type]
        return self.rooms[-1].make(spec)

    async def read(self, _table: str) -> list[dict[str, Any]]:
        return list(self.rows.values())

    async def cut(self) -> None:
        await self.link.cut()

    async def mend(self) -> None:
        await self.link.mend()


@asynccontextmanager
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    app = web.Application(client_max_size=50_000_000)
    app.router.add_post("/items", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    made.link = Link("127.0.0.1", port)
    try:
        async with made.link:
            yield made
            for room in made.rooms:
                await room.close()
    finally:
        await runner.cleanup()


globals().update(sink_suite(receiver, Traits(outage=True)))


def there(subject: Subject) -> Receiver:
    assert isinstance(subject.target, Receiver)
    return subject.target


async def test_the_same_items_have_the_same_key_whenever_they_are_sent(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.sink.write(line.batch(item("k", FULL)))
    await line.settle(item("k", FULL))
    await line.settle(item("l", FULL))
    (first, told), (again, _), (other, _) = there(subject).seen
    assert (first, first == other) == (again, False)
    assert (told["sink"], told["batch"], len(told["items"])) == ("out", 0, 1)
    assert told["items"][0]["price"] == {"amount": "12.50", "currency": "EUR"}


async def test_a_large_batch_comes_in_pieces(subject: Subject) -> None:
    line = Line(subject.sink())
    await line.settle(*(item(f"k{n}", {"text": "x" * 300_000}) for n in range(7)))
    assert [len(told["items"]) for _key, told in there(subject).seen] == [3, 3, 1]


async def test_an_item_that_is_refused_holds_up_no_other(subject: Subject) -> None:
    there(subject).refuses = {"k2"}
    line = Line(subject.sink())
    await line.settle(*(item(f"k{n}", FULL) for n in range(5)))
    assert sorted(row["unique_key"] for row in await subject.target.read(TABLE)) == ["k0", "k1", "k3", "k4"]
    assert line.notes == ("item 'k2' of shop.example is left out: the receiver answered 400",)


@pytest.mark.parametrize(("status", "lasting", "again_s"), [(503, False, 7.0), (429, False, 7.0), (403, True, 7.0)])
async def test_a_receiver_in_trouble_is_left_alone(
    subject: Subject, status: int, lasting: bool, again_s: float
) -> None:
    there(subject).refuses, there(subject).status = {"k"}, status
    line = Line(subject.sink())
    with pytest.raises(SinkFailure, match=str(status)) as raised:
        await line.settle(item("k", FULL))
    assert (raised.value.lasting, raised.value.again_s) == (lasting, again_s)


async def test_a_wrong_secret_is_noticed_by_both(subject: Subject) -> None:
    sink = there(subject).sink(SinkSpec(connection="test"), secret="other")
    with pytest.raises(SinkFailure, match="401") as raised:
        await Line(sink).settle(item("k", FULL))
    assert raised.value.lasting
    assert any("401" in words for words in await sink.check())


async def test_a_metadata_service_is_never_told() -> None:
    room = SinkRoom(None, Settings(connections={"cloud": "http://169.254.169.254/latest"}))  # type: ignore[arg-type]
    with pytest.raises(SinkFailure, match="metadata") as raised:
        await Line(room.make(SinkSpec(connection="cloud"))).settle(item("k", FULL))
    assert raised.value.lasting
    await room.close()
