"""The robots cache against a scripted fetcher, a scripted clock and a store in memory."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from perseid.fetch.robots_cache import FAILED_TTL_S, TTL_S, RobotsCache
from perseid.model.verdict import FailureCode
from perseid.ports.fetch import FetchFailure, FetchRequest, Response

TTL_US = int(TTL_S * 1_000_000)
FAILED_TTL_US = int(FAILED_TTL_S * 1_000_000)
ORIGIN = "https://site.test"
REQUEST = FetchRequest(
    url="https://site.test/page",
    etag='"x"',
    chain=b"cookies of another chain",
    headers=(("Cookie", "a=1"), ("Authorization", "s"), ("X-Own", "1")),
)
RULES = b"User-agent: *\nDisallow: /private\n\nUser-agent: perseid\nDisallow: /ours\n"


class FakeClock:
    def __init__(self) -> None:
        self.us = 1_000_000_000_000
        self.slept: list[float] = []

    def now_us(self) -> int:
        return self.us

    def monotonic_s(self) -> float:
        return self.us / 1e6

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.us += int(seconds * 1e6)


class FakeStore:
    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.rows: dict[str, tuple[int, int, bytes]] = {}

    async def get_robots(self, origin: str) -> tuple[int, int, bytes] | None:
        return self.rows.get(origin)

    async def put_robots(self, origin: str, status: int, body: bytes) -> None:
        self.rows[origin] = (self.clock.now_us(), status, body)


class ScriptedFetcher:
    """Answers by URL: a status, a `(status, location)`, a body, a failure code, or a list of those in turn."""

    def __init__(self, answers: dict[str, object]) -> None:
        self.answers = answers
        self.requests: list[FetchRequest] = []
        self.gate: asyncio.Event | None = None

    async def fetch(self, request: FetchRequest) -> Response | FetchFailure:
        self.requests.append(request)
        if self.gate is not None:
            await self.gate.wait()
        answer = self.answers[request.url]
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, Response):
            return answer
        if isinstance(answer, FailureCode):
            retryable = answer is not FailureCode.BLOCKED_ADDRESS
            return FetchFailure(url=request.url, code=answer, message="no answer", retryable=retryable)
        if isinstance(answer, bytes):
            return Response(url=request.url, status=200, headers=(), body=answer)
        status, location = answer if isinstance(answer, tuple) else (answer, None)
        headers = (("location", location),) if location is not None else ()
        return Response(url=request.url, status=status, headers=headers, body=b"")

    async def close(self) -> None:
        pass


def setup(answer: object, **others: object):
    clock = FakeClock()
    fetcher = ScriptedFetcher({f"{ORIGIN}/robots.txt": answer, **others})
    store = FakeStore(clock)
    return RobotsCache(fetcher, clock, store=store), fetcher, clock, store


def allows(robots, path: str) -> bool:
    return robots.allows(f"{ORIGIN}{path}").allowed


async def test_the_rules_for_our_token_apply():
    cache, _, _, _ = setup(RULES)
    robots = await cache.fetch(ORIGIN, request=REQUEST)
    assert not allows(robots, "/ours")
    assert allows(robots, "/private")


async def test_the_request_is_for_the_rules_alone():
    cache, fetcher, _, _ = setup(RULES)
    await cache.fetch(ORIGIN + "/", request=REQUEST)
    (asked,) = fetcher.requests
    assert asked.url == f"{ORIGIN}/robots.txt"
    assert asked.etag is None
    assert asked.chain == b""
    assert asked.cut_at_cap
    assert asked.timeout_s <= 15
    assert asked.headers == REQUEST.headers


async def test_a_day_passes_before_it_is_asked_again():
    cache, fetcher, clock, _ = setup(RULES)
    assert await cache.cached(ORIGIN) is None
    first = await cache.fetch(ORIGIN, request=REQUEST)
    clock.us += TTL_US - 1
    assert await cache.cached(ORIGIN) is first
    assert await cache.fetch(ORIGIN, request=REQUEST) is first
    clock.us += 1
    assert await cache.cached(ORIGIN) is None
    await cache.fetch(ORIGIN, request=REQUEST)
    assert len(fetcher.requests) == 2


async def test_another_process_reads_the_store():
    cache, _, clock, store = setup(RULES)
    await cache.fetch(ORIGIN, request=REQUEST)
    other = RobotsCache(ScriptedFetcher({}), clock, store=store)
    robots = await other.cached(ORIGIN)
    assert robots is not None
    assert not allows(robots, "/ours")
    clock.us += TTL_US
    assert await RobotsCache(ScriptedFetcher({}), clock, store=store).cached(ORIGIN) is None


async def test_each_agent_has_its_own_rules_of_one_answer():
    cache, fetcher, _, _ = setup(RULES)
    ours = await cache.fetch(ORIGIN, request=REQUEST)
    theirs = await cache.fetch(ORIGIN, request=REQUEST, agent="otherbot")
    assert (allows(ours, "/ours"), allows(theirs, "/ours")) == (False, True)
    assert await cache.cached(ORIGIN) is ours
    assert await cache.cached(ORIGIN, agent="otherbot") is theirs
    assert len(fetcher.requests) == 1


async def test_a_request_that_takes_any_certificate_does_not_keep_to_the_failure_of_one_that_does_not():
    cache, fetcher, _, _ = setup([FailureCode.TLS] * 3 + [RULES])
    assert not allows(await cache.fetch(ORIGIN, request=REQUEST), "/")
    assert not allows(await cache.fetch(ORIGIN, request=REQUEST), "/")
    asked = len(fetcher.requests)
    lenient = msgspec.structs.replace(REQUEST, verify_tls=False)
    assert allows(await cache.fetch(ORIGIN, request=lenient), "/")
    assert len(fetcher.requests) == asked + 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418, 451])
async def test_4xx_means_no_rules(status):
    cache, fetcher, clock, _ = setup(status)
    assert allows(await cache.fetch(ORIGIN, request=REQUEST), "/anything")
    assert len(fetcher.requests) == 1
    clock.us += TTL_US - 1
    assert await cache.cached(ORIGIN) is not None


@pytest.mark.parametrize("answer", [500, 502, 503, 599, FailureCode.TIMEOUT, FailureCode.CONNECTION, FailureCode.DNS])
async def test_5xx_and_silence_forbid_all_after_three_tries_within_a_minute(answer):
    cache, fetcher, clock, store = setup(answer)
    started_us = clock.us
    robots = await cache.fetch(ORIGIN, request=REQUEST)
    verdict = robots.allows(f"{ORIGIN}/x")
    assert not verdict.allowed
    assert str(answer) in verdict.rule or "no answer" in verdict.rule
    assert len(fetcher.requests) == 3
    assert len(clock.slept) == 2
    assert clock.us - started_us + 3 * 15_000_000 <= 60_000_000
    again = await RobotsCache(ScriptedFetcher({}), clock, store=store).cached(ORIGIN)
    assert again is not None
    assert again.allows(f"{ORIGIN}/x") == verdict
    clock.us += FAILED_TTL_US
    assert await cache.cached(ORIGIN) is None


@pytest.mark.parametrize("first", [503, 429, FailureCode.TIMEOUT])
async def test_a_second_try_may_succeed(first):
    cache, fetcher, clock, _ = setup([first, RULES])
    assert not allows(await cache.fetch(ORIGIN, request=REQUEST), "/ours")
    assert len(fetcher.requests) == 2
    clock.us += FAILED_TTL_US
    assert await cache.cached(ORIGIN) is not None


async def test_a_busy_site_is_allowed_in_the_end_but_asked_again_soon():
    cache, fetcher, clock, _ = setup(429)
    assert allows(await cache.fetch(ORIGIN, request=REQUEST), "/x")
    assert len(fetcher.requests) == 3
    clock.us += FAILED_TTL_US
    assert await cache.cached(ORIGIN) is None


async def test_a_blocked_address_is_not_tried_again():
    cache, fetcher, _, _ = setup(FailureCode.BLOCKED_ADDRESS)
    assert not allows(await cache.fetch(ORIGIN, request=REQUEST), "/x")
    assert len(fetcher.requests) == 1


def chain(length: int) -> dict[str, object]:
    hops: dict[str, object] = {f"https://hop.test/{n}": (302, f"https://hop.test/{n + 1}") for n in range(1, length)}
    return {**hops, f"https://hop.test/{length}": RULES}


async def test_five_redirects_are_followed_to_any_host():
    cache, fetcher, _, _ = setup((301, "https://hop.test/1"), **chain(5))
    assert not allows(await cache.fetch(ORIGIN, request=REQUEST), "/ours")
    assert len(fetcher.requests) == 6


async def test_a_sixth_redirect_counts_as_no_rules():
    cache, fetcher, _, _ = setup((301, "https://hop.test/1"), **chain(6))
    assert allows(await cache.fetch(ORIGIN, request=REQUEST), "/ours")
    assert len(fetcher.requests) == 6


async def test_credentials_stay_with_the_site():
    cache, fetcher, _, _ = setup((301, "https://hop.test/1"), **chain(1))
    await cache.fetch(ORIGIN, request=REQUEST)
    assert fetcher.requests[0].headers == REQUEST.headers
    assert fetcher.requests[1].headers == (), "only names that say nothing are shown to strangers"


@pytest.mark.parametrize("location", [None, "", "ftp://x/robots.txt", "http://[", "mailto:a@b", "http://"])
async def test_a_redirect_that_leads_nowhere_counts_as_no_rules(location):
    cache, fetcher, _, _ = setup((302, location))
    assert allows(await cache.fetch(ORIGIN, request=REQUEST), "/x")
    assert len(fetcher.requests) == 1


async def test_a_relative_redirect_is_resolved():
    cache, _, _, _ = setup((302, "/r/robots.txt"), **{f"{ORIGIN}/r/robots.txt": RULES})
    assert not allows(await cache.fetch(ORIGIN, request=REQUEST), "/ours")


async def test_many_callers_ask_once():
    cache, fetcher, _, _ = setup(RULES)
    fetcher.gate = asyncio.Event()
    tasks = [asyncio.create_task(cache.fetch(ORIGIN, request=REQUEST)) for _ in range(20)]
    await asyncio.sleep(0)
    fetcher.gate.set()
    results = await asyncio.gather(*tasks)
    assert len(fetcher.requests) == 1
    assert all(robots is results[0] for robots in results)


async def test_when_the_asker_is_cancelled_the_next_takes_over():
    cache, fetcher, _, _ = setup(RULES)
    fetcher.gate = asyncio.Event()
    first = asyncio.create_task(cache.fetch(ORIGIN, request=REQUEST))
    await asyncio.sleep(0)
    second = asyncio.create_task(cache.fetch(ORIGIN, request=REQUEST))
    await asyncio.sleep(0)
    first.cancel()
    fetcher.gate.set()
    assert not allows(await second, "/ours")
    with pytest.raises(asyncio.CancelledError):
        await first
    assert not cache._locks


async def test_memory_is_bounded():
    clock = FakeClock()
    fetcher = ScriptedFetcher({f"https://h{n}.test/robots.txt": RULES for n in range(10)})
    cache = RobotsCache(fetcher, clock, max_entries=3)
    for number in range(10):
        await cache.fetch(f"https://h{number}.test", request=REQUEST)
    assert len(cache._entries) == 3
    assert await cache.cached("https://h9.test") is not None


async def test_origins_are_kept_apart():
    clock = FakeClock()
    fetcher = ScriptedFetcher(
        {"http://a.test/robots.txt": b"User-agent: *\nDisallow: /", "https://a.test/robots.txt": 404}
    )
    cache = RobotsCache(fetcher, clock)
    assert not (await cache.fetch("http://a.test", request=REQUEST)).allows("http://a.test/x").allowed
    assert (await cache.fetch("https://a.test", request=REQUEST)).allows("https://a.test/x").allowed


async def test_the_time_to_keep_rules_is_the_operators():
    clock = FakeClock()
    fetcher = ScriptedFetcher({f"{ORIGIN}/robots.txt": RULES})
    cache = RobotsCache(fetcher, clock, ttl_s=60)
    await cache.fetch(ORIGIN, request=REQUEST)
    clock.us += 60_000_000
    assert await cache.cached(ORIGIN) is None


async def test_a_busy_site_is_given_the_pause_it_asks_for():
    busy = Response(url=f"{ORIGIN}/robots.txt", status=503, headers=(), body=b"", retry_after_s=5.0)
    cache, _, clock, _ = setup([busy, RULES])
    await cache.fetch(ORIGIN, request=REQUEST)
    assert clock.slept == [5.0]


async def test_cookies_of_a_redirect_are_carried_on():
    hop = Response(
        url=f"{ORIGIN}/robots.txt", status=302, headers=(("location", "/robots.txt"),), body=b"", chain=b"jar"
    )
    cache, fetcher, _, _ = setup([hop, RULES])
    await cache.fetch(ORIGIN, request=REQUEST)
    assert [request.chain for request in fetcher.requests] == [b"", b"jar"]
