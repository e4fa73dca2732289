"""Asking a SOCKS5 proxy for a tunnel (RFC 1928, RFC 1929), on a socket that is connected to it."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv4Address, ip_address
from typing import TYPE_CHECKING

from perseid.fetch.broken import ProxyRefused

if TYPE_CHECKING:
    from perseid.fetch.proxy import Proxy

_NO_METHOD = 0xFF
_PASSWORD = 2
_REFUSALS = {
    1: "general failure",
    2: "not allowed by its rules",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "expired",
    7: "command not supported",
    8: "kind of address not supported",
}


async def open_tunnel(link: socket.socket, proxy: Proxy, host: str, port: int) -> None:
    """Afterwards the socket leads to `host`, a name or an address. Raises `ProxyRefused`."""
    talk = _Talk(link)
    methods = b"\0" if proxy.username is None else b"\0\2"
    version, method = await talk.exchange(b"\5%c%b" % (len(methods), methods), 2)
    if version != 5 or method == _NO_METHOD:
        raise ProxyRefused("it is no SOCKS5 proxy, or wants credentials")
    if method == _PASSWORD:
        user, password = (proxy.username or "").encode(), (proxy.password or "").encode()
        if not (0 < len(user) < 256 and len(password) < 256):
            raise ProxyRefused("the credentials are too long for it")
        _, status = await talk.exchange(b"\1%c%b%c%b" % (len(user), user, len(password), password), 2)
        if status:
            raise ProxyRefused("it wants other credentials")
    elif method:
        raise ProxyRefused("it is no SOCKS5 proxy, or wants credentials")
    reply = await talk.exchange(b"\5\1\0%b%b" % (_address(host), port.to_bytes(2, "big")), 4)
    if reply[1]:
        raise ProxyRefused(f"it answered {reply[1]}: {_REFUSALS.get(reply[1], 'unknown')}")
    # The address it connects from is of no use, but must be read past.
    size = {1: 4, 4: 16}.get(reply[3])
    if size is None:
        (size,) = await talk.exchange(b"", 1)
    await talk.exchange(b"", size + 2)


def _address(host: str) -> bytes:
    try:
        address = ip_address(host)
    except ValueError:
        name = host.encode()
        if len(name) > 255:
            raise ProxyRefused(f"the name {host[:40]}… is too long for it") from None
        return b"\3%c%b" % (len(name), name)
    return (b"\1" if isinstance(address, IPv4Address) else b"\4") + address.packed


class _Talk:
    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._loop = asyncio.get_running_loop()

    async def exchange(self, question: bytes, size: int) -> bytes:
        """Say something, and read an answer of `size` bytes and not one more: behind it the site speaks."""
        if question:
            await self._loop.sock_sendall(self._link, question)
        answer = b""
        while len(answer) < size:
            data = await self._loop.sock_recv(self._link, size - len(answer))
            if not data:
                raise ProxyRefused("it closed the connection")
            answer += data
        return answer
