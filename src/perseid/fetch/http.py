"""One request over HTTP/1.1: `HttpFetcher` does the exchange, the caller decides what to make of it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, NamedTuple

from perseid._version import __version__
from perseid.errors import ConfigError
from perseid.fetch.body import BodyReader, Bounds
from perseid.fetch.broken import BodyTruncated, HungUp, MalformedBody
from perseid.fetch.dial import Way, proxy_authorization
from perseid.fetch.exchange import Exchange
from perseid.fetch.guard import NOTHING, Allowance, host_name
from perseid.fetch.inflate import inflater
from perseid.fetch.pool import Pool, PoolOptions
from perseid.fetch.proxy import Proxy, parse_proxy
from perseid.fetch.request import head_of
from perseid.fetch.target import Target, read_target
from perseid.fetch.trouble import EXPECTED, failure_of
from perseid.model.retry_after import parse_retry_after
from perseid.model.verdict import FailureCode
from perseid.ports.fetch import Fetcher, FetchFailure, FetchRequest, Response

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perseid.fetch.head import Head
    from perseid.fetch.inflate import Inflater
    from perseid.fetch.wire import Wire

USER_AGENT = f"Perseid/{'.'.join(__version__.split('.')[:2])} (web crawler)"
"""Who we say we are unless a request says otherwise; robots.txt knows us as `perseid`."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_DRAIN_BYTES = 64 * 1024
_DRAIN_S = 1.0


class Question(NamedTuple):
    """One request on its way: what is sent, and when all of the answer has to be here (on the loop's clock)."""

    data: bytes
    deadline: float
    request: FetchRequest
    exchange: Exchange


class HttpFetcher(Fetcher):
    """Implements the port over pooled connections; one instance serves one event loop.

    `trusted_proxies` names proxies (by URL without credentials) that may be asked for a host by name,
    because they refuse private addresses themselves.
    """

    def __init__(
        self,
        *,
        user_agent: str = USER_AGENT,
        allowance: Allowance = NOTHING,
        trusted_proxies: Iterable[str] = (),
        pool: PoolOptions | None = None,
    ) -> None:
        self._allowance = allowance
        self._pool = Pool(pool or PoolOptions(), allowance)
        self._trusted = {_endpoint(parse_proxy(url)) for url in trusted_proxies}
        self._user_agent = user_agent

    async def fetch(self, request: FetchRequest) -> Response | FetchFailure:
        """Do one request; a redirect is returned, not followed, with an empty body."""
        exchange = Exchange(request.url)
        deadline = asyncio.get_running_loop().time() + request.timeout_s
        try:
            return await self._exchange(request, exchange, deadline)
        except ConfigError as error:
            return exchange.failure(FailureCode.PROXY, str(error), retryable=False)
        except EXPECTED as error:
            return failure_of(error, exchange, timeout_s=request.timeout_s)

    async def close(self) -> None:
        await self._pool.close()

    async def _exchange(self, request: FetchRequest, exchange: Exchange, deadline: float) -> Response | FetchFailure:
        target = read_target(request.url)
        exchange.host = host = target.site.host
        name = host_name(host)
        exchange.named = name in self._allowance.hosts or (
            request.named_host is not None and host_name(request.named_host) == name
        )
        if request.proxy is None:
            way = Way(target.site, request.verify_tls, exchange.named)
        else:
            async with asyncio.timeout_at(deadline):
                way = await self._proxied(parse_proxy(request.proxy), target, request, exchange)
        question = Question(self._bytes(way, target, request), deadline, request, exchange)
        return await self._attempt(way, question)

    async def _proxied(self, proxy: Proxy, target: Target, request: FetchRequest, exchange: Exchange) -> Way:
        """The way behind a proxy; it is told the address that was judged: it can't be talked into another one.

        (A plain request through an HTTP proxy must keep its name: proxies ignore Host.)
        """
        exchange.proxy = proxy.url
        address = ""
        if _endpoint(proxy) not in self._trusted:
            address = await self._pool.checked_address(target.site, exchange)
        return Way(target.site, request.verify_tls, exchange.named, proxy, address, request.strange_proxy)

    def _bytes(self, way: Way, target: Target, request: FetchRequest) -> bytes:
        via = None
        if way.proxy is not None and not way.tunnels:
            via = proxy_authorization(way.proxy) or ""
        return head_of(request, target, user_agent=self._user_agent, via=via)

    async def _attempt(self, way: Way, question: Question) -> Response | FetchFailure:
        # A POST is sent once: on a connection that the server may be closing, nobody knew whether it came.
        wire = self._pool.kept(way) if question.request.method == "GET" else None
        try:
            if wire is not None:
                try:
                    return await self._ask(wire, question)
                except (HungUp, ConnectionError):
                    # A kept-alive connection that the server had closed meanwhile (RFC 9112, 9.3.1).
                    self._pool.release(way, wire)
            async with asyncio.timeout_at(question.deadline):
                wire = await self._pool.opened(way, question.exchange)
            return await self._ask(wire, question)
        except BaseException:
            if wire is not None:
                wire.close()
            raise
        finally:
            if wire is not None:
                self._pool.release(way, wire)

    async def _ask(self, wire: Wire, question: Question) -> Response | FetchFailure:
        exchange = question.exchange
        if exchange.proxy is None:
            exchange.private = wire.private
        head = await wire.ask(question.data, question.deadline)
        exchange.status = head.status
        if head.status < 200 or (head.status == 407 and exchange.proxy is not None):
            wire.close()
            return _odd_status(head, exchange)
        return await self._read(wire, head, question.request, exchange)

    async def _read(self, wire: Wire, head: Head, request: FetchRequest, exchange: Exchange) -> Response:
        chain = b""
        headers, known = head.headers, head.known
        if head.status in _REDIRECTS and "location" in known:
            body, size = b"", await _drain(wire)
            chain = _next_chain(request, headers)
        else:
            reader = BodyReader(
                Bounds(request.max_html_bytes, request.max_document_bytes, request.cut_at_cap),
                known.get("content-type", ""),
                head.length,
                _inflater(headers) if "content-encoding" in known else None,
            )
            body, size = await reader.read(wire), reader.wire
        return Response(
            url=request.url,
            status=head.status,
            headers=headers,
            body=body,
            private=exchange.private,
            elapsed_us=exchange.elapsed_us(),
            wire_bytes=size,
            retry_after_s=_retry_after_s(known),
            chain=chain,
        )


