"""Asking only for what has changed (RFC 9110, 13.1; RFC 9111, 4.3): on request, never by default.

An answer "304 Not Modified" is turned back into the whole answer, so that the page's document and its links
are made as ever, by the options of the crawl that asks.
"""

from __future__ import annotations

import hashlib

import msgspec

from perseid.crawls.pack import squeeze, unpack
from perseid.model.verdict import FailureCode
from perseid.ports.fetch import Fetcher, FetchFailure, FetchRequest, Response
from perseid.ports.pages import KnownPage, PageCache

LARGEST_BYTES = 4 * 1024 * 1024
"""Larger bodies, compressed, are fetched anew each time."""
_NOT_MODIFIED = 304


class RevalidatingFetcher:
    """A `Fetcher` that honours `FetchRequest.revalidate`; other requests pass through it untouched."""

    def __init__(self, fetcher: Fetcher, cache: PageCache) -> None:
        self._fetcher = fetcher
        self._cache = cache

    async def close(self) -> None:
        await self._fetcher.close()

    async def fetch(self, request: FetchRequest) -> Response | FetchFailure:
        if not request.revalidate:
            return await self._fetcher.fetch(request)
        key = _key(request)
        known = await self._cache.get(key)
        if known is None or known.url != request.url:
            known = None
        else:
            request = msgspec.structs.replace(request, etag=known.etag, last_modified=known.last_modified)
        answer = await self._fetcher.fetch(request)
        if isinstance(answer, FetchFailure):
            return answer
        if answer.status == _NOT_MODIFIED and known is not None:
            return await self._whole(key, known, answer)
        if answer.status == 200:
            await self._remember(key, answer)
        return answer

    async def _whole(self, key: bytes, known: KnownPage, answer: Response) -> Response | FetchFailure:
        etag = answer.header("etag")
        if etag is not None and known.etag is not None and _opaque(etag) != _opaque(known.etag):
            # It speaks of a version we don't have (RFC 9111, 4.3.4): the next attempt asks for all of it.
            await self._cache.drop(key)
            message = f"the site answered 304 about version {etag[:80]}, but was asked about {known.etag[:80]}"
            return FetchFailure(url=answer.url, code=FailureCode.BAD_RESPONSE, message=message, retryable=True)
        fresh = {name for name, _ in answer.headers if not name.startswith("content-")}
        headers = tuple(pair for pair in known.headers if pair[0] not in fresh)
        headers += tuple(pair for pair in answer.headers if pair[0] in fresh)
        await self._cache.put(key, msgspec.structs.replace(known, headers=headers))
        return msgspec.structs.replace(answer, status=200, headers=headers, body=unpack(known.body))

    async def _remember(self, key: bytes, answer: Response) -> None:
        etag, last_modified = answer.header("etag"), answer.header("last-modified")
        if (etag is None and last_modified is None) or not storable(answer):
            await self._cache.drop(key)
            return
        body = squeeze(answer.body)
        if len(body) > LARGEST_BYTES:
            await self._cache.drop(key)
            return
        page = KnownPage(url=answer.url, etag=etag, last_modified=last_modified, headers=answer.headers, body=body)
        await self._cache.put(key, page)


def _key(request: FetchRequest) -> bytes:
    """Whatever may change the answer: another user agent, header, cookie or way is another page.

    What somebody sent over an unchecked connection must never be vouched for by the site's own 304.
    """
    way = (request.proxy, request.verify_tls)
    asked = msgspec.json.encode((request.url, request.user_agent, request.headers, way))
    return hashlib.blake2b(asked + b"\0" + request.realm + b"\0" + request.chain, digest_size=16).digest()


def storable(answer: Response) -> bool:
    """Whether the site lets it be kept for the one who asked (RFC 9111, 3)."""
    control = ",".join(value for name, value in answer.headers if name == "cache-control").lower()
    vary = ",".join(value for name, value in answer.headers if name == "vary")
    return "no-store" not in control and "*" not in vary


def _opaque(etag: str) -> str:
    """For the weak comparison (RFC 9110, 8.8.3.2)."""
    return etag.strip().removeprefix("W/")
