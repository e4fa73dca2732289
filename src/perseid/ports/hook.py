"""Telling somebody outside: one POST to a receiver."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Delivery(NamedTuple):
    """What is to be sent, byte for byte."""

    url: str
    headers: dict[str, str]
    body: bytes
    trusted: bool = False
    """The operator's own receiver: its address is not judged."""


class Reception(NamedTuple):
    """What became of it: the receiver's status, or why there was none."""

    status: int | None
    error: str
    elapsed_us: int
    retry_after_s: float | None = None
    hopeless: bool = False
    """It would be no use to try again: the address is not allowed, or is none."""
    unsent: bool = False
    """Nothing was sent, and the receiver is not to blame."""

    @property
    def accepted(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def away(self) -> bool:
        """The receiver as such has trouble, whatever it is sent."""
        if self.status is None:
            return not (self.hopeless or self.unsent)
        return self.status in (408, 429) or self.status >= 500


class Hook(Protocol):
    async def post(self, delivery: Delivery) -> Reception:
        """Send it once; trouble comes back as a value, never as an exception."""
        ...

    async def close(self) -> None: ...
