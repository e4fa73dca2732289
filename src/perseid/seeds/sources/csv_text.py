"""Rows of CSV (RFC 4180, and what programs make of it) with the bytes that they take up.

Each physical line is decoded by itself, so that the end of each row is a byte. A row may go over several lines between
quotes.
"""

from __future__ import annotations

import codecs
import csv
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

_MARKS = {
    "utf-8-sig": [(codecs.BOM_UTF8, "utf-8")],
    "utf-8": [(codecs.BOM_UTF8, "utf-8")],
    "utf-16": [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")],
    "utf-32": [(codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be")],
}
_UNMARKED = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}


class Row(NamedTuple):
    """A row, or what is `wrong` with the line where one should begin."""

    values: list[str]
    size: int
    """Bytes, its end of line included."""
    lines: int
    wrong: str = ""


class _Line(NamedTuple):
    text: str | None
    """None where it is not of the encoding."""
    size: int


class _Undecodable(Exception):
    pass


def opened(head: bytes, encoding: str) -> tuple[int, str]:
    """How long the byte order mark is, and in which encoding, none with a mark, lines behind it are written."""
    name = codecs.lookup(encoding).name
    for mark, plain in _MARKS.get(name, ()):
        if head.startswith(mark):
            return len(mark), plain
    return 0, _UNMARKED.get(name, name)


def rows(data: bytes, encoding: str, delimiter: str, *, last: bool) -> Iterator[Row]:
    """The rows that end in `data`, which begins where a row does; all of them where it is the `last` of a file.

    After a line that is no beginning of a row the next one is tried.
    """
    lines = _Lines(_lines(data, encoding, last=last))
    while True:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        while True:
            try:
                values = next(reader)
            except StopIteration:
                return
            except (csv.Error, _Undecodable) as error:
                if _unfinished(error) and not last:
                    return
                said = f"it is not written in {encoding}" if isinstance(error, _Undecodable) else str(error)
                yield Row([], lines.give_back().size, 1, said)
                break
            yield Row(values, *lines.taken())


class _Lines:
    """Lines for the reader of rows, which takes no more than it needs, and what it took for its row."""

    def __init__(self, source: Iterator[_Line]) -> None:
        self._source = source
        self._again: deque[_Line] = deque()
        self._row: list[_Line] = []

    def __iter__(self) -> Iterator[str]:
        while True:
            line = self._again.popleft() if self._again else next(self._source, None)
            if line is None:
                return
            self._row.append(line)
            if line.text is None:
                raise _Undecodable
            yield line.text

    def taken(self) -> tuple[int, int]:
        """Bytes and lines of the row that has just ended."""
        row, self._row = self._row, []
        return sum(line.size for line in row), len(row)

    def give_back(self) -> _Line:
        """The first line of the row, the others being read again."""
        first, *others = self._row
        self._again.extendleft(reversed(others))
        self._row = []
        return first


def _unfinished(error: Exception) -> bool:
    return str(error) == "unexpected end of data"


def first_line(data: bytes, encoding: str) -> int:
    """Bytes of the first line, or of all of it where none ends."""
    end = _end_of_line(data, 0, "\n".encode(encoding))
    return end if end > 0 else len(data)


def _lines(data: bytes, encoding: str, *, last: bool) -> Iterator[_Line]:
    newline = "\n".encode(encoding)
    at = 0
    while at < len(data):
        end = _end_of_line(data, at, newline)
        if end < 0:
            if not last:
                return
            end = len(data)
        try:
            text: str | None = data[at:end].decode(encoding)
        except UnicodeDecodeError:
            text = None
        yield _Line(text, end - at)
        at = end


def _end_of_line(data: bytes, at: int, newline: bytes) -> int:
    """One past the newline, which begins at a whole character; -1 where there is none."""
    width = len(newline)
    end = data.find(newline, at)
    while end >= 0 and (end - at) % width:
        end = data.find(newline, end + 1)
    return end + width if end >= 0 else -1
