"""Who is cut off while he connects, works or closes leaves no connection behind: a broker that answers nobody for a day
is called some ten thousand times.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from perseid.delivery.rabbitmq import RabbitWire
from perseid.delivery.redis_streams import RedisWire
from perseid.delivery.wire import BrokerAway, Wire
from perseid.model.ids import CrawlId
from perseid.ports.delivery import Ticket
from perseid.testing.brokers import RedisServer, own_vhost, through
from perseid.testing.link import Link

WIRES: dict[str, Callable[[str], Wire]] = {
    "rabbitmq": lambda url: RabbitWire(url, prefix=f"{uuid4().hex[:8]}."),
    "redis": lambda url: RedisWire(url, prefix=f"{uuid4().hex[:8]}:"),
}


class Deaf:
    def arrived(self, ticket: Ticket) -> None: ...

    def told(self, crawl: CrawlId) -> None: ...

    def lost(self, reason: str) -> None: ...


@pytest.fixture(params=list(WIRES))
async def place(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Callable[[], Wire], Link]]:
    """What makes wires over a link, and the link."""
    server = RedisServer() if request.param == "redis" else None
    if server is not None:
        await server.start()
    url = own_vhost() if server is None else server.url
    parts = urlsplit(url)
    async with Link(parts.hostname or "", parts.port or 5672) as link:
        yield lambda: WIRES[request.param](through(url, link.port)), link
    if server is not None:
        server.dispose()


def ends_of(link: Link) -> int:
    """Sockets of this process that a client has towards the link."""
    ours = {
        name.removeprefix("socket:[").removesuffix("]")
        for name in map(_target, Path("/proc/self/fd").iterdir())
        if name.startswith("socket:[")
    }
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    return sum(row[2].endswith(f":{link.port:04X}") and row[9] in ours for row in rows)


def _target(fd: Path) -> str:
    with contextlib.suppress(OSError):
        return str(fd.readlink())
    return ""


async def gone(link: Link) -> None:
    async with asyncio.timeout(10):
        while ends_of(link):  # noqa: ASYNC110 - the kernel has no event for us
            await asyncio.sleep(0.01)


async def test_a_broker_that_does_not_answer_is_left(place: tuple[Callable[[], Wire], Link]) -> None:
    make, link = place
    link.mute()
    wire = make()
    for _ in range(3):
        with contextlib.suppress(BrokerAway, TimeoutError):
            async with asyncio.timeout(0.3):
                await wire.connect(Deaf())
        await wire.close()
    await gone(link)


@pytest.mark.parametrize("share", range(12))
async def test_who_is_cut_off_while_he_connects_leaves(place: tuple[Callable[[], Wire], Link], share: int) -> None:
    make, link = place
    wire = make()
    began = asyncio.get_running_loop().time()
    await wire.connect(Deaf())
    whole = asyncio.get_running_loop().time() - began
    await wire.close()
    connecting = asyncio.ensure_future(wire.connect(Deaf()))
    await asyncio.sleep(whole * share / 10)
    connecting.cancel()  # and left alone
    await wire.close()
    await asyncio.gather(connecting, return_exceptions=True)
    await wire.close()
    await gone(link)


@pytest.mark.parametrize("steps", range(8))
async def test_who_is_cut_off_while_he_closes_leaves(place: tuple[Callable[[], Wire], Link], steps: int) -> None:
    make, link = place
    wire = make()
    await wire.connect(Deaf())
    link.mute()
    asking = [asyncio.ensure_future(wire.publish(3)), asyncio.ensure_future(wire.listen(CrawlId(1)))]
    await asyncio.sleep(0)
    closing = asyncio.ensure_future(wire.close())
    for _ in range(steps):
        await asyncio.sleep(0)
    closing.cancel()
    for each in asking:
        each.cancel()
    await asyncio.gather(closing, *asking, return_exceptions=True)
    if not steps:
        await wire.close()  # the other one had not even begun
    await gone(link)
