"""The seam under everything that only reads: a statement goes in, rows come out."""

from __future__ import annotations

from typing import Any, Protocol

Row = tuple[Any, ...]


class Rows(Protocol):
    """One database. Parameters are written `$1`, `$2`, …; each statement is a snapshot of its own."""

    @property
    def place(self) -> str:
        """Where the data lies, for messages."""
        ...

    @property
    def along(self) -> str:
        """Before a column of `url` that picks jobs, where they must come from the walk along the table itself.

        A unary plus for a database that would otherwise sort all jobs of a crawl for each page of a listing;
        nothing where an index has them in order.
        """
        ...

    def same(self, column: str, parameter: str) -> str:
        """The condition that a long text is this one, by the index that finds it."""
        ...

    async def all(self, statement: str, *bindings: object, brief: bool = False) -> list[Row]:
        """Raises `StoreUnavailable` where a retry helps.

        What is `brief`, a few rows by their key, may hold up the event loop for the moment it takes.
        """
        ...


class Where:
    """A WHERE clause in the making: its conditions, and what is bound to their parameters."""

    def __init__(self, *conditions: str) -> None:
        self.conditions = list(conditions)
        self.values: list[object] = []

    def bind(self, value: object) -> str:
        """The parameter that stands for a value."""
        self.values.append(value)
        return f"${len(self.values)}"

    def add(self, condition: str, *values: object) -> None:
        """One more condition; each `?` in it stands for one of the values, in order."""
        for value in values:
            condition = condition.replace("?", self.bind(value), 1)
        self.conditions.append(condition)

    def __str__(self) -> str:
        return f"WHERE {' AND '.join(self.conditions)}" if self.conditions else ""
