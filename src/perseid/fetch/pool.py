"""Pools of kept-alive connections, one per degree of trust, so that a permission can't leak through reuse.

A connection to a private address that one request was allowed to open lies in the pool of named hosts,
where only requests look that were given the same permission for the same host. Behind proxies the target
is resolved and judged here before it is asked for.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import aiohttp
import msgspec

from perseid.fetch.address import AddressKind, address_kind
from perseid.fetch.exchange import CURRENT
from perseid.fetch.guard import judge_address
from perseid.fetch.mend import MAX_HEAD_BYTES, LenientHandler
from perseid.fetch.resolver import Resolver

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from perseid.fetch.exchange import Exchange
    from perseid.fetch.guard import Allowance
    from perseid.fetch.proxy import Proxy

_MAX_SOCKS_POOLS = 32


class PoolOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How connections are made; the defaults suit a crawler."""

    connect_timeout_s: float = 10.0
    """For name, connection and TLS together."""
    keepalive_s: float = 15.0
    max_connections: int = 1024
    """In use at once, per pool; more than callers at once, or their waiting counts as connecting."""
    max_idle_hosts: int = 256
    """Hosts to which idle connections are kept, per pool: a crawl of many sites must not use up the files."""
    ssl_context: Any = None
    """An `ssl.SSLContext` to trust other certificates; `None` trusts what the system does."""


class Answer(aiohttp.ClientResponse):
    """Notes, while the connection is still at hand, which address answered."""

    async def start(self, connection: Any) -> aiohttp.ClientResponse:
        exchange = CURRENT.get()
        protocol = connection.protocol
        if exchange.proxy is None:
            peer = connection.transport and connection.transport.get_extra_info("peername")
            if peer:
                exchange.private = judge_address(peer[0], peer[1], named=True).private
        await super().start(connection)
        exchange.refused = ""
        exchange.status = self.status
        if "Content-Length" not in self.headers and "Transfer-Encoding" not in self.headers:
            exchange.unframed = protocol
        return self


class _NoCookies(aiohttp.DummyCookieJar):
    """Cookies belong to a redirect chain, not to the client: don't even parse them here."""

    def update_cookies_from_headers(self, headers: Any, response_url: Any) -> None:
        pass


