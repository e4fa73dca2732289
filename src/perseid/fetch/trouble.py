"""Sort what can go wrong into the closed set of failure codes, in sentences for people."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING

from perseid.fetch.broken import (
    BodyTooLarge,
    BodyTruncated,
    ConnectTimeout,
    HungUp,
    MalformedBody,
    MalformedHead,
    ProxyAnswered,
    ProxyRefused,
)
from perseid.fetch.inflate import CorruptBody
from perseid.fetch.proxy import mask_proxy
from perseid.model.verdict import FailureCode

if TYPE_CHECKING:
    from perseid.fetch.exchange import Exchange
    from perseid.ports.fetch import FetchFailure

EXPECTED = (
    OSError,  # TimeoutError and ssl.SSLError too
    ValueError,
    HungUp,
    MalformedHead,
    MalformedBody,
    ProxyRefused,
    CorruptBody,
    BodyTooLarge,
    BodyTruncated,
)
"""Everything that a hostile or broken server, proxy or URL is known to provoke."""

# The first kind that fits decides.
_TROUBLE: tuple[tuple[type[BaseException], FailureCode, bool, str], ...] = (
    (BodyTooLarge, FailureCode.TOO_LARGE, False, "{cause}"),
    (BodyTruncated, FailureCode.TRUNCATED, True, "{cause}"),
    (CorruptBody, FailureCode.BAD_RESPONSE, True, "{cause}"),
    (MalformedBody, FailureCode.BAD_RESPONSE, True, "the body is not valid HTTP: {cause}"),
    (MalformedHead, FailureCode.BAD_RESPONSE, True, "the answer is not valid HTTP: {cause}"),
    (HungUp, FailureCode.CONNECTION, True, "{host} closed the connection without an answer"),
    (ConnectTimeout, FailureCode.TIMEOUT, True, "no connection to {host} in time"),
    (TimeoutError, FailureCode.TIMEOUT, True, "not finished within {timeout_s:g} s"),
    (socket.gaierror, FailureCode.DNS, True, "the name {host} can't be resolved: {cause}"),
    (ssl.CertificateError, FailureCode.TLS, False, "the certificate of {host} is refused: {cause}"),
    (ssl.SSLError, FailureCode.TLS, True, "TLS with {host} failed: {cause}"),
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
    if exchange.refused and isinstance(error, OSError) and not isinstance(error, TimeoutError):
        return FailureCode.BLOCKED_ADDRESS, False, f"{exchange.host}: {exchange.refused}"
    if isinstance(error, ProxyRefused):
        return FailureCode.PROXY, True, _proxy_message(error, exchange)
    cause = _cause(error)
    for kind, code, retryable, sentence in _TROUBLE:
        if isinstance(error, kind):
            known_dead = isinstance(error, socket.gaierror) and error.errno in _NO_SUCH_NAME
            message = sentence.format(host=exchange.host, cause=cause, timeout_s=timeout_s)
            return code, retryable and not known_dead, message
    return FailureCode.CONNECTION, True, f"connection to {exchange.host} lost: {cause}"


def _proxy_message(error: ProxyRefused, exchange: Exchange) -> str:
    name = mask_proxy(exchange.proxy or "")
    if isinstance(error, ProxyAnswered):
        return f"proxy {name} answered {_one_line(str(error))}"
    return f"proxy {name} failed: {_cause(error)}"


def _cause(error: BaseException) -> str:
    return _one_line(str(getattr(error, "strerror", None) or str(error) or type(error).__name__))


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:297] + "..."
