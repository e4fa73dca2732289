"""Formats as the contract names them, as formats, questions and comparisons of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, get_args

from perseid.api.firecrawl.body import formats as wire
from perseid.model.options import Ask, AttributeQuery, ChangeTracking, Format

_OURS = frozenset(get_args(Format)) - {"text"}
_CREDITS_OF_JSON = 5
_CREDITS_OF_ANSWER = 5


class Wanted(NamedTuple):
    formats: tuple[Format, ...] = ()
    asks: tuple[Ask, ...] = ()
    attributes: tuple[AttributeQuery, ...] = ()
    tracking: ChangeTracking | None = None
    missing: tuple[str, ...] = ()
    """Formats that nothing here can produce."""

    @property
    def credits(self) -> int:
        """What a page of these counts for."""
        return max([1, *(_CREDITS_OF_ANSWER if ask.kind != "json" else _CREDITS_OF_JSON for ask in self.asks)])


def wanted(asked: Sequence[wire.FormatObject], *, clean: bool = False) -> Wanted:
    """`clean` has a model clean the markdown."""
    found = Wanted()
    for each in asked:
        found = _with(found, each)
    if clean:
        found = found._replace(asks=(*found.asks, Ask(kind="clean", output="markdown")))
    return found


def _with(found: Wanted, asked: wire.FormatObject) -> Wanted:
    match asked:
        case wire.Plain():
            return _with_plain(found, asked.type)
        case wire.Attributes():
            queries = tuple(AttributeQuery(each.selector, each.attribute) for each in asked.selectors)
            return found._replace(attributes=(*found.attributes, *queries))
        case wire.ChangeTracking():
            tracking = ChangeTracking(
                modes=tuple(asked.modes), tag=asked.tag, prompt=asked.prompt, schema=_object(asked.schema_)
            )
            return found._replace(tracking=tracking)
        case wire.Screenshot():
            return found._replace(missing=(*found.missing, "screenshot"))
        case _:
            return found._replace(asks=(*found.asks, _ask(asked)))


def _with_plain(found: Wanted, name: str) -> Wanted:
    if name == "summary":
        return found._replace(asks=(*found.asks, Ask(kind="summary", output="summary")))
    ours: tuple[Format, ...] = tuple(each for each in get_args(Format) if each == name and each in _OURS)
    if not ours:
        return found._replace(missing=(*found.missing, name))
    return found if name in found.formats else found._replace(formats=(*found.formats, *ours))


def _ask(asked: wire.Json | wire.Extract | wire.Question | wire.Highlights | wire.Query) -> Ask:
    match asked:
        case wire.Json():
            return Ask(kind="json", output="json", prompt=asked.prompt, schema=_object(asked.schema_))
        case wire.Extract():
            return Ask(kind="json", output="extract", prompt=asked.prompt, schema=_object(asked.schema_))
        case wire.Question():
            return Ask(kind="question", output="answer", prompt=asked.question)
        case wire.Highlights():
            return Ask(kind="highlights", output="highlights", prompt=asked.query)
        case wire.Query():
            if asked.mode == "directQuote":
                return Ask(kind="highlights", output="answer", prompt=asked.prompt)
            return Ask(kind="question", output="answer", prompt=asked.prompt)


def _object(schema: Any) -> dict[str, Any] | None:
    return schema if isinstance(schema, dict) and schema else None