class Pools:
    """Opened lazily inside the running loop; belongs to that loop until `close`."""

    def __init__(self, options: PoolOptions, allowance: Allowance) -> None:
        self._options = options
        self._allowance = allowance
        self._sessions: dict[str, aiohttp.ClientSession] = {}
        self._socks: dict[str, tuple[aiohttp.ClientSession, list[object]]] = {}
        self._resolver = Resolver()

    def direct(self, *, named: bool) -> aiohttp.ClientSession:
        """Connections to the site itself, each judged by the guard as it is made."""
        return self._session("named" if named else "guarded", named=named, judged=True)

    def http_proxied(self) -> aiohttp.ClientSession:
        """Connections to and through HTTP proxies; the library keeps them apart by proxy and target."""
        return self._session("proxied", named=True, judged=False)

    @asynccontextmanager
    async def socks_proxied(self, proxy: Proxy) -> AsyncIterator[aiohttp.ClientSession]:
        """Connections through one SOCKS proxy; pools of the least recently used proxies are closed."""
        session, users = self._socks.pop(proxy.url, (None, []))
        if session is None:
            from perseid.fetch.socks import SocksConnector  # noqa: PLC0415 - few need it, and all would wait for it

            session = self._open(SocksConnector(proxy, **self._connector_options()))
        self._socks[proxy.url] = (session, users)
        token = object()
        users.append(token)
        try:
            yield session
        finally:
            users.remove(token)
            idle = [url for url, (_, busy) in self._socks.items() if not busy]
            for url in idle[: max(0, len(self._socks) - _MAX_SOCKS_POOLS)]:
                await self._socks.pop(url)[0].close()

    async def checked_address(self, exchange: Exchange, port: int) -> str:
        """An address of the host that the guard lets pass, for a proxy to connect to.

        Raises `PermissionError` with `exchange.refused` set, or `socket.gaierror`.
        """
        for address in await self._addresses(exchange.host):
            verdict = judge_address(address, port, self._allowance, named=exchange.named)
            if verdict.allowed or (exchange.named and address == exchange.host):
                exchange.refused = ""
                exchange.private = verdict.private
                return address
            exchange.refused = exchange.refused or verdict.reason
            exchange.private = verdict.private
        raise PermissionError(errno.EACCES, exchange.refused or "no address")

    async def close(self) -> None:
        """Close all connections; the pools may be used again afterwards, in another loop even."""
        sessions = [*self._sessions.values(), *(session for session, _ in self._socks.values())]
        self._sessions.clear()
        self._socks.clear()
        for session in sessions:
            await session.close()
        await self._resolver.close()
        if sessions:
            # Transports close in a callback of their own: give it its turn.
            await asyncio.sleep(0)

    async def _addresses(self, host: str) -> list[str]:
        if address_kind(host) is not AddressKind.INVALID:
            return [host]
        found = await self._resolver.lookup(host)
        # IPv4 first: few proxies reach IPv6.
        return [each.address for each in sorted(found, key=lambda each: each.family != socket.AF_INET)]

    def _session(self, name: str, *, named: bool, judged: bool) -> aiohttp.ClientSession:
        session = self._sessions.get(name)
        if session is None:
            session = self._sessions[name] = self._open(
                aiohttp.TCPConnector(
                    socket_factory=self._socket_factory(named=named, judged=judged),
                    resolver=self._resolver,
                    use_dns_cache=False,
                    **self._connector_options(),
                )
            )
        self._drop_idle(session.connector)
        return session

    def _drop_idle(self, connector: Any) -> None:
        """Close the connections that have been idle longest, past the bound; the library has none."""
        idle = connector._conns  # noqa: SLF001 - there is no public view of the pool
        while len(idle) > self._options.max_idle_hosts:
            for protocol, _ in idle.pop(next(iter(idle))):
                protocol.close()

    def _open(self, connector: aiohttp.BaseConnector) -> aiohttp.ClientSession:
        # There is no public way to choose the protocol (a SOCKS connector brings its own).
        factory: Any = partial(LenientHandler, asyncio.get_running_loop())
        connector._factory = factory  # noqa: SLF001 - see above
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=_NoCookies(),
            response_class=Answer,
            auto_decompress=False,
            trust_env=False,
            timeout=aiohttp.ClientTimeout(total=None, connect=self._options.connect_timeout_s, ceil_threshold=60),
            # Long policies and many cookies are common; the whole head is bounded by the product.
            max_line_size=16 * 1024,
            max_field_size=MAX_HEAD_BYTES // 4,
            max_headers=256,
        )
        # A request is repeated by us, and only when the connection came from the pool.
        session._retry_connection = False  # noqa: SLF001 - there is no public switch
        return session

    def _connector_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {
            "limit": self._options.max_connections,
            "keepalive_timeout": self._options.keepalive_s,
        }
        if self._options.ssl_context is not None:
            options["ssl"] = self._options.ssl_context
        return options

    def _socket_factory(self, *, named: bool, judged: bool) -> Any:
        allowance = self._allowance

        def open_socket(address_info: Any) -> socket.socket:
            family, kind, protocol, _, address = address_info
            exchange = CURRENT.get()
            exchange.fresh = True
            if judged:
                verdict = judge_address(address[0], address[1], allowance, named=named)
                if not verdict.allowed and not (named and address[0] == exchange.host):
                    exchange.refused = verdict.reason
                    exchange.private = verdict.private
                    raise PermissionError(errno.EACCES, verdict.reason)
            return socket.socket(family, kind, protocol)

        return open_socket
