"""Opening connections: names to addresses, each judged as it is connected to, TLS, and tunnels through proxies."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections import deque
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from perseid.fetch.address import AddressKind, address_kind
from perseid.fetch.broken import ConnectTimeout, HungUp, MalformedHead, ProxyAnswered, ProxyRefused
from perseid.fetch.guard import Verdict, host_name, judge_address
from perseid.fetch.request import connect_to
from perseid.fetch.resolver import Found
from perseid.fetch.target import basic
from perseid.fetch.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from perseid.fetch.exchange import Exchange
    from perseid.fetch.guard import Allowance
    from perseid.fetch.proxy import Proxy
    from perseid.fetch.resolver import Resolver
    from perseid.fetch.target import Site

    Attempt = Callable[[], Awaitable[socket.socket]]

_ANY_PORT = 8080
_NEXT_ADDRESS_S = 0.25
"""How long an address may take before the next one is tried beside it (RFC 8305, 5)."""


class Way(NamedTuple):
    """How to reach a site."""

    site: Site
    verify: bool = True
    """Check the site's certificate."""
    named: bool = False
    """The user, or the operator's list, named this very host."""
    proxy: Proxy | None = None
    address: str = ""
    """Behind a proxy: the address it is told; "" lets it resolve the name itself."""
    strange: bool = False
    """The proxy is not the operator's own: where it lies is judged as where a page lies."""

    @property
    def tunnels(self) -> bool:
        """The proxy passes bytes on, rather than a request."""
        return self.proxy is not None and (self.proxy.socks or self.site.scheme == "https")


class Dialer:
    """Belongs to the event loop that it is used in."""

    def __init__(
        self, resolver: Resolver, allowance: Allowance, *, timeout_s: float, trusted: ssl.SSLContext | None
    ) -> None:
        self._resolver = resolver
        self._allowance = allowance
        self._timeout_s = timeout_s
        self._contexts: dict[bool, ssl.SSLContext] = {} if trusted is None else {True: trusted}

    async def dial(self, way: Way, exchange: Exchange) -> Wire:
        """A new connection that the guard lets pass; name, connection and TLS in the time for all three.

        Raises `ConnectTimeout`, `ProxyRefused`, `PermissionError` with `exchange.refused` set, and OSErrors.
        """
        deadline = asyncio.timeout(self._timeout_s)
        try:
            async with deadline:
                return await (self._direct(way, exchange) if way.proxy is None else self._behind(way, way.proxy))
        except TimeoutError:
            if deadline.expired():
                raise ConnectTimeout from None
            raise

    async def checked_address(self, site: Site, exchange: Exchange) -> str:
        """An address of the host that the guard lets pass, for a proxy to connect to.

        Raises `PermissionError` with `exchange.refused` set, or `socket.gaierror`.
        """
        # IPv4 first: few proxies reach IPv6.
        for found in sorted(await self._addresses(site.host), key=lambda each: each.family != socket.AF_INET):
            verdict = judge_address(found.address, site.port, self._allowance, named=exchange.named)
            if verdict.allowed or (exchange.named and found.address == site.host):
                exchange.refused = ""
                exchange.private = verdict.private
                return found.address
            exchange.refused = exchange.refused or verdict.reason
            exchange.private = verdict.private
        raise PermissionError(errno.EACCES, exchange.refused or "no address")

    async def _direct(self, way: Way, exchange: Exchange) -> Wire:
        site = way.site
        found = await self._addresses(site.host)
        try:
            link = await _first([partial(self._connect, each, way, exchange) for each in _by_turns(found)])
        except PermissionError:
            raise
        except OSError:
            # Another of its addresses may be connected to, and could not be reached this time.
            exchange.refused = ""
            raise
        exchange.refused = ""
        exchange.private = address_is_private(link)
        context = self._context(verify=way.verify) if site.scheme == "https" else None
        return await _speak(link, Wire(private=exchange.private), context, site.host)

    async def _connect(self, found: Found, way: Way, exchange: Exchange) -> socket.socket:
        site = way.site
        verdict = judge_address(found.address, site.port, self._allowance, named=way.named)
        if not verdict.allowed and not (way.named and found.address == site.host):
            exchange.refused = verdict.reason
            exchange.private = verdict.private
            raise PermissionError(errno.EACCES, verdict.reason)
        return await _connected(found, site.port)

    async def _behind(self, way: Way, proxy: Proxy) -> Wire:
        """Through a proxy: a tunnel to the site, or for plain requests the proxy itself."""
        site = way.site
        context = self._context(verify=way.verify) if site.scheme == "https" else None
        host = way.address or site.host
        if proxy.socks:
            return await _speak(await self._socks_tunnel(way, proxy, host), Wire(), context, site.host)
        place = f"[{host}]:{site.port}" if ":" in host else f"{host}:{site.port}"
        wire = await self._http_proxy(way, proxy, place if way.tunnels else None)
        return wire if context is None else await _secured(wire, context, site.host)

    async def _socks_tunnel(self, way: Way, proxy: Proxy, host: str) -> socket.socket:
        from perseid.fetch.socks import open_tunnel  # noqa: PLC0415 - few need it

        with _blamed_on_proxy():
            link = await self._reach(way, proxy)
            await _or_close(link, open_tunnel(link, proxy, host, way.site.port))
        return link

    async def _http_proxy(self, way: Way, proxy: Proxy, place: str | None) -> Wire:
        """A connection to the proxy, or through it where a place is given."""
        with _blamed_on_proxy():
            trusted = self._context(verify=True) if proxy.scheme == "https" else None
            wire = await _speak(await self._reach(way, proxy), Wire(), trusted, proxy.host)
            if place is None:
                return wire
            try:
                question = connect_to(place, proxy_authorization(proxy))
                head = await wire.ask(question, asyncio.get_running_loop().time() + self._timeout_s)
            except BaseException:
                wire.close()
                raise
        if 200 <= head.status < 300:
            return wire
        wire.close()
        raise ProxyAnswered(head.status, head.reason)

    async def _reach(self, way: Way, proxy: Proxy) -> socket.socket:
        found = _by_turns(await self._addresses(proxy.host))
        if way.strange:
            verdicts = [self._verdict_on(proxy, each) for each in found]
            found = [each for each, verdict in zip(found, verdicts, strict=True) if verdict.allowed]
            if not found:
                raise PermissionError(errno.EACCES, f"a proxy may not lie there: {verdicts[0].reason}")
        try:
            # Whoever takes half of the time for the first step is not on the way to the site.
            async with asyncio.timeout(self._timeout_s / 2):
                return await _first([partial(_connected, each, proxy.port) for each in found])
        except TimeoutError:
            raise ProxyRefused("no connection in time") from None

    def _verdict_on(self, proxy: Proxy, found: Found) -> Verdict:
        # Proxies listen on any port.
        named = host_name(proxy.host) in self._allowance.hosts
        return judge_address(found.address, _ANY_PORT, self._allowance, named=named)

    async def _addresses(self, host: str) -> list[Found]:
        if address_kind(host) is not AddressKind.INVALID:
            return [Found(socket.AF_INET6 if ":" in host else socket.AF_INET, host)]
        return await self._resolver.lookup(host)

    def _context(self, *, verify: bool) -> ssl.SSLContext:
        """Made when it is first needed: reading the system's certificates takes longer than many requests."""
        context = self._contexts.get(verify)
        if context is None:
            context = ssl.create_default_context()
            context.set_alpn_protocols(["http/1.1"])
            if not verify:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            self._contexts[verify] = context
        return context


