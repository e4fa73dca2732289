"""Connections through a SOCKS5 proxy (RFC 1928), with the same protocol behind them as all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiohttp_socks import ProxyConnector, ProxyType
from python_socks.async_.asyncio.v2 import Proxy as SocksDialer

from perseid.fetch.exchange import CURRENT
from perseid.fetch.mend import LenientHandler

if TYPE_CHECKING:
    import asyncio
    import ssl

    from perseid.fetch.proxy import Proxy


class _TunnelHandler(LenientHandler):
    """Holds the stream writer, whose finalizer would close the transport under us."""

    def __init__(self, loop: asyncio.AbstractEventLoop, writer: asyncio.StreamWriter) -> None:
        super().__init__(loop)
        self._tunnel_writer = writer


class SocksConnector(ProxyConnector):
    """A pool of tunnels through one proxy. Names are resolved by the proxy, addresses passed as they are."""

    def __init__(self, proxy: Proxy, **options: Any) -> None:
        super().__init__(
            host=proxy.host,
            port=proxy.port,
            proxy_type=ProxyType.SOCKS5,
            username=proxy.username,
            password=proxy.password,
            rdns=True,
            **options,
        )
        self._dialer = SocksDialer(
            proxy_type=ProxyType.SOCKS5,
            host=proxy.host,
            port=proxy.port,
            username=proxy.username,
            password=proxy.password,
            rdns=True,
        )

    async def _connect_via_proxy(
        self,
        host: str,
        port: int,
        ssl: ssl.SSLContext | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature of the base class
    ) -> Any:
        CURRENT.get().fresh = True
        stream = await self._dialer.connect(dest_host=host, dest_port=port, dest_ssl=ssl, timeout=timeout)
        transport = stream.writer.transport
        protocol = _TunnelHandler(self._loop, stream.writer)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        return transport, protocol
