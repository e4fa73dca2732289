"""The arithmetic of table spans, apart from any tree."""

from __future__ import annotations

from typing import NamedTuple

_MOST_COLUMNS = 200
_MOST_PLACES = 100_000


class Cell(NamedTuple):
    """The spans of one cell as written; a row span of 0 goes to the last row (WHATWG HTML 4.9.11)."""

    columns: int
    rows: int


PLAIN = Cell(1, 1)

Place = tuple[int, int]
"""Row and position in that row of the cell that a place of the grid belongs to."""


class _Reach(NamedTuple):
    """A cell that spans rows, as one of its columns sees it: down to which row, and what to show there."""

    last: int
    place: Place | None


def fill(rows: list[list[Cell]]) -> list[list[Place | None]] | None:
    """For each row its places from left to right: a cell of some row, or None for an empty one.

    A cell stands at its first place only; places to its right that it spans are empty, those below are its
    own again. All rows come out equally long. None for a table too large to be one.
    """
    width = _width(rows)
    if not width or width > _MOST_COLUMNS or width * len(rows) > _MOST_PLACES:
        return None
    below: list[_Reach | None] = [None] * width
    return [_placed(row, number, below, len(rows)) for number, row in enumerate(rows)]


def _placed(row: list[Cell], number: int, below: list[_Reach | None], height: int) -> list[Place | None]:
    """The places of one row; `below` is what reaches down into it, and is brought up to date."""
    width = len(below)
    size = len(row)
    if size <= width and row == [PLAIN] * size and not any(reach and reach.last >= number for reach in below):
        return in_order(number, size, width)
    hanging = [reach if reach is not None and reach.last >= number else None for reach in below]
    places = [None if reach is None else reach.place for reach in hanging]
    taken = [reach is not None for reach in hanging]
    column = 0
    for position, cell in enumerate(row):
        while column < width and taken[column]:
            column += 1
        if column >= width:
            break
        last = height if cell.rows == 0 else number + cell.rows - 1
        places[column] = (number, position)
        for offset in range(min(max(cell.columns, 1), width - column)):
            if offset and taken[column + offset]:
                break
            taken[column + offset] = True
            if last > number:
                below[column + offset] = _Reach(last, None if offset else (number, position))
        column += 1
    return places


def in_order(number: int, size: int, width: int) -> list[Place | None]:
    """The places of a row whose cells stand at its start, with nothing beside them."""
    return [*((number, position) for position in range(size)), *[None] * (width - size)]


def _width(rows: list[list[Cell]]) -> int:
    """Columns of the table; a single cell that spans "all" columns by a large number makes none."""
    several = [_row_width(row) for row in rows if len(row) > 1]
    if not several:
        return max((min(cell.columns, 8) for row in rows for cell in row), default=0) and 1
    natural = max(several)
    return _with_row_spans(rows, natural)


def _row_width(row: list[Cell]) -> int:
    return sum(max(cell.columns, 1) for cell in row)


def _with_row_spans(rows: list[list[Cell]], natural: int) -> int:
    """The widest row, cells that reach down from above included."""
    width = natural
    open_spans: list[tuple[int, int]] = []
    for number, row in enumerate(rows):
        if not open_spans and row == [PLAIN] * len(row):
            width = max(width, len(row))
            continue
        open_spans = [(last, columns) for last, columns in open_spans if last >= number]
        own = _row_width(row) if len(row) > 1 else sum(min(max(cell.columns, 1), natural) for cell in row)
        hanging = sum(columns for _, columns in open_spans)
        if len(row) > 1 or not row or row[0].columns == 1:
            width = max(width, own + hanging)
        for cell in row:
            if cell.rows != 1:
                last = len(rows) if cell.rows == 0 else number + cell.rows - 1
                open_spans.append((last, min(max(cell.columns, 1), natural)))
    return width


def is_number_run(text: str) -> bool:
    """Line numbers: nothing but digits and white space, or nothing at all."""
    digits = "".join(text.split())
    return not digits or (digits.isdecimal() and digits.isascii())
