"""Workers sleep until a ticket comes, whoever carries it; and whatever becomes of the carrier, each page is fetched
once and nothing waits for ever.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Coroutine, Iterator
from typing import Any
from urllib.parse import urlsplit

import aio_pika
import msgspec
import pytest
from redis.asyncio import Redis

from perseid.config.settings import DeliverySettings
from perseid.testing import Site
from perseid.testing.brokers import RedisServer, own_vhost, through
from perseid.testing.link import Link

pytestmark = pytest.mark.slow

PAGES = 300
MIDDLE = 60
NEVER_S = "30"
"""Between two looks at the store: what happens sooner, a ticket has done."""


class Carrier:
    """A broker behind a link that can be cut, with a loop of its own in a thread of its own."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.prefix = f"{time.time_ns()}-"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.redis = RedisServer() if kind == "redis" else None
        if self.redis is not None:
            self.do(self.redis.start())
        self.url = own_vhost() if self.redis is None else self.redis.url
        parts = urlsplit(self.url)
        self.link = Link(parts.hostname or "", parts.port or 5672)
        self.do(self.link.open())

    def do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def close(self) -> None:
        self.do(self.wipe())
        self.do(self.link.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        if self.redis is not None:
            self.redis.dispose()

    @property
    def variables(self) -> dict[str, str]:
        return {
            "PERSEID_DELIVERY__URL": through(self.url, self.link.port),
            "PERSEID_DELIVERY__PREFIX": self.prefix,
        }

    async def wipe(self) -> None:
        if self.redis is not None:
            async with Redis.from_url(self.redis.url) as client:
                await client.flushall()
            return
        async with await aio_pika.connect(self.url) as connection:
            channel = await connection.channel()
            await channel.queue_delete(f"{self.prefix}perseid.exec")
            await channel.exchange_delete(f"{self.prefix}perseid.ended")


@pytest.fixture(params=["rabbitmq", "redis"])
def carrier(request: pytest.FixtureRequest) -> Iterator[Carrier]:
    carrier = Carrier(request.param)
    yield carrier
    carrier.close()


def whole(fleet: Any, site: Site, uid: str) -> None:
    reachable = sorted(["", *(f"page-{number}" for number in range(1, PAGES))])
    assert sorted(fleet.paths(uid)) == reachable
    counts = {path: times for path, times in site.counts().items() if path == "/" or path.startswith("/page-")}
    assert {path: times for path, times in counts.items() if times != 1} == {}
    assert fleet.leases() == 0
    assert fleet.audit() == []


def wakes(fleet: Any, site: Site, variables: dict[str, str]) -> None:
    """Workers that have found nothing, and would not look again for long, begin at once."""
    with fleet.worker(2, PERSEID_WORKER__POLL_S=NEVER_S, **variables) as worker:
        worker.ready(2)
        time.sleep(3.0)
        began = time.monotonic()
        uid = fleet.start(site.url("/"))
        site.wait(n=1, timeout_s=10)
        assert time.monotonic() - began < 5
        fleet.finish(uid, worker)
        assert site.peak() > 4, "more than one of them worked"
        worker.signal(signal.SIGTERM)
        assert worker.ended() == 0
    whole(fleet, site, uid)


@pytest.mark.parametrize("fleet", ["postgresql"], indirect=True)
def test_workers_that_sleep_are_woken_by_tickets(fleet: Any, site: Site, carrier: Carrier) -> None:
    url, prefix = carrier.variables.values()
    fleet.settings = msgspec.structs.replace(fleet.settings, delivery=DeliverySettings(url=url, prefix=prefix))
    wakes(fleet, site, carrier.variables)


@pytest.mark.parametrize("fleet", ["postgresql"], indirect=True)
def test_workers_that_sleep_are_woken_by_the_database(fleet: Any, site: Site) -> None:
    wakes(fleet, site, {})


@pytest.mark.parametrize("fleet", ["sqlite", "postgresql"], indirect=True)
def test_a_crawl_outlives_what_happens_to_its_carrier(fleet: Any, site: Site, carrier: Carrier) -> None:
    variables = {**carrier.variables, "PERSEID_WORKER__POLL_S": "2"}
    uid = fleet.start(site.url("/"))
    with fleet.worker(2, **variables) as worker:
        site.wait(n=MIDDLE, timeout_s=60)
        carrier.do(carrier.link.cut())
        site.wait(n=2 * MIDDLE, timeout_s=60)
        carrier.do(carrier.link.mend())
        carrier.do(carrier.wipe())
        site.wait(n=3 * MIDDLE, timeout_s=60)
        carrier.do(carrier.link.blink())
        carrier.link.mute()
        fleet.finish(uid, worker)
        carrier.do(carrier.link.mend())
        worker.signal(signal.SIGTERM)
        assert worker.ended() == 0
        said = worker.command.stderr
    whole(fleet, site, uid)
    assert "delivery.away" in said


@pytest.mark.parametrize("fleet", ["sqlite"], indirect=True)
def test_a_fleet_begins_without_its_carrier(fleet: Any, site: Site, carrier: Carrier) -> None:
    carrier.do(carrier.link.cut())
    uid = fleet.start(site.url("/"))
    with fleet.worker(2, **carrier.variables) as worker:
        fleet.finish(uid, worker)
        worker.signal(signal.SIGTERM)
        assert worker.ended() == 0
        assert worker.command.stderr.count("delivery.away") == 2, "each process says it once"
    whole(fleet, site, uid)
