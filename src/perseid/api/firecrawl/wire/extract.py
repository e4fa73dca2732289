"""How an extraction stands, on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perseid.crawls.extract import ExtractStatus


def extract_state(status: ExtractStatus, *, warnings: Sequence[str] = (), expires_at: str) -> dict[str, Any]:
    """`data` is an empty list until there is any: that is how the contract has it."""
    told: dict[str, Any] = {
        "success": status.state != "failed",
        "data": [] if status.data is None else status.data,
        "status": status.state,
        "expiresAt": expires_at,
    }
    if status.error:
        told["error"] = status.error
    if status.state == "completed":
        told |= {"tokensUsed": status.tokens, "creditsUsed": 1}
    if status.sources:
        told["sources"] = status.sources
    if warnings or status.warnings:
        told["warning"] = " ".join([*warnings, *status.warnings])
    return told
