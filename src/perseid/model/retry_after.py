"""Retry-After (RFC 9110, 10.2.3) in both of its forms. Pure: the current time is an argument."""

from __future__ import annotations

import re
from datetime import UTC

from perseid.pattern import later

MAX_RETRY_AFTER_S = 3600.0
_DELTA = later(r"\+?[0-9]{1,18}(?:\.[0-9]{0,9})?", re.ASCII)


def parse_retry_after(value: str | None, *, now_us: int, cap_s: float = MAX_RETRY_AFTER_S) -> float | None:
    """Seconds to wait, at most `cap_s`; `None` where the default back-off is due.

    That is: no header, a negative delta, a date that has passed, or something that is neither.
    """
    text = (value or "").strip()
    if _DELTA.fullmatch(text):
        return min(float(text), cap_s)
    if not text or len(text) > 64 or text[0] in "+-0123456789":
        return None
    from email.utils import parsedate_to_datetime  # noqa: PLC0415  start-up time, and few send dates

    try:
        when = parsedate_to_datetime(text)
        at_us = int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1_000_000)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    wait_s = (at_us - now_us) / 1_000_000
    return min(wait_s, cap_s) if wait_s > 0 else None
