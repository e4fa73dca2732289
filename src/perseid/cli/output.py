"""stdout and stderr: UTF-8 whatever the locale, no control characters on a terminal, no traceback on `| head`."""

from __future__ import annotations

import os
import re
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn

from perseid.cli.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# All controls but tab and line feed, and the marks that reorder text: pages must not drive the terminal.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Text that can't drive a terminal."""
    return _CONTROL.sub("\ufffd", text)


def emit(data: str | bytes, end: bytes = b"\n") -> None:
    """Write data to stdout."""
    try:
        if sys.stdout.isatty():
            data = printable(data.decode("utf-8", "replace") if isinstance(data, bytes) else data)
        raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
        sys.stdout.buffer.write(raw + end)
    except BrokenPipeError:
        reader_left()


def flush() -> None:
    """Make sure that stdout took everything; to be called before the end."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        reader_left()


def reader_left() -> NoReturn:
    """The reader of stdout is gone: end quietly, and keep the interpreter from flushing into the void."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(Exit.PIPE)


def say(text: str = "") -> None:
    """One line of talk on stderr; a stderr that is gone is no reason to fail."""
    try:
        sys.stderr.write(printable(text) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return
    except UnicodeEncodeError:
        sys.stderr.write(printable(text).encode("ascii", "backslashreplace").decode() + "\n")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Columns of text; the last one is not padded, so that it may be as long as it likes."""
    lines = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header) - 1)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]).rstrip()
        for line in lines
    ]


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 page`, `1,200 pages`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def when(micros: int) -> str:
    """µs since the epoch as `2025-06-01T12:00:00Z`."""
    return datetime.fromtimestamp(micros / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def emit_json(value: Any) -> None:
    """Anything that JSON holds, structs among it, as one line on stdout."""
    import msgspec  # noqa: PLC0415  start-up time

    emit(msgspec.json.encode(value))


def duration(seconds: float) -> str:
    """`0.8 s`, `12 s`, `3 min 4 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
