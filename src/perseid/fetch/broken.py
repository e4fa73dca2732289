"""What can be wrong with a connection or an answer; stays inside this package (`trouble` makes failures of it)."""

from __future__ import annotations


class ConnectTimeout(TimeoutError):
    """No connection in the time for one."""


class HungUp(Exception):
    """The server closed the connection before it had answered."""


class MalformedHead(Exception):
    """The answer does not begin as HTTP does, or its head is out of bounds."""


class MalformedBody(Exception):
    """The framing of the body makes no sense, as opposed to a body that just ends early."""


class BodyTruncated(Exception):
    """The connection ended in the middle of the body, or properly but the compressed stream inside did not."""


class BodyTooLarge(Exception):
    """The body passed its cap."""


class ProxyRefused(Exception):
    """A proxy can't be reached or did not open the tunnel; not an OSError, which would be taken for the site's."""


class ProxyAnswered(ProxyRefused):
    """An HTTP proxy answered with a refusal of its own."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"{status} {reason}".rstrip())
        self.status = status
