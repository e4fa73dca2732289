"""Sort what a client library raises into the closed set of failure codes, in sentences for people."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING

import aiohttp

from perseid.fetch.body import BodyTooLarge, BodyTruncated
from perseid.fetch.inflate import CorruptBody
from perseid.fetch.mend import MalformedBody
from perseid.fetch.proxy import ProxyRefused, mask_proxy
from perseid.model.verdict import FailureCode

if TYPE_CHECKING:
    from perseid.fetch.exchange import Exchange
    from perseid.ports.fetch import FetchFailure

EXPECTED = (
    aiohttp.ClientError,
    OSError,  # TimeoutError and ssl.SSLError too
    EOFError,  # IncompleteReadError of a tunnel that closes early
    ValueError,
    ProxyRefused,
    CorruptBody,
    BodyTooLarge,
    BodyTruncated,
)
"""Everything that a hostile or broken server, proxy or URL is known to provoke."""

_PROXY_ERRORS = (
    ProxyRefused,
    aiohttp.ClientProxyConnectionError,
    aiohttp.ClientHttpProxyError,
)
# The first kind that fits decides.
_TROUBLE: tuple[tuple[type[BaseException], FailureCode, bool, str], ...] = (
    (BodyTooLarge, FailureCode.TOO_LARGE, False, "{cause}"),
    (BodyTruncated, FailureCode.TRUNCATED, True, "{cause}"),
    (CorruptBody, FailureCode.BAD_RESPONSE, True, "{cause}"),
    (MalformedBody, FailureCode.BAD_RESPONSE, True, "the body is not valid HTTP: {cause}"),
    (aiohttp.ClientPayloadError, FailureCode.TRUNCATED, True, "the body ended early: {cause}"),
    (aiohttp.ClientResponseError, FailureCode.BAD_RESPONSE, True, "the answer is not valid HTTP: {cause}"),
    (aiohttp.ConnectionTimeoutError, FailureCode.TIMEOUT, True, "no connection to {host} in time"),
    (TimeoutError, FailureCode.TIMEOUT, True, "not finished within {timeout_s:g} s"),
    (aiohttp.ClientConnectorDNSError, FailureCode.DNS, True, "the name {host} can't be resolved: {cause}"),
    (socket.gaierror, FailureCode.DNS, True, "the name {host} can't be resolved: {cause}"),
    (
        aiohttp.ClientConnectorCertificateError,
        FailureCode.TLS,
        False,
        "the certificate of {host} is refused: {cause}",
    ),
    (ssl.CertificateError, FailureCode.TLS, False, "the certificate of {host} is refused: {cause}"),
    (aiohttp.ClientSSLError, FailureCode.TLS, True, "TLS with {host} failed: {cause}"),
    (ssl.SSLError, FailureCode.TLS, True, "TLS with {host} failed: {cause}"),
    (aiohttp.ClientConnectorError, FailureCode.CONNECTION, True, "can't connect to {host}: {cause}"),
    (
        aiohttp.ServerDisconnectedError,
        FailureCode.CONNECTION,
        True,
        "{host} closed the connection without an answer",
    ),
    (aiohttp.InvalidURL, FailureCode.BLOCKED_ADDRESS, False, "{host} is no host to connect to"),
    (OSError, FailureCode.CONNECTION, True, "connection to {host} lost: {cause}"),
    (ValueError, FailureCode.INTERNAL, False, "the request can't be sent: {cause}"),
)
_NO_SUCH_NAME = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


def failure_of(error: BaseException, exchange: Exchange, *, timeout_s: float) -> FetchFailure:
    """The failure that an exception of `EXPECTED` stands for."""
    code, retryable, message = _sort(error, exchange, timeout_s)
    if exchange.proxy:
        message = message.replace(exchange.proxy, mask_proxy(exchange.proxy))
    return exchange.failure(code, message, retryable=retryable)


def _sort(error: BaseException, exchange: Exchange, timeout_s: float) -> tuple[FailureCode, bool, str]:
    if exchange.refused and isinstance(error, aiohttp.ClientConnectorError | PermissionError):
        return FailureCode.BLOCKED_ADDRESS, False, f"{exchange.host}: {exchange.refused}"
    if isinstance(error, _PROXY_ERRORS):
        return FailureCode.PROXY, True, _proxy_message(error, exchange)
    cause = _cause(error)
    for kind, code, retryable, sentence in _TROUBLE:
        if isinstance(error, kind):
            known_dead = code is FailureCode.DNS and _errno(error) in _NO_SUCH_NAME
            message = sentence.format(host=exchange.host, cause=cause, timeout_s=timeout_s)
            return code, retryable and not known_dead, message
    return FailureCode.CONNECTION, True, f"connection to {exchange.host} lost: {cause}"


def _proxy_message(error: BaseException, exchange: Exchange) -> str:
    name = mask_proxy(exchange.proxy or "")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"proxy {name} answered {error.status} {_one_line(error.message)}".rstrip()
    return f"proxy {name} failed: {_cause(error)}"


def _errno(error: BaseException) -> int | None:
    inner = getattr(error, "os_error", error)
    return inner.errno if isinstance(inner, OSError) else None


def _cause(error: BaseException) -> str:
    """The innermost reason, without the library's decoration."""
    inner = getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error
    text = getattr(inner, "strerror", None) or getattr(inner, "message", None) or str(inner) or type(inner).__name__
    return _one_line(str(text))


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:297] + "..."
