"""The filter before the exact set: what it denies is asked of nobody, what it allows always is."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from perseid.seeds.sieve import Sieve


def key(number: int) -> bytes:
    return hashlib.sha256(b"%d" % number).digest()


class Store:
    """Pages collected, with the time of each."""

    def __init__(self, count: int) -> None:
        self.at = {key(number): number for number in range(count)}
        self.asked = 0

    async def collected(self, site: int, keys: Sequence[bytes], *, since: int = 0) -> list[bool]:
        self.asked += len(keys)
        return [self.at.get(each, -1) >= since for each in keys]

    async def keys_after(self, site: int, position: int, *, limit: int = 50_000) -> tuple[int, list[bytes]]:
        found = list(self.at)[position : position + 400]
        return position + len(found), found


async def test_few_are_asked_of_the_store() -> None:
    store = Store(10)
    sieve = Sieve(store)  # type: ignore[arg-type]
    assert await sieve.collected(1, [key(3), key(11)], since=0) == [True, False]
    assert await sieve.collected(1, [key(3)], since=5) == [False]
    assert store.asked == 3


async def test_of_many_only_those_that_were_collected() -> None:
    store = Store(3_000)
    sieve = Sieve(store)  # type: ignore[arg-type]
    fresh = [key(number) for number in range(3_000, 8_000)]
    assert not any(await sieve.collected(1, fresh, since=0, many=True))
    assert store.asked < 100
    known = [key(number) for number in range(2_000, 3_000)]
    assert all(await sieve.collected(1, known, since=0, many=True))
    assert await sieve.collected(1, [key(0), key(2_999)], since=2_500, many=True) == [False, True]


async def test_what_others_collect_meanwhile_is_known_at_the_next_step() -> None:
    store = Store(3_000)
    sieve = Sieve(store)  # type: ignore[arg-type]
    assert await sieve.collected(1, [key(9_000)], since=0, many=True) == [False]
    store.at[key(9_000)] = 9_000
    assert await sieve.collected(1, [key(9_000)], since=0, many=True) == [True]
