"""robots.txt by origin: asked for once, kept for a day in memory and in the store (RFC 9309, 2.3, 2.4)."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urljoin, urlsplit

import msgspec

from perseid.links.foreign import for_strangers, trusted
from perseid.links.robots import MAX_BYTES, Robots
from perseid.model.verdict import FailureCode
from perseid.ports.fetch import Fetcher, FetchFailure, FetchRequest, Response, RobotsSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perseid.ports.clock import Clock

PRODUCT_TOKEN = "perseid"  # noqa: S105 - the name sites use for us, no secret
TTL_S = 24 * 3600.0
FAILED_TTL_S = 5 * 60.0
"""How long an outage keeps a site shut: short, for most outages are."""

TRIES = 3
_TRY_TIMEOUT_S = 15.0
_PAUSES_S = (3.0, 9.0)  # with three time-outs of 15 s this stays within a minute
_MAX_PAUSE_S = 10.0
_MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_UNREACHABLE = 0
"""Kept as status when there was no answer at all; the body is then the failure's code and, below, a sentence."""


class RobotsStore(Protocol):
    """What the cache needs of the store; `fetched_at` is the store's clock in microseconds."""

    async def get_robots(self, origin: str) -> tuple[int, int, bytes] | None:
        """`(fetched_at_us, status, body)` of the last `put_robots`."""
        ...

    async def put_robots(self, origin: str, status: int, body: bytes) -> None: ...


class _Entry(NamedTuple):
    fetched_at_us: int
    ttl_us: int
    robots: Robots


