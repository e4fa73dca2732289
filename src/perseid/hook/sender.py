"""One POST to a receiver: exact bytes, signed, no redirect followed, every address judged as it is connected to."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import hmac
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from multidict import CIMultiDict
from yarl import URL

from perseid._version import __version__
from perseid.model.retry_after import parse_retry_after
from perseid.ports.hook import Delivery, Reception

SIGNATURE = "X-Firecrawl-Signature"
_OURS = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect", "keep-alive"}
)
_MOST_READ = 64 * 1024
_PER_RECEIVER = 4

Judge = Callable[[str, str, int], str]
"""(host, address, port) → why it must not be connected to; empty where it may."""
Lookup = Callable[[str], Awaitable[Sequence[tuple[socket.AddressFamily, str]]]]


class _Attempt:
    """What the connector's hooks learn of the attempt they work for."""

    __slots__ = ("fresh", "host", "refused", "trusted")

    def __init__(self, host: str, *, trusted: bool) -> None:
        self.host = host
        self.trusted = trusted
        self.refused = ""
        self.fresh = False


_CURRENT: ContextVar[_Attempt] = ContextVar("perseid_delivery")


class _Resolver(AbstractResolver):
    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host, host=address, port=port, family=kind, proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for kind, address in await self._lookup(host)
            if family in (socket.AF_UNSPEC, kind)
        ]  # fmt: skip

    async def close(self) -> None:
        pass


class Sender:
    """`Hook` over pooled connections; those to receivers that are not judged lie in a pool of their own."""

    def __init__(self, *, judge: Judge, lookup: Lookup, secret: str = "", timeout_s: float = 10.0) -> None:
        self._judge = judge
        self._resolver = _Resolver(lookup)
        self._secret = secret.encode()
        self._timeout_s = timeout_s
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

    async def close(self) -> None:
        sessions, self._sessions = [*self._sessions.values()], {}
        for session in sessions:
            await session.close()
        if sessions:
            # Transports close in a callback of their own: give it its turn.
            await asyncio.sleep(0)

    async def post(self, delivery: Delivery) -> Reception:
        began = time.monotonic_ns()
        try:
            url = URL(delivery.url, encoded=True)
        except ValueError:
            url = URL()
        if url.scheme not in ("http", "https") or not url.raw_host:
            return Reception(None, "the receiver's URL is no web address", 0, hopeless=True)
        attempt = _Attempt(url.raw_host, trusted=delivery.trusted)
        token = _CURRENT.set(attempt)
        try:
            async with asyncio.timeout(self._timeout_s):
                reception = await self._send(url, delivery, attempt)
        except TimeoutError:
            reception = Reception(None, f"no answer within {self._timeout_s:g} s", 0)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            reception = self._failure(error, attempt)
        finally:
            _CURRENT.reset(token)
        return reception._replace(elapsed_us=(time.monotonic_ns() - began) // 1_000)

    def _failure(self, error: Exception, attempt: _Attempt) -> Reception:
        if attempt.refused and not attempt.fresh:
            return Reception(None, f"{attempt.host}: {attempt.refused}", 0, hopeless=True)
        if isinstance(error, aiohttp.InvalidURL):
            return Reception(None, f"{attempt.host} is no host to connect to", 0, hopeless=True)
        # The text of an error may quote the URL, and with it a key.
        kind = type(error).__name__
        reason = error.os_error.strerror if isinstance(error, aiohttp.ClientConnectorError) else None
        return Reception(None, f"{attempt.host} can't be told: {reason or kind}"[:300], 0)

    async def _send(self, url: URL, delivery: Delivery, attempt: _Attempt) -> Reception:
        session = self._session(trusted=delivery.trusted)
        headers = self._headers(delivery)

        async def once() -> aiohttp.ClientResponse:
            return await session.post(url, data=delivery.body, headers=headers, allow_redirects=False)

        try:
            answer = await once()
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if attempt.fresh or attempt.refused:
                raise
            # A kept-alive connection that the receiver had closed meanwhile (RFC 9112, 9.3.1).
            answer = await once()
        await _drain(answer)
        asked = answer.headers.get("Retry-After")
        patience = None if asked is None else parse_retry_after(asked, now_us=time.time_ns() // 1_000)
        error = "" if 200 <= answer.status < 300 else f"the receiver answered {answer.status}"
        if 300 <= answer.status < 400:
            error += "; redirects are not followed, name the address where it really is"
        return Reception(answer.status, error, 0, patience)

    def _headers(self, delivery: Delivery) -> CIMultiDict[str]:
        headers = CIMultiDict({"Content-Type": "application/json", "User-Agent": f"Perseid/{__version__}"})
        for name, value in delivery.headers.items():
            if name.lower() not in _OURS:
                headers[name] = value
        headers.popall(SIGNATURE, None)
        if self._secret:
            headers[SIGNATURE] = f"sha256={hmac.new(self._secret, delivery.body, hashlib.sha256).hexdigest()}"
        return headers

    def _session(self, *, trusted: bool) -> aiohttp.ClientSession:
        session = self._sessions.get(trusted)
        if session is None:
            session = self._sessions[trusted] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    socket_factory=self._open_socket,
                    resolver=self._resolver,
                    use_dns_cache=False,
                    limit=0,
                    limit_per_host=_PER_RECEIVER,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                timeout=aiohttp.ClientTimeout(total=None),
            )
        return session

    def _open_socket(self, address_info: Any) -> socket.socket:
        family, kind, protocol, _, address = address_info
        attempt = _CURRENT.get()
        reason = "" if attempt.trusted else self._judge(attempt.host, address[0], address[1])
        if reason:
            attempt.refused = reason
            raise PermissionError(errno.EACCES, reason)
        attempt.fresh = True
        return socket.socket(family, kind, protocol)


async def _drain(answer: aiohttp.ClientResponse) -> None:
    """Read a short answer, so that the connection can be kept; what it says interests nobody."""
    size = 0
    try:
        async for part in answer.content.iter_any():
            size += len(part)
            if size > _MOST_READ:
                break
    except (aiohttp.ClientError, OSError):
        pass  # the status has been received: that is the answer
    finally:
        if answer.content.at_eof():
            answer.release()
        else:
            answer.close()
