"""What is known of one exchange while it runs, so that a failure can say it all."""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import TYPE_CHECKING

from aiohttp import ClientOSError

from perseid.ports.fetch import FetchFailure

if TYPE_CHECKING:
    from aiohttp.client_proto import ResponseHandler

    from perseid.model.verdict import FailureCode


class Exchange:
    """Mutable and short-lived: the connector's hooks and the reader write here what they learn."""

    __slots__ = ("fresh", "host", "named", "private", "proxy", "refused", "started_ns", "status", "unframed", "url")

    def __init__(self, url: str) -> None:
        self.url = url
        self.host = ""
        self.named = False
        """The user or the operator's list named this very host."""
        self.proxy: str | None = None
        """The proxy's URL as configured, credentials included: only for masking."""
        self.fresh = False
        """A connection was opened for this exchange, rather than taken from the pool."""
        self.refused = ""
        """Why the guard refused an address."""
        self.private = False
        self.status: int | None = None
        self.unframed: ResponseHandler | None = None
        """The connection, where its end alone marks the end of the body."""
        self.started_ns = time.monotonic_ns()

    def elapsed_us(self) -> int:
        return (time.monotonic_ns() - self.started_ns) // 1000

    def was_reset(self) -> bool:
        """The end of an unframed body was an abort: what came before may be half of it."""
        return self.unframed is not None and isinstance(self.unframed.exception(), ClientOSError)

    def failure(self, code: FailureCode, message: str, *, retryable: bool) -> FetchFailure:
        """`message` may quote the server: whatever can't be printed or stored is escaped."""
        if not message.isprintable():
            message = "".join([each if each.isprintable() else ascii(each)[1:-1] for each in message])
        return FetchFailure(
            url=self.url,
            code=code,
            message=message,
            retryable=retryable,
            status=self.status,
            private=self.private,
            elapsed_us=self.elapsed_us(),
        )


CURRENT: ContextVar[Exchange] = ContextVar("perseid_exchange")
"""The exchange of this task; inherited by the tasks that race to connect (RFC 8305)."""
