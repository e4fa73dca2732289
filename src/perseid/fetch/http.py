"""One GET over HTTP/1.1: `HttpFetcher` does the exchange, the caller decides what to make of it."""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from perseid._version import __version__
from perseid.errors import ConfigError
from perseid.fetch.body import BodyReader, BodyTruncated, Bounds
from perseid.fetch.cookies import ChainCookies, join_cookies
from perseid.fetch.exchange import CURRENT, Exchange
from perseid.fetch.guard import NOTHING, Allowance, host_name
from perseid.fetch.headers import read_headers
from perseid.fetch.inflate import ACCEPT_ENCODING, inflater
from perseid.fetch.pool import PoolOptions, Pools
from perseid.fetch.proxy import Proxy, parse_proxy
from perseid.fetch.trouble import EXPECTED, failure_of
from perseid.model.retry_after import parse_retry_after
from perseid.model.verdict import FailureCode
from perseid.ports.fetch import Fetcher, FetchFailure, FetchRequest, Response

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perseid.fetch.inflate import Inflater

USER_AGENT = f"Perseid/{'.'.join(__version__.split('.')[:2])} (web crawler)"
"""Who we say we are unless a request says otherwise; robots.txt knows us as `perseid`."""

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_HOP_BY_HOP = frozenset({"connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade",
                         "keep-alive", "proxy-connection", "proxy-authorization", "expect"})  # fmt: skip
_NOT_SERIALISED = re.compile(r"[^\x21-\x7e]")
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_DRAIN_BYTES = 64 * 1024
_DRAIN_S = 1.0


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
        self._pools = Pools(pool or PoolOptions(), allowance)
        self._trusted = {_endpoint(parse_proxy(url)) for url in trusted_proxies}
        self._base_headers = CIMultiDict(
            {"User-Agent": user_agent, "Accept": _ACCEPT, "Accept-Encoding": ACCEPT_ENCODING}
        )

    async def fetch(self, request: FetchRequest) -> Response | FetchFailure:
        """Do one GET; a redirect is returned, not followed, with an empty body."""
        exchange = Exchange(request.url)
        token = CURRENT.set(exchange)
        try:
            async with asyncio.timeout(request.timeout_s):
                return await self._exchange(request, exchange)
        except ConfigError as error:
            return exchange.failure(FailureCode.PROXY, str(error), retryable=False)
        except EXPECTED as error:
            return failure_of(error, exchange, timeout_s=request.timeout_s)
        finally:
            CURRENT.reset(token)

    async def close(self) -> None:
        await self._pools.close()

    async def _exchange(self, request: FetchRequest, exchange: Exchange) -> Response | FetchFailure:
        url = _request_url(request.url)
        if url.scheme not in ("http", "https"):
            raise ValueError(f"only http and https can be fetched, not {url.scheme or 'this'}")
        exchange.host = host = url.raw_host or ""
        name = host_name(host)
        exchange.named = name in self._allowance.hosts or (
            request.named_host is not None and host_name(request.named_host) == name
        )
        headers = self._headers(request, url)
        if request.proxy is not None:
            return await self._through_proxy(request, exchange, url, headers)
        session = self._pools.direct(named=exchange.named)
        return await self._attempt(session, request, exchange, url, headers)

    async def _through_proxy(
        self, request: FetchRequest, exchange: Exchange, url: URL, headers: CIMultiDict[str]
    ) -> Response | FetchFailure:
        proxy = parse_proxy(request.proxy or "")
        exchange.proxy = proxy.url
        server_name: str | None = None
        if _endpoint(proxy) not in self._trusted:
            address = await self._pools.checked_address(exchange, url.port or 0)
            if proxy.socks or url.scheme == "https":
                # The proxy is told the address that was judged: it can't be talked into another one.
                # (A plain request through an HTTP proxy must keep its name: proxies ignore Host.)
                headers.setdefault("Host", url.host_port_subcomponent or "")
                server_name = exchange.host.rstrip(".")
                url = url.with_host(address)
        if proxy.socks:
            async with self._pools.socks_proxied(proxy) as session:
                return await self._attempt(session, request, exchange, url, headers, server_name=server_name)
        return await self._attempt(
            self._pools.http_proxied(), request, exchange, url, headers, server_name=server_name, via=proxy
        )

    async def _attempt(
        self,
        session: aiohttp.ClientSession,
        request: FetchRequest,
        exchange: Exchange,
        url: URL,
        headers: CIMultiDict[str],
        *,
        server_name: str | None = None,
        via: Proxy | None = None,
    ) -> Response | FetchFailure:
        proxy = URL(via.url) if via is not None else None
        # A proxy that is spoken to over TLS is given our credentials: it is checked, and the site with it, for the
        # library knows one answer for both. Connections with and without checks are pooled apart by it.
        verify = request.verify_tls or (via is not None and via.scheme == "https")

        async def send() -> aiohttp.ClientResponse:
            return await session.get(
                url, headers=headers, allow_redirects=False, proxy=proxy, server_hostname=server_name, ssl=verify
            )

        try:
            answer = await send()
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if exchange.fresh:
                raise
            # A kept-alive connection that the server had closed meanwhile (RFC 9112, 9.3.1).
            answer = await send()
        try:
            return await self._read(answer, request, exchange)
        except BaseException:
            answer.close()
            raise

    async def _read(
        self, answer: aiohttp.ClientResponse, request: FetchRequest, exchange: Exchange
    ) -> Response | FetchFailure:
        if answer.status < 200 or (answer.status == 407 and exchange.proxy is not None):
            answer.close()
            return _odd_status(answer, exchange)
        chain = b""
        headers = read_headers(answer.raw_headers)
        known = dict(reversed(headers))  # the first of several counts
        if answer.status in _REDIRECTS and "location" in known:
            body, wire = b"", await _drain(answer)
            chain = _next_chain(request, headers)
        else:
            length = known.get("content-length", "")
            reader = BodyReader(
                Bounds(request.max_html_bytes, request.max_document_bytes, request.cut_at_cap),
                known.get("content-type", ""),
                int(length) if length.isdecimal() and len(length) < 19 else None,
                _inflater(headers) if "content-encoding" in known else None,
            )
            body, wire = await reader.read(answer.content), reader.wire
            if not answer.content.at_eof():
                answer.close()
            elif exchange.was_reset():
                raise BodyTruncated("the connection was reset in the middle of the body")
        return Response(
            url=request.url,
            status=answer.status,
            headers=headers,
            body=body,
            private=exchange.private,
            elapsed_us=exchange.elapsed_us(),
            wire_bytes=wire,
            retry_after_s=_retry_after_s(known),
            chain=chain,
        )

    def _headers(self, request: FetchRequest, url: URL) -> CIMultiDict[str]:
        headers = self._base_headers.copy()
        if request.user_agent is not None:
            headers["User-Agent"] = request.user_agent
        if request.etag is not None:
            headers["If-None-Match"] = request.etag
        if request.last_modified is not None:
            headers["If-Modified-Since"] = request.last_modified
        for name, value in request.headers:
            if name.lower() not in _HOP_BY_HOP:
                headers[name] = value
        if request.chain:
            gathered = ChainCookies.load(request.chain).header_for(request.url)
            cookie = join_cookies(headers.get("Cookie"), gathered)
            if cookie is not None:
                headers["Cookie"] = cookie
        if url.raw_user is not None:
            # Credentials in the URL become this header; the library refuses both at once.
            headers.pop("Authorization", None)
        return headers


