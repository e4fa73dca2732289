"""Under which terms a crawl runs: for whom, how long it is kept, who is told. Beside its options, not among them."""

from __future__ import annotations

from enum import IntFlag
from typing import Any

import msgspec

DEFAULT_TEAM = 1


class EventKind(IntFlag):
    """What a crawl tells the outside; a set of them is what somebody wants to be told."""

    STARTED = 1
    PAGE = 2
    COMPLETED = 4
    FAILED = 8
    CANCELLED = 16


LAST_EVENTS = EventKind.COMPLETED | EventKind.FAILED | EventKind.CANCELLED
"""A crawl has one of these, after all its other events."""


class Webhook(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who is told of a crawl's events, as its caller asked for it."""

    url: str
    headers: dict[str, str] = {}
    metadata: dict[str, str] = {}
    """Echoed in every event."""
    events: int = int(EventKind.STARTED | EventKind.PAGE | EventKind.COMPLETED | EventKind.FAILED)
    version: str = "v2"
    """The API version whose documents the receiver expects."""


class Terms(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the caller agreed with us, kept with the crawl as JSON."""

    team: int = DEFAULT_TEAM
    ttl_s: float | None = None
    """From its end until it is pruned; None keeps it until asked."""
    webhook: Webhook | None = None
    zero_retention: bool = False
    """Erase URLs and bodies once delivered, an hour after the end at the latest."""
    remember_urls: bool = False
    """Pages that are there enter the team's index of known URLs."""
    recall_urls: bool = False
    """That index feeds the kickoff, through the crawl's own filters."""
    idempotency_key: str | None = None
    warnings: tuple[str, ...] = ()
    """What the caller is to be told with the result."""
    request: dict[str, Any] = {}
    """The caller's own words, for listings."""
