"""A fleet that hears of work by a broker: the same result, and nobody waits for the next look at the store."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from perseid.testing import Site
from perseid.testing.brokers import RedisServer, own_vhost

pytestmark = pytest.mark.slow

PAGES = 300
MIDDLE = 60


@pytest.fixture(params=["rabbitmq", "redis"])
def carrier(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """The settings that name it."""
    if request.param == "rabbitmq":
        yield {"PERSEID_DELIVERY__URL": own_vhost(), "PERSEID_DELIVERY__PREFIX": f"{time.time_ns()}-"}
        return
    # As small as compose ships it.
    server = RedisServer("--maxmemory", "256mb", "--maxmemory-policy", "allkeys-lru", keep=True)
    asyncio.run(server.start())
    yield {"PERSEID_DELIVERY__URL": server.url}
    server.dispose()


@pytest.mark.parametrize("fleet", ["postgresql"], indirect=True)
def test_workers_drain_and_are_replaced_under_a_broker(fleet: Any, site: Site, carrier: dict[str, str]) -> None:
    uid = fleet.start(site.url("/"))
    with fleet.worker(2, **carrier) as first:
        site.wait(n=MIDDLE, timeout_s=60)
        first.signal(signal.SIGTERM)
        assert first.ended() == 0
    assert fleet.leases() == 0
    with fleet.worker(2, **carrier) as second:
        second.ready(2).signal(signal.SIGHUP)
        fleet.finish(uid, second)
        second.signal(signal.SIGTERM)
        assert second.ended() == 0
    assert sorted(fleet.paths(uid)) == sorted(["", *(f"page-{number}" for number in range(1, PAGES))])
    counts = {path: times for path, times in site.counts().items() if path == "/" or path.startswith("/page-")}
    assert {path: times for path, times in counts.items() if times != 1} == {}
    assert fleet.audit() == []