def _request_url(text: str) -> URL:
    """The URL byte for byte as given: WHATWG serialisation is final, nothing is quoted anew."""
    if _NOT_SERIALISED.search(text):
        # Above all line breaks, which would end the request line.
        raise ValueError("the URL holds characters that URL serialisation escapes")
    url = URL(text, encoded=True)
    bare = text.partition("#")[0]
    if bare.endswith("?") and bare.count("?") == 1:
        # An empty query is part of the request target; the library would drop it.
        return URL.build(scheme=url.scheme, authority=url.raw_authority, path=f"{url.raw_path}?", encoded=True)
    return url


def _inflater(headers: tuple[tuple[str, str], ...]) -> Inflater | None:
    return inflater(",".join(value for name, value in headers if name == "content-encoding"))


def _next_chain(request: FetchRequest, headers: tuple[tuple[str, str], ...]) -> bytes:
    """The chain's cookies with those that this redirect sets."""
    if not any(name == "set-cookie" for name, _ in headers):
        return request.chain
    cookies = ChainCookies.load(request.chain)
    cookies.set_from(request.url, headers)
    return cookies.dump()


def _retry_after_s(known: dict[str, str]) -> float | None:
    value = known.get("retry-after")
    return None if value is None else parse_retry_after(value, now_us=time.time_ns() // 1000)


def _odd_status(answer: aiohttp.ClientResponse, exchange: Exchange) -> FetchFailure:
    if answer.status == 407:
        shown = parse_proxy(exchange.proxy or "").shown
        message = f"proxy {shown} wants other credentials (407 {answer.reason or ''})"
        return exchange.failure(FailureCode.PROXY, message, retryable=True)
    message = f"the answer has status {answer.status}, which is none to a GET"
    return exchange.failure(FailureCode.BAD_RESPONSE, message, retryable=True)


async def _drain(answer: aiohttp.ClientResponse) -> int:
    """Read past the body of a redirect, which nobody needs, so that the connection can be kept."""
    wire = 0
    try:
        async with asyncio.timeout(_DRAIN_S):
            while wire < _MAX_DRAIN_BYTES and (data := await answer.content.readany()):
                wire += len(data)
    except (TimeoutError, aiohttp.ClientError, OSError):
        answer.close()
    if not answer.content.at_eof():
        answer.close()
    return wire


def _endpoint(proxy: Proxy) -> tuple[str, str, int]:
    return proxy.scheme, proxy.host, proxy.port