class RobotsCache(RobotsSource):
    """Implements the port. `agents` are product tokens, ours first; one instance serves one event loop."""

    def __init__(
        self,
        fetcher: Fetcher,
        clock: Clock,
        *,
        store: RobotsStore | None = None,
        agents: Sequence[str] = (PRODUCT_TOKEN,),
        ttl_s: float = TTL_S,
        max_entries: int = 4096,
    ) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._store = store
        self._agents = tuple(agents)
        self._ttl_us = int(ttl_s * 1_000_000)
        self._max_entries = max_entries
        self._entries: OrderedDict[tuple[str, str | None], _Entry] = OrderedDict()
        self._locks: dict[str, tuple[asyncio.Lock, list[object]]] = {}

    async def cached(self, origin: str, *, agent: str | None = None) -> Robots | None:
        origin = origin.rstrip("/")
        now_us = self._clock.now_us()
        entry = self._entries.get((origin, agent))
        if entry is not None and _fresh(entry, now_us):
            self._entries.move_to_end((origin, agent))
            return entry.robots
        if self._store is None:
            return None
        row = await self._store.get_robots(origin)
        if row is None:
            return None
        fetched_at_us, status, body = row
        entry = _Entry(fetched_at_us, self._keep_us(status), self._robots(status, body, agent))
        if not _fresh(entry, now_us):
            return None
        self._keep(origin, agent, entry)
        return entry.robots

    async def fetch(self, origin: str, *, request: FetchRequest, agent: str | None = None) -> Robots:
        """As the port says; callers of one origin at a time wait for the first one's answer."""
        origin = origin.rstrip("/")
        lock, waiting = self._locks.setdefault(origin, (asyncio.Lock(), []))
        me = object()
        waiting.append(me)
        try:
            # If the one that asks is cancelled, the next in line takes over.
            async with lock:
                known = await self.cached(origin, agent=agent)
                if known is not None and (request.verify_tls or known.failure != FailureCode.TLS):
                    return known
                status, body = await self._ask(origin, request)
                robots = self._robots(status, body, agent)
                self._keep(origin, agent, _Entry(self._clock.now_us(), self._keep_us(status), robots))
                if self._store is not None:
                    await self._store.put_robots(origin, status, body)
                return robots
        finally:
            waiting.remove(me)
            if not waiting:
                del self._locks[origin]

    def _keep(self, origin: str, agent: str | None, entry: _Entry) -> None:
        self._entries[origin, agent] = entry
        self._entries.move_to_end((origin, agent))
        while len(self._entries) > self._max_entries:
            self._entries.popitem(last=False)

    def _keep_us(self, status: int) -> int:
        # A site that is only busy (429) has rules, we just don't know them: ask again soon.
        passing = status == _UNREACHABLE or status >= 500 or status == 429
        return min(self._ttl_us, int(FAILED_TTL_S * 1_000_000)) if passing else self._ttl_us

    def _robots(self, status: int, body: bytes, agent: str | None) -> Robots:
        if status == _UNREACHABLE:
            failure, _, why = body.decode("utf-8", "replace").partition("\n")
            return Robots.disallow_all(why, failure=failure)
        if status >= 500:
            return Robots.disallow_all(f"robots.txt answered {status} {TRIES} times")
        if 200 <= status < 300:
            return Robots.parse(body, agents=self._agents if agent is None else (agent,))
        return Robots.allow_all()

    async def _ask(self, origin: str, request: FetchRequest) -> tuple[int, bytes]:
        """Up to three tries; the status and body to keep."""
        outcome: Response | FetchFailure
        for attempt in range(TRIES):
            outcome = await self._follow(f"{origin}/robots.txt", request)
            if not _worth_retrying(outcome) or attempt == TRIES - 1:
                break
            await self._clock.sleep(self._pause_s(outcome, attempt))
        if isinstance(outcome, FetchFailure):
            why = f"{outcome.code.value}\nrobots.txt can't be fetched: {outcome.message}"
            return _UNREACHABLE, why.encode("utf-8", "replace")
        if 200 <= outcome.status < 300:
            return outcome.status, outcome.body
        return outcome.status, b""

    def _pause_s(self, outcome: Response | FetchFailure, attempt: int) -> float:
        asked = outcome.retry_after_s if isinstance(outcome, Response) else None
        return min(max(asked or 0.0, _PAUSES_S[attempt]), _MAX_PAUSE_S)

    async def _follow(self, url: str, request: FetchRequest) -> Response | FetchFailure:
        """Follow up to five redirects, to any host; past that the last redirect is the answer.

        A redirect that leads nowhere counts as no robots.txt, as a 4xx does (RFC 9309, 2.3.1.2).
        """
        home = url
        chain = b""
        for hop in range(_MAX_REDIRECTS + 1):
            headers = request.headers
            if not trusted(home, url):
                headers = for_strangers(headers)
            outcome = await self._fetcher.fetch(
                msgspec.structs.replace(
                    request,
                    url=url,
                    method="GET",
                    body=b"",
                    headers=headers,
                    timeout_s=min(request.timeout_s, _TRY_TIMEOUT_S),
                    max_html_bytes=MAX_BYTES,
                    max_document_bytes=MAX_BYTES,
                    cut_at_cap=True,
                    etag=None,
                    last_modified=None,
                    chain=chain,
                )
            )
            if isinstance(outcome, FetchFailure) or outcome.status not in _REDIRECTS or hop == _MAX_REDIRECTS:
                return outcome
            target = _target(url, outcome.header("location"))
            if target is None:
                return outcome
            url, chain = target, outcome.chain
        raise AssertionError("the loop returns at its last hop")


def _target(url: str, location: str | None) -> str | None:
    if not location:
        return None
    try:
        target = urljoin(url, location.strip())
        parts = urlsplit(target)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    return target


def _worth_retrying(outcome: Response | FetchFailure) -> bool:
    if isinstance(outcome, FetchFailure):
        return outcome.retryable
    return outcome.status >= 500 or outcome.status == 429


def _fresh(entry: _Entry, now_us: int) -> bool:
    # A clock that was set back must not keep an entry for ever.
    return -entry.ttl_us < now_us - entry.fetched_at_us < entry.ttl_us
