"""Fields as columns: which ones a batch needs, which are missing, and what doesn't fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from perseid.ports.sink import SinkFailure
from perseid.sink import naming
from perseid.sink.fitting import Fit, Kind, Unfit, is_price, kind_of
from perseid.sink.rows import UNFIT, Row

MOST_COLUMNS = 1_000
"""Beyond, values go to `unfit`: engines end somewhere above, and nobody reads such a table."""


class Arranged(NamedTuple):
    """`cells` has one mapping of column to value for each row, `missing` the columns to be made first."""

    cells: list[dict[str, Any]]
    missing: dict[str, Kind]
    notes: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """All that any of the rows has, in the order they came up."""
        return list(dict.fromkeys(name for row in self.cells for name in row))


class Arranger:
    """Arranges the rows of one table. `columns` says what each column takes, `fits` what those to be made will take."""

    def __init__(
        self,
        columns: Mapping[str, Fit],
        fits: Callable[[Kind], Fit],
        *,
        create: bool,
        fold: Callable[[str], str] = str,
    ) -> None:
        self._columns = {fold(name): (name, fit) for name, fit in columns.items()}
        self._fits = fits
        self._create = create
        self._fold = fold
        self._missing: dict[str, Kind] = {}
        self._homeless: dict[str, int] = {}
        self._can_say = fold(UNFIT) in self._columns

    def arrange(self, rows: Sequence[Row]) -> Arranged:
        """Raises `SinkFailure` for columns that are missing and may not be made."""
        cells = [self._row(row) for row in rows]
        if self._missing and not self._create:
            names = ", ".join(self._missing)
            raise SinkFailure(
                f"the table has no column {names}: add it, set `create` of the sink, or name other `fields` in it",
                lasting=True,
            )
        notes = tuple(
            f"{count} values of {name} don't fit their column and were left out; add a column {UNFIT} to keep such"
            for name, count in self._homeless.items()
        )
        return Arranged(cells, self._missing, notes)

    def _row(self, row: Row) -> dict[str, Any]:
        cells: dict[str, Any] = {}
        unfit = dict(row.aside)
        for name, value in row.fields.items():
            parts = self._parts(name, value)
            fitted = self._fitted(parts, cells)
            if fitted is None:
                unfit[name] = value
            else:
                cells.update(fitted)
        if unfit and self._can_say:
            cells[UNFIT] = self._columns[self._fold(UNFIT)][1](unfit)
        elif unfit:
            for name in unfit:
                self._homeless[name] = self._homeless.get(name, 0) + 1
        return cells

    def _parts(self, name: str, value: Any) -> dict[str, tuple[Any, Kind]]:
        """A price is two columns, unless the table has one for it."""
        whole = naming.column(name)
        if is_price(value):
            amount, currency = naming.column(name, "_amount"), naming.column(name, "_currency")
            if self._fold(amount) in self._columns or (self._create and self._fold(whole) not in self._columns):
                parts: dict[str, tuple[Any, Kind]] = {amount: (value["amount"], Kind.AMOUNT)}
                if value.get("currency") is not None:
                    parts[currency] = (value["currency"], Kind.TEXT)
                return parts
        return {whole: (value, kind_of(value))}

    def _fitted(self, parts: dict[str, tuple[Any, Kind]], cells: Mapping[str, Any]) -> dict[str, Any] | None:
        fitted = {}
        for wanted, (value, kind) in parts.items():
            found = self._columns.get(self._fold(wanted)) or self._make(wanted, kind)
            if found is None or found[0] in cells:
                return None
            try:
                fitted[found[0]] = found[1](value)
            except Unfit:
                return None
        return fitted

    def _make(self, name: str, kind: Kind) -> tuple[str, Fit] | None:
        if len(self._columns) >= MOST_COLUMNS:
            return None
        self._missing[name] = kind
        made = self._columns[self._fold(name)] = (name, self._fits(kind))
        return made
