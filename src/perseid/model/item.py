"""What was read from a page by a rule: items, what was wrong with them, and where to go on."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from perseid.model.rule import PageKind

ProblemKind: TypeAlias = Literal["missing", "unreadable", "invalid", "source"]
"""A core field without value; a text that is not of its type; a value that fails a check; a source that can't be
evaluated on this page (too costly, not JSON …)."""

Fields: TypeAlias = dict[str, Any]
"""JSON values only. A price is `{"amount": "12.50", "currency": "EUR"}`; instants are ISO 8601 in UTC."""


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong with an item, for people and for grouping.

    `field` is a path (`offers[0].price`); `raw` what the page said, shortened; items with a `fatal` problem belong
    into the exception queue, others go to the sinks all the same.
    """

    field: str
    kind: ProblemKind
    message: str
    raw: str | None = None
    fatal: bool = False


class Item(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One item as the rule reads it.

    `key` is unique within its site; "" where it can't be told, and then a problem is fatal.
    """

    key: str
    fields: Fields
    problems: tuple[Problem, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether it may go to the sinks."""
        return not any(problem.fatal for problem in self.problems)


class Onward(Struct, frozen=True, kw_only=True):
    """A page to go on to. `list_page` is its number in its list, 1 being the first."""

    url: str
    kind: PageKind
    list_page: int = 1


class Extraction(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that a rule finds on one page. `notes` are sentences about the page as a whole."""

    items: tuple[Item, ...] = ()
    follow: tuple[Onward, ...] = ()
    notes: tuple[str, ...] = field(default=())
