"""Response headers as text that can be stored: no bytes lost, no lone surrogates."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def read_headers(raw: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[str, str], ...]:
    """Names in lower case; values as UTF-8 where they are, else as Latin-1 (RFC 9110, 5.5).

    Bytes of a Location that aren't UTF-8 are percent-encoded, so that the URL asks for those very bytes.
    """
    try:
        return tuple([(_name(key), value.decode()) for key, value in raw])
    except UnicodeDecodeError:
        return tuple([(name := _name(key), _odd_value(name, value)) for key, value in raw])


def _name(raw: bytes) -> str:
    return _short_name(raw) if len(raw) < 64 else raw.decode("latin-1").lower()


@lru_cache(maxsize=1024)
def _short_name(raw: bytes) -> str:
    return raw.decode("latin-1").lower()


def _odd_value(name: str, raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        if name == "location":
            return "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in raw)
        return raw.decode("latin-1")
