"""The composition root: the only place that constructs adapters and wires them to use cases."""

from __future__ import annotations

from perseid.runtime.client import Client

__all__ = ["Client"]
