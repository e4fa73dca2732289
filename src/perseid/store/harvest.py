"""How a kept page lies in its row, and items by the minute, in either database."""

from __future__ import annotations

PAGE_COLUMNS = ("final_url", "status", "kind", "list_page", "headers", "body")
"""Of `site_page`: the page itself, as `perseid.ports.items.KeptPage` has it."""
_MINUTE_US = 60_000_000


def minute_of(at: int) -> int:
    """Of an instant in µs."""
    return at // _MINUTE_US
