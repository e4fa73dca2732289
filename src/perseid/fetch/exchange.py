"""What is known of one exchange while it runs, so that a failure can say it all."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from perseid.ports.fetch import FetchFailure

if TYPE_CHECKING:
    from perseid.model.verdict import FailureCode


class Exchange:
    """Mutable and short-lived: whoever connects and reads writes here what it learns."""

    __slots__ = ("host", "named", "private", "proxy", "refused", "started_ns", "status", "url")

    def __init__(self, url: str) -> None:
        self.url = url
        self.host = ""
        self.named = False
        """The user or the operator's list named this very host."""
        self.proxy: str | None = None
        """The proxy's URL as configured, credentials included: only for masking."""
        self.refused = ""
        """Why the guard refused an address."""
        self.private = False
        self.status: int | None = None
        self.started_ns = time.monotonic_ns()

    def elapsed_us(self) -> int:
        return (time.monotonic_ns() - self.started_ns) // 1000

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
