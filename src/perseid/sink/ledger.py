"""The lists beside the pages: refused URLs and failed pages, one JSON object a line, replaced whole."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import orjson

from perseid.sink.place import disk_trouble

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from perseid.ports.inspect import DeniedRow, FailureRow


async def write_skipped(path: Path, rows: AsyncIterator[DeniedRow]) -> int:
    """url, reason, message, referrer; the number of lines."""
    return await _write(path, (_skipped(row) async for row in rows))


async def write_failed(path: Path, rows: AsyncIterator[FailureRow]) -> int:
    """url, code, message, status, attempts, referrer; the number of lines."""
    return await _write(path, (_failed(row) async for row in rows))


def _skipped(row: DeniedRow) -> dict[str, object]:
    return {"url": row.url, "reason": row.reason, "message": row.message, "referrer": row.referrer}


def _failed(row: FailureRow) -> dict[str, object]:
    return {
        "url": row.url,
        "code": row.code,
        "message": row.message,
        "status": row.status,
        "attempts": row.attempts,
        "referrer": row.referrer,
    }


async def _write(path: Path, rows: AsyncIterator[dict[str, object]]) -> int:
    """The old list stays until the new one is complete. Raises `StoreUnavailable` on a full disk."""
    partial = path.with_name(path.name + ".part")
    count = 0
    try:
        with partial.open("wb", buffering=1024 * 1024) as file:
            async for row in rows:
                file.write(_line(row))
                count += 1
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise disk_trouble(path, error) from None
    return count


def _line(row: dict[str, object]) -> bytes:
    try:
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:  # a lone surrogate in a URL as it stood on a page
        mended = {
            name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
            for name, value in row.items()
        }
        return orjson.dumps(mended, option=orjson.OPT_APPEND_NEWLINE)
