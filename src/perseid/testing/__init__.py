"""What we test with, for users to test with: a scriptable web site and a clock that stands still.

Nothing shipped imports this package, and it needs nothing but the standard library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perseid.testing.answer import Answer, Request, compress, zip_bomb
    from perseid.testing.clock import FakeClock
    from perseid.testing.site import Site, in_thread

__all__ = ["Answer", "FakeClock", "Request", "Site", "compress", "in_thread", "zip_bomb"]

_HOMES = {
    "Answer": "answer",
    "FakeClock": "clock",
    "Request": "answer",
    "Site": "site",
    "compress": "answer",
    "in_thread": "site",
    "zip_bomb": "answer",
}


def __getattr__(name: str) -> object:
    # Lazily, so that `python -m perseid.testing.site` doesn't load its module twice.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