def _inflater(headers: tuple[tuple[str, str], ...]) -> Inflater | None:
    return inflater(",".join(value for name, value in headers if name == "content-encoding"))


def _next_chain(request: FetchRequest, headers: tuple[tuple[str, str], ...]) -> bytes:
    """The chain's cookies with those that this redirect sets."""
    if not any(name == "set-cookie" for name, _ in headers):
        return request.chain
    from perseid.fetch.cookies import ChainCookies  # noqa: PLC0415 - start-up time: needs the list of public suffixes

    cookies = ChainCookies.load(request.chain)
    cookies.set_from(request.url, headers)
    return cookies.dump()


def _retry_after_s(known: dict[str, str]) -> float | None:
    value = known.get("retry-after")
    return None if value is None else parse_retry_after(value, now_us=time.time_ns() // 1000)


def _odd_status(head: Head, exchange: Exchange) -> FetchFailure:
    if head.status == 407:
        shown = parse_proxy(exchange.proxy or "").shown
        message = f"proxy {shown} wants other credentials (407 {head.reason})"
        return exchange.failure(FailureCode.PROXY, message, retryable=True)
    message = f"the answer has status {head.status}, which is none to a GET"
    return exchange.failure(FailureCode.BAD_RESPONSE, message, retryable=True)


async def _drain(wire: Wire) -> int:
    """Read past the body of a redirect, which nobody needs, so that the connection can be kept."""
    size = 0
    try:
        async with asyncio.timeout(_DRAIN_S):
            while size < _MAX_DRAIN_BYTES and (data := await wire.read()):
                size += len(data)
    except (TimeoutError, BodyTruncated, MalformedBody, OSError):
        wire.close()
    return size


def _endpoint(proxy: Proxy) -> tuple[str, str, int]:
    return proxy.scheme, proxy.host, proxy.port
