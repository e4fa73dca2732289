"""Tokens of a site: near ones are waited for, and who is put off comes back one after the other."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from perseid.model.rule import Rate
from perseid.seeds.pace import Pace
from perseid.testing import FakeClock


class Bucket:
    """Gives the waits that it was told, then tokens."""

    def __init__(self, *waits: float) -> None:
        self.waits = list(waits)
        self.asked: list[tuple[str, float, int]] = []

    async def take(self, key: str, *, interval_s: float, burst: int) -> float:
        self.asked.append((key, interval_s, burst))
        return self.waits.pop(0) if self.waits else 0.0


def site(per_s: float | None, burst: int = 1) -> Any:
    rate = None if per_s is None else Rate(per_s=per_s, burst=burst)
    return SimpleNamespace(id=7, limits=SimpleNamespace(rate=rate))


async def test_without_a_rate_nobody_is_asked() -> None:
    bucket = Bucket()
    assert await Pace(bucket, FakeClock()).token(site(None)) == 0  # type: ignore[arg-type]
    assert bucket.asked == []


async def test_a_near_token_is_waited_for() -> None:
    clock, bucket = FakeClock(), Bucket(0.4, 0.3)
    asking = asyncio.create_task(Pace(bucket, clock).token(site(2, burst=3)))  # type: ignore[arg-type]
    for wait_s in (0.4, 0.3):
        await clock.wait_for_sleepers()
        await clock.advance(wait_s)
    assert await asking == 0
    assert bucket.asked == [("site:7", 0.5, 3)] * 3


async def test_who_is_put_off_comes_back_an_interval_after_the_one_before() -> None:
    bucket = Bucket(5.0, 5.0, 5.0)
    pace = Pace(bucket, FakeClock())  # type: ignore[arg-type]
    waits = [await pace.token(site(0.1)) for _ in range(3)]
    assert waits == [pytest.approx(5), pytest.approx(15), pytest.approx(25)]
