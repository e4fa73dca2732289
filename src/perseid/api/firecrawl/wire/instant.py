"""Instants as the wire has them: ISO 8601 in UTC with milliseconds and a Z."""

from __future__ import annotations

from datetime import UTC, datetime


def iso(at_us: int) -> str:
    """An instant in microseconds since the epoch.

    >>> iso(1_700_000_000_123_456)
    '2023-11-14T22:13:20.123Z'
    """
    at = datetime.fromtimestamp(at_us // 1_000_000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at_us % 1_000_000 // 1000:03d}Z"


def iso_seconds(at_us: int) -> str:
    """With the milliseconds at zero."""
    return iso(at_us // 1_000_000 * 1_000_000)
