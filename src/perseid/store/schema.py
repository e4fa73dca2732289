"""Values with a meaning of their own in the columns of both databases, and the text that both take."""

from __future__ import annotations

UNLIMITED = 1 << 40
"""`max_active` without a limit."""
PAUSED = 2
"""`queue.closed` while the crawl is paused; 1 once it has ended."""
GOING = 2
"""`crawl.swept`: the crawl is being pruned, and nobody sees it any more."""
FOREVER = 1 << 62
"""`host.paused_until`: until told otherwise."""
EVER = (1 << 62) - 1
"""`outbox.due_at` of a crawl's last event: not before all others have left."""
ERASED_AFTER_US = 3_600_000_000
"""How long a crawl under zero retention waits for its caller, from its end."""
GRACE_US = 60_000_000
"""From delivery to erasure: a caller whose connection broke may ask once more."""
COUNTED, BY_SITEMAP = 1, 2
"""Flags of a row in `url`: it takes a place in the limit; a sitemap named it."""


def clean(text: str) -> str:
    """Text a database takes: lone surrogates become U+FFFD, U+0000 goes."""
    if text.isascii():
        return text.replace("\0", "") if "\0" in text else text
    return text.encode("utf-8", "replace").decode().replace("\0", "")
