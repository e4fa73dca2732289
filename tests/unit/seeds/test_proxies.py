"""Whose turn it is in a pool of proxies."""

from __future__ import annotations

from perseid.seeds.proxies import Proxies
from perseid.testing import FakeClock


def pool(clock: FakeClock, *, failures: int = 2) -> Proxies:
    return Proxies(["a", "b"], failures=failures, rest_s=60, now_s=clock.monotonic_s)


def test_they_take_turns() -> None:
    proxies = pool(FakeClock())
    assert [proxies.next() for _ in range(4)] == ["a", "b", "a", "b"]


async def test_one_that_fails_again_and_again_rests_and_then_proves_itself() -> None:
    clock = FakeClock()
    proxies = pool(clock)
    proxies.failed("a")
    proxies.worked("a")
    proxies.failed("a")
    assert proxies.usable("a")
    proxies.failed("a")
    assert not proxies.usable("a")
    assert {proxies.next() for _ in range(4)} == {"b"}
    await clock.advance(61)
    assert proxies.usable("a")
    proxies.failed("a")
    assert not proxies.usable("a")


async def test_while_all_rest_it_says_for_how_long() -> None:
    clock = FakeClock()
    proxies = pool(clock, failures=1)
    proxies.failed("a")
    await clock.advance(20)
    proxies.failed("b")
    assert proxies.next() is None
    assert proxies.wait_s == 40
    await clock.advance(40)
    assert proxies.next() == "a"
