"""API keys: made here, known to the store by their SHA-256 only."""

from __future__ import annotations

import hashlib
import secrets

PREFIX = "fc-"
"""Clients of the Firecrawl API expect it."""
_HINT = len(PREFIX) + 6


def new_key() -> str:
    """128 random bits: nothing to gain by guessing, so a plain hash is enough at rest."""
    return PREFIX + secrets.token_hex(16)


def digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def hint(key: str) -> str:
    """The part that may be shown."""
    return key[:_HINT]
