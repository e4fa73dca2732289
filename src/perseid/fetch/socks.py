"""Connections through a SOCKS5 proxy (RFC 1928), with the same protocol behind them as all others."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any

import aiohttp
import python_socks
from aiohttp_socks import ProxyConnector, ProxyType
from python_socks.async_.asyncio.v2 import Proxy as Dialer

from perseid.fetch.exchange import CURRENT
from perseid.fetch.mend import LenientHandler
from perseid.fetch.proxy import ProxyRefused

if TYPE_CHECKING:
    from perseid.fetch.proxy import Proxy


_DIALER_ERRORS = (
    python_socks.ProxyConnectionError,
    python_socks.ProxyTimeoutError,
    python_socks.ProxyError,
)


class _TunnelHandler(LenientHandler):
    """Holds the stream writer, whose finalizer would close the transport under us."""

    def __init__(self, loop: asyncio.AbstractEventLoop, writer: asyncio.StreamWriter) -> None:
        super().__init__(loop)
        self._tunnel_writer = writer


class SocksConnector(ProxyConnector):
    """A pool of tunnels through one proxy. Names are resolved by the proxy, addresses passed as they are.

    Other than in the base class, TLS is checked against the name asked for, though the proxy was told an
    address.
    """

    def __init__(self, proxy: Proxy, **options: Any) -> None:
        parameters: dict[str, Any] = {
            "proxy_type": ProxyType.SOCKS5,
            "host": proxy.host,
            "port": proxy.port,
            "username": proxy.username,
            "password": proxy.password,
            "rdns": True,
        }
        super().__init__(**parameters, **options)
        self._dialer = Dialer(**parameters)

    async def _wrap_create_connection(
        self,
        *_args: Any,
        addr_infos: list[Any],
        req: aiohttp.ClientRequest,
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - the signature of the base class
        **options: Any,
    ) -> Any:
        CURRENT.get().fresh = True
        host, port = addr_infos[0][4][:2]
        try:
            stream = await self._dialer.connect(dest_host=host, dest_port=port, timeout=timeout.sock_connect)
        except _DIALER_ERRORS as error:
            raise ProxyRefused(str(error)) from error
        context = options.get("ssl")
        return await self._take_over(stream.writer, context, options.get("server_hostname"), req)

    async def _take_over(
        self,
        writer: asyncio.StreamWriter,
        context: ssl.SSLContext | None,
        server_hostname: str | None,
        req: aiohttp.ClientRequest,
    ) -> tuple[asyncio.BaseTransport, LenientHandler]:
        protocol = _TunnelHandler(asyncio.get_running_loop(), writer)
        transport = writer.transport
        if context is None:
            transport.set_protocol(protocol)
        else:
            transport = await _secured(transport, protocol, context, server_hostname, req)
        protocol.connection_made(transport)
        return transport, protocol


async def _secured(
    raw: asyncio.WriteTransport,
    protocol: LenientHandler,
    context: ssl.SSLContext,
    server_hostname: str | None,
    req: aiohttp.ClientRequest,
) -> asyncio.WriteTransport:
    secured: asyncio.Transport | None = None
    try:
        secured = await asyncio.get_running_loop().start_tls(raw, protocol, context, server_hostname=server_hostname)
    except ssl.CertificateError as error:
        raise aiohttp.ClientConnectorCertificateError(req.connection_key, error) from error
    except ssl.SSLError as error:
        raise aiohttp.ClientConnectorSSLError(req.connection_key, error) from error
    finally:
        if secured is None:
            raw.abort()
    if secured is None:
        raise aiohttp.ServerDisconnectedError
    return secured
