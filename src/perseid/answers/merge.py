"""One object out of what several pages gave. Where they don't contradict each other that is arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from perseid.answers.schema import Checker
from perseid.ports.llm import LanguageModel

_SYSTEM = (
    "You are given data that was extracted from several web pages, each as JSON, one a text. You merge it into one "
    "value: entries about the same thing become one entry with all that is known of it, repetitions are dropped, and "
    "where texts contradict each other the earlier text counts. Leave nothing out and add nothing."
)


class Part(NamedTuple):
    """What one page gave."""

    url: str
    value: Any


class Merged(NamedTuple):
    value: Any
    tokens: int = 0
    cut: bool = False
    """Not all parts fitted into one question."""


async def merge(
    model: LanguageModel, parts: Sequence[Part], *, prompt: str | None, schema: dict[str, Any] | None, timeout_s: float
) -> Merged:
    """The parts as one, by the model only where they overlap. Raises `Unavailable`, `ConfigError`."""
    value, certain = union([part.value for part in parts])
    if certain and not (schema and Checker(schema).faults(value)):
        return Merged(value)
    wanted = f"They were extracted by this wish: {prompt}" if prompt else "Merge them."

    async def reduce(texts: Sequence[str]) -> Merged:
        """In one go, or where they don't fit into one question, half by half."""
        reply = await model.ask(_SYSTEM, wanted, material=texts, schema=schema or {}, timeout_s=timeout_s)
        if not reply.cut or len(texts) <= 2:
            return Merged(reply.value, reply.tokens, reply.cut)
        middle = len(texts) // 2
        halves = [await reduce(texts[:middle]), await reduce(texts[middle:])]
        whole = await reduce([_text(half.value) for half in halves])
        tokens = reply.tokens + whole.tokens + sum(half.tokens for half in halves)
        return Merged(whole.value, tokens, whole.cut or any(half.cut for half in halves))

    return await reduce([_text(part.value) for part in parts if not blank(part.value)])


def sources_of(parts: Sequence[Part]) -> dict[str, list[str]]:
    """For each field at the top the pages that said something about it."""
    sources: dict[str, list[str]] = {}
    for part in parts:
        for name, value in part.value.items() if isinstance(part.value, dict) else [("value", part.value)]:
            if not blank(value):
                sources.setdefault(name, []).append(part.url)
    return sources


def blank(value: Any) -> bool:
    """Nothing is said by it: null, an empty text, or lists and objects of such."""
    if isinstance(value, dict):
        return all(blank(inner) for inner in value.values())
    if isinstance(value, list):
        return all(blank(inner) for inner in value)
    return value is None or (isinstance(value, str) and not value.strip())


def union(values: Sequence[Any]) -> tuple[Any, bool]:
    """All values as one, and whether that is certain: no two of them say something about the same place.

    Lists of plain values are put together without repetitions; lists of objects may hold the same thing twice
    in other words, which is not for us to tell.
    """
    telling = _distinct([value for value in values if not blank(value)])
    if len(telling) <= 1:
        return (telling or list(values) or [None])[0], True
    if all(isinstance(value, dict) for value in telling):
        names = dict.fromkeys(name for value in telling for name in value)
        fields = {name: union([value.get(name) for value in telling]) for name in names}
        return {name: field for name, (field, _) in fields.items()}, all(sure for _, sure in fields.values())
    if all(isinstance(value, list) for value in telling):
        items = _distinct([item for value in telling for item in value if not blank(item)])
        return items, not any(isinstance(item, dict | list) for item in items)
    return telling[0], False


def _distinct(values: Sequence[Any]) -> list[Any]:
    """Each value once, in the order given; 1 and true are two."""
    seen: dict[str, Any] = {}
    for value in values:
        seen.setdefault(_text(value), value)
    return list(seen.values())


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
