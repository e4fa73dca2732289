"""Public ids: UUID version 7 (RFC 9562, 5.7), which sort by the time they were made."""

from __future__ import annotations

import secrets
import time
from uuid import UUID


def new_uid() -> str:
    stamp = time.time_ns() // 1_000_000
    number = (stamp & (1 << 48) - 1) << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    return str(UUID(int=number))
