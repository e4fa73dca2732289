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


Row = int | list[Place | None]
"""A row's places from left to right, or of how many empty ones its cells, all plain, are followed."""


def fill(rows: list[list[Cell]]) -> list[list[Place | None]] | None:
    """For each row its places from left to right: a cell of some row, or None for an empty one.

    A cell stands at its first place only; places to its right that it spans are empty, those below are its
    own again. All rows come out equally long. None for a table too large to be one.
    """
    found = plan(rows)
    if found is None:
        return None
    return [
        in_order(number, len(row), len(row) + places) if isinstance(places, int) else places
        for number, (row, places) in enumerate(zip(rows, found, strict=True))
    ]


def plan(rows: list[list[Cell]]) -> list[Row] | None:
    """`fill` in short: most rows have nothing that spans, and nothing reaches into them."""
    width = _width(rows)
    height = len(rows)
    if not width or width > _MOST_COLUMNS or width * height > _MOST_PLACES:
        return None
    below: list[_Reach | None] = [None] * width
    deepest = -1
    out: list[Row] = []
    for number, row in enumerate(rows):
        if deepest < number and row.count(PLAIN) == len(row) <= width:
            out.append(width - len(row))
            continue
        out.append(_placed(row, number, below, height))
        deepest = max([reach.last for reach in below if reach is not None], default=-1)
    return out


def _placed(row: list[Cell], number: int, below: list[_Reach | None], height: int) -> list[Place | None]:
    """The places of one row; `below` is what reaches down into it, and is brought up to date."""
    if row.count(PLAIN) == len(row):
        return _between(len(row), number, below)
    width = len(below)
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


def _between(size: int, number: int, below: list[_Reach | None]) -> list[Place | None]:
    """The places of a row of so many plain cells, which stand where nothing reaches down."""
    own = iter([(number, position) for position in range(size)])
    return [reach.place if reach is not None and reach.last >= number else next(own, None) for reach in below]


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
    return len(row) if row.count(PLAIN) == len(row) else sum([max(cell.columns, 1) for cell in row])


def _with_row_spans(rows: list[list[Cell]], natural: int) -> int:
    """The widest row, cells that reach down from above included."""
    width = natural
    open_spans: list[tuple[int, int]] = []
    for number, row in enumerate(rows):
        plain = row.count(PLAIN) == len(row)
        if open_spans:
            open_spans = [(last, columns) for last, columns in open_spans if last >= number]
        own = _row_width(row) if plain or len(row) > 1 else min(max(row[0].columns, 1), natural)
        if plain or len(row) > 1 or row[0].columns == 1:
            width = max(width, own + sum([columns for _, columns in open_spans]))
        if not plain:
            reaches = [cell for cell in row if cell.rows != 1]
            open_spans += [
                (number + cell.rows - 1 if cell.rows else len(rows), min(max(cell.columns, 1), natural))
                for cell in reaches
            ]
    return width


def is_number_run(text: str) -> bool:
    """Line numbers: nothing but digits and white space, or nothing at all."""
    digits = "".join(text.split())
    return not digits or (digits.isdecimal() and digits.isascii())
