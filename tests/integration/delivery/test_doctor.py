"""The operator's first question about a broker: is it there, and does anything lie in it?"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from perseid.config.settings import DeliverySettings, LimitSettings, Settings
from perseid.delivery.carried import Carried
from perseid.delivery.redis_streams import RedisWire
from perseid.errors import ConfigError, MissingExtra
from perseid.ports.truth import Check
from perseid.runtime import Client, delivering
from perseid.testing.brokers import RedisServer
from perseid.testing.conformance.delivery.backend import Heard


async def examined(folder: Path, url: str) -> Check:
    async with await Client.open(folder, Settings(delivery=DeliverySettings(url=url))) as client:
        return next(check for check in await client.doctor() if check.name == "delivery")


async def test_a_broker_that_answers_is_told_with_its_backlog(tmp_path: Path) -> None:
    server = RedisServer()
    await server.start()
    delivery = Carried(RedisWire(server.url), Heard())
    await delivery.open()
    await delivery.publish(3)
    check = await examined(tmp_path, server.url)
    assert check.ok
    assert check.detail.endswith("3 tickets wait")
    await delivery.close()
    server.dispose()


async def test_a_broker_that_is_away_is_told(tmp_path: Path) -> None:
    check = await examined(tmp_path, "redis://127.0.0.1:1")
    assert not check.ok
    assert "127.0.0.1:1" in check.detail
    assert check.advice


async def test_what_shares_limits_is_told_with_whether_it_answers(tmp_path: Path) -> None:
    server = RedisServer()
    await server.start()
    for url, ok in ((server.url, True), ("redis://127.0.0.1:1", False)):
        async with await Client.open(tmp_path, Settings(limit=LimitSettings(url=url))) as client:
            check = next(check for check in await client.doctor() if check.name == "limits")
        assert check.ok is ok
        assert ok or "127.0.0.1:1" in check.detail
    server.dispose()


async def test_a_scheme_that_is_none_of_ours_is_told_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"kafka.*amqp://"):
        await examined(tmp_path, "kafka://localhost")


@pytest.mark.parametrize(("url", "module", "extra"), [
    ("redis://localhost", "redis_streams", "redis"),
    ("amqp://localhost", "rabbitmq", "rabbitmq"),
])  # fmt: skip
async def test_a_missing_package_is_named_with_its_command(
    monkeypatch: pytest.MonkeyPatch, url: str, module: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, f"perseid.delivery.{module}", None)
    with pytest.raises(MissingExtra, match=rf"pip install 'perseid\[{extra}\]'"):
        delivering.make_delivery(DeliverySettings(url=url), object(), Heard())
