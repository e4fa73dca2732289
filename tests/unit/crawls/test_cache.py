"""Whose answers are kept how long, and given to whom."""

from __future__ import annotations

import secrets

import msgspec
import pytest

from perseid.crawls.cache import CachingFetcher
from perseid.model.options import CachePolicy
from perseid.model.verdict import FailureCode
from perseid.ports.fetch import FetchFailure, FetchRequest, Response
from perseid.ports.pages import KnownPage
from perseid.testing.clock import FakeClock

URL = "http://e.test/"
KEEP = CachePolicy(store=True)


class Memory:
    def __init__(self) -> None:
        self.pages: dict[bytes, KnownPage] = {}

    async def get(self, key: bytes) -> KnownPage | None:
        return self.pages.get(key)

    async def put(self, key: bytes, page: KnownPage) -> None:
        self.pages[key] = page

    async def drop(self, key: bytes) -> None:
        self.pages.pop(key, None)

    async def expire(self, before_us: int) -> int:
        raise NotImplementedError


class Origin:
    """Numbers its answers."""

    def __init__(self) -> None:
        self.asked = 0

    async def fetch(self, request: FetchRequest) -> Response | FetchFailure:
        self.asked += 1
        return Response(url=request.url, status=200, headers=(), body=b"%d" % self.asked)

    async def close(self) -> None: ...


class Bench:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.origin = Origin()
        self.memory = Memory()
        self.fetcher = CachingFetcher(self.origin, self.memory, self.clock)

    async def body(self, cache: CachePolicy, **request: object) -> bytes | FailureCode:
        got = await self.fetcher.fetch(FetchRequest(url=URL, cache=cache, **request))  # type: ignore[arg-type]
        return got.code if isinstance(got, FetchFailure) else got.body


@pytest.mark.parametrize(
    ("policy", "age_s", "got"),
    [
        (CachePolicy(max_age_s=10), 10, b"1"),
        (CachePolicy(max_age_s=10), 11, b"2"),
        (CachePolicy(min_age_s=10), 9, FailureCode.NOT_CACHED),
        (CachePolicy(min_age_s=10), 10, b"1"),
        (CachePolicy(min_age_s=10, max_age_s=20), 21, FailureCode.NOT_CACHED),
        (CachePolicy(only=True), 10**9, b"1"),
        (CachePolicy(only=True, max_age_s=10), 11, FailureCode.NOT_CACHED),
    ],
)
async def test_the_age_of_a_kept_answer_decides(policy: CachePolicy, age_s: int, got: bytes | FailureCode) -> None:
    bench = Bench()
    await bench.body(KEEP)
    await bench.clock.advance(age_s)
    assert await bench.body(policy) == got


async def test_a_kept_answer_is_replaced_by_a_newer_one() -> None:
    bench = Bench()
    for _ in range(2):
        await bench.body(KEEP)
    assert await bench.body(CachePolicy(only=True)) == b"2"


async def test_a_clock_that_was_set_back_makes_nothing_unfit() -> None:
    bench = Bench()
    await bench.body(KEEP)
    for key, page in bench.memory.pages.items():
        bench.memory.pages[key] = msgspec.structs.replace(page, fetched_at=bench.clock.now_us() + 5_000_000)
    assert await bench.body(CachePolicy(max_age_s=1)) == b"1"


@pytest.mark.parametrize(
    "other",
    [
        {"realm": b"2"}, {"chain": b"c"}, {"headers": (("Accept-Language", "de"),)}, {"user_agent": "x"},
        {"proxy": "http://p.test:1"}, {"verify_tls": False}, {"named_host": "e.test"},
    ],
)  # fmt: skip
async def test_an_answer_is_given_only_to_the_same_request_of_the_same_realm(other: dict[str, object]) -> None:
    bench = Bench()
    await bench.body(KEEP, realm=b"1")
    assert await bench.body(CachePolicy(only=True), **{"realm": b"1"} | other) is FailureCode.NOT_CACHED


async def test_an_answer_too_large_to_keep_is_given_all_the_same() -> None:
    bench = Bench()

    async def large(request: FetchRequest) -> Response:
        return Response(url=request.url, status=200, headers=(), body=secrets.token_bytes(5 << 20))

    bench.origin.fetch = large  # type: ignore[method-assign]
    assert len(await bench.body(KEEP)) == 5 << 20  # type: ignore[arg-type]
    assert bench.memory.pages == {}