def proxy_authorization(proxy: Proxy) -> str | None:
    """What it is to be told for its credentials."""
    return None if proxy.username is None else basic(proxy.username, proxy.password or "")


def address_is_private(link: socket.socket) -> bool:
    """What answers there is local: no throttling is due."""
    address, port = link.getpeername()[:2]
    return judge_address(address, port, named=True).private


@contextmanager
def _blamed_on_proxy() -> Iterator[None]:
    """Whatever goes wrong on the way to a proxy, or is refused by it, is not the site's fault."""
    try:
        yield
    except TimeoutError:
        raise
    except (OSError, HungUp, MalformedHead) as error:
        raise ProxyRefused(getattr(error, "strerror", None) or str(error) or type(error).__name__) from error


def _by_turns(found: list[Found]) -> list[Found]:
    """The system's order, but the two families by turns (RFC 8305, 4)."""
    if not found:
        raise socket.gaierror(socket.EAI_NONAME, "it has no address")
    first = [each for each in found if each.family == found[0].family]
    other = [each for each in found if each.family != found[0].family]
    turns = []
    while first or other:
        turns += first[:1] + other[:1]
        first, other = first[1:], other[1:]
    return turns


async def _connected(found: Found, port: int) -> socket.socket:
    link = socket.socket(found.family, socket.SOCK_STREAM)
    link.setblocking(False)
    await _or_close(link, asyncio.get_running_loop().sock_connect(link, (found.address, port)))
    return link


async def _or_close(link: socket.socket, work: Awaitable[None]) -> None:
    try:
        await work
    except BaseException:
        link.close()
        raise


async def _first(attempts: list[Attempt]) -> socket.socket:
    """The first attempt that succeeds; each begins when the one before has failed or is slow (RFC 8305)."""
    if len(attempts) == 1:
        return await attempts[0]()
    left = deque(attempts)
    running: set[asyncio.Future[socket.socket]] = set()
    errors: list[BaseException] = []
    try:
        while left or running:
            if left:
                running.add(asyncio.ensure_future(left.popleft()()))
            done, running = await asyncio.wait(
                running, timeout=_NEXT_ADDRESS_S if left else None, return_when=asyncio.FIRST_COMPLETED
            )
            made = [each for each in done if each.exception() is None]
            running.update(made[1:])
            if made:
                return made[0].result()
            errors += [error for each in done if (error := each.exception()) is not None]
    finally:
        for each in running:
            each.cancel()
            each.add_done_callback(_close_late)
    raise next((error for error in errors if not isinstance(error, PermissionError)), errors[0])


def _close_late(attempt: asyncio.Future[socket.socket]) -> None:
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()


async def _speak(link: socket.socket, wire: Wire, context: ssl.SSLContext | None, name: str) -> Wire:
    """Put the protocol onto a connected socket, behind TLS where there is a context.

    TLS is begun on a transport that we hold: cancelled in the wrong moment, asyncio would otherwise leave one that
    believes in a socket closed long ago, and trip over whoever gets its number next.
    """
    try:
        await asyncio.get_running_loop().create_connection(lambda: wire, sock=link)
    except BaseException:
        link.close()
        raise
    return wire if context is None else await _secured(wire, context, name)


async def _secured(outer: Wire, context: ssl.SSLContext, name: str) -> Wire:
    """TLS with the site, on a plain connection or inside the tunnel that `outer` has opened."""
    inner = Wire(private=outer.private)
    loop = asyncio.get_running_loop()
    try:
        transport = await loop.start_tls(outer.hand_over(), inner, context, server_hostname=name.rstrip("."))
    except BaseException:
        outer.close()
        raise
    if transport is None:
        raise ConnectionResetError(errno.ECONNRESET, "the connection was closed during TLS")
    inner.connection_made(cast("asyncio.BaseTransport", transport))
    return inner
