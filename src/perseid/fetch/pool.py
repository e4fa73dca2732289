"""Connections kept alive, apart by how they were opened, so that a permission can't leak through reuse.

A connection to a private address that one request was allowed to open is found only by requests that were
given the same permission for the same host; the same goes for certificates unchecked, and for proxies.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import msgspec

from perseid.fetch.dial import Dialer
from perseid.fetch.resolver import Resolver

if TYPE_CHECKING:
    from perseid.fetch.dial import Way
    from perseid.fetch.exchange import Exchange
    from perseid.fetch.guard import Allowance
    from perseid.fetch.target import Site
    from perseid.fetch.wire import Wire


class PoolOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How connections are made; the defaults suit a crawler."""

    connect_timeout_s: float = 10.0
    """For name, connection and TLS together."""
    keepalive_s: float = 15.0
    max_idle_hosts: int = 256
    """Hosts to which idle connections are kept: a crawl of many sites must not use up the files."""
    ssl_context: Any = None
    """An `ssl.SSLContext` to trust other certificates; `None` trusts what the system does."""


class Pool:
    """Opened lazily inside the running loop; belongs to that loop until `close`."""

    def __init__(self, options: PoolOptions, allowance: Allowance) -> None:
        self._options = options
        self._resolver = Resolver()
        self._dialer = Dialer(
            self._resolver, allowance, timeout_s=options.connect_timeout_s, trusted=options.ssl_context
        )
        self._idle: OrderedDict[Way, list[tuple[float, Wire]]] = OrderedDict()
        """With the time each was put here; the way used last comes last."""
        self._busy: set[Wire] = set()
        self._sweep: asyncio.TimerHandle | None = None

    async def checked_address(self, site: Site, exchange: Exchange) -> str:
        """See `Dialer.checked_address`."""
        return await self._dialer.checked_address(site, exchange)

    def kept(self, way: Way) -> Wire | None:
        """A connection from an earlier request; the server may close it any moment."""
        wires = self._idle.pop(way, None)
        while wires:
            since, wire = wires.pop()
            if wires:
                self._idle[way] = wires
            young = asyncio.get_running_loop().time() - since < self._options.keepalive_s
            if young and wire.reusable and not wire.disturbed:
                self._busy.add(wire)
                return wire
            self._idle.pop(way, None)
            wire.close()
        return None

    async def opened(self, way: Way, exchange: Exchange) -> Wire:
        """A new connection. Raises what `Dialer.dial` does."""
        wire = await self._dialer.dial(way, exchange)
        self._busy.add(wire)
        return wire

    def release(self, way: Way, wire: Wire) -> None:
        """The request is over: keep the connection for the next one, if it is good for that."""
        self._busy.discard(wire)
        if not wire.reusable:
            wire.close()
            return
        loop = asyncio.get_running_loop()
        self._idle.setdefault(way, []).append((loop.time(), wire))
        self._idle.move_to_end(way)
        while len(self._idle) > self._options.max_idle_hosts:
            _drop(self._idle.popitem(last=False)[1])
        if self._sweep is None:
            self._sweep = loop.call_later(self._options.keepalive_s, self._close_old)

    def _close_old(self) -> None:
        """Close what nobody wanted; looked at every now and then, rather than with a timer for each."""
        loop = asyncio.get_running_loop()
        oldest = loop.time() - self._options.keepalive_s
        for way, wires in list(self._idle.items()):
            _drop([each for each in wires if each[0] <= oldest])
            left = [each for each in wires if each[0] > oldest]
            if left:
                self._idle[way] = left
            else:
                del self._idle[way]
        self._sweep = loop.call_later(self._options.keepalive_s, self._close_old) if self._idle else None

    async def close(self) -> None:
        """Close all connections; the pool may be used again afterwards, in another loop even."""
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for wires in self._idle.values():
            _drop(wires)
        self._idle.clear()
        for wire in self._busy:
            wire.close()
        self._busy.clear()
        await self._resolver.close()
        # Transports close in a callback of their own: give it its turn.
        await asyncio.sleep(0)


def _drop(wires: list[tuple[float, Wire]]) -> None:
    for _since, wire in wires:
        wire.close()
