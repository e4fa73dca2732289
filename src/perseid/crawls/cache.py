"""The team's cache of answers: read and filled only by requests that ask for it (`CachePolicy`).

It keeps what a private cache may (RFC 9111, 3): pages, and redirects with the cookies they set, so that a
whole chain comes from it. Two that ask for the same page at once may both fetch it.
"""

from __future__ import annotations

import hashlib

import msgspec

from perseid.crawls.pack import squeeze, unpack
from perseid.crawls.revalidate import LARGEST_BYTES, storable
from perseid.model.options import CachePolicy
from perseid.model.verdict import FailureCode
from perseid.ports.clock import Clock
from perseid.ports.fetch import Fetcher, FetchFailure, FetchRequest, Response
from perseid.ports.pages import KnownPage, PageCache

_KEPT_STATUSES = frozenset({200, 301, 302, 303, 307, 308})


class CachingFetcher:
    """A `Fetcher` that honours `FetchRequest.cache`; other requests pass through it untouched."""

    def __init__(self, fetcher: Fetcher, cache: PageCache, clock: Clock) -> None:
        self._fetcher = fetcher
        self._cache = cache
        self._clock = clock

    async def close(self) -> None:
        await self._fetcher.close()

    async def fetch(self, request: FetchRequest) -> Response | FetchFailure:
        policy = request.cache
        if not (policy.reads or policy.store):
            return await self._fetcher.fetch(request)
        key = _key(request)
        if policy.reads:
            known = await self._cache.get(key)
            if known is not None and known.url == request.url and _fits(policy, self._age_s(known)):
                return _whole(known)
            if policy.offline:
                return _missing(request, None if known is None else self._age_s(known))
        answer = await self._fetcher.fetch(request)
        if policy.store and isinstance(answer, Response):
            await self._keep(key, answer)
        return answer

    def _age_s(self, known: KnownPage) -> float:
        # A clock that was set back makes an answer no younger than new.
        return max((self._clock.now_us() - known.fetched_at) / 1_000_000, 0.0)

    async def _keep(self, key: bytes, answer: Response) -> None:
        """An answer that may not be kept leaves the one before: that is as old as it says."""
        if answer.status not in _KEPT_STATUSES or not storable(answer):
            return
        body = squeeze(answer.body)
        if len(body) > LARGEST_BYTES:
            return
        page = KnownPage(
            url=answer.url,
            etag=None,
            last_modified=None,
            headers=answer.headers,
            body=body,
            status=answer.status,
            fetched_at=self._clock.now_us(),
            chain=answer.chain,
        )
        await self._cache.put(key, page)


def _fits(policy: CachePolicy, age_s: float) -> bool:
    return (policy.max_age_s is None or age_s <= policy.max_age_s) and age_s >= (policy.min_age_s or 0.0)


def _whole(known: KnownPage) -> Response:
    return Response(
        url=known.url,
        status=known.status,
        headers=known.headers,
        body=unpack(known.body),
        cached_at=known.fetched_at,
        chain=known.chain,
    )


def _missing(request: FetchRequest, age_s: float | None) -> FetchFailure:
    why = "there is none" if age_s is None else f"the one there is {age_s:.0f} s old"
    message = f"only a kept answer of the age asked for would do, and {why}"
    return FetchFailure(url=request.url, code=FailureCode.NOT_CACHED, message=message, retryable=False)


def _key(request: FetchRequest) -> bytes:
    """Whatever may change the answer, and whatever decides who may see it."""
    asked = msgspec.json.encode(
        (
            "cache",
            request.realm,
            request.url,
            request.user_agent,
            request.headers,
            request.proxy,
            request.verify_tls,
            request.named_host is not None,
            request.chain,
        )
    )
    return hashlib.blake2b(asked, digest_size=16).digest()
