"""What changed between two versions of a page, field by field, as a language model reads them."""

from __future__ import annotations

from typing import Any, NamedTuple

from perseid.answers.nesting import twice
from perseid.model.options import ChangeTracking
from perseid.ports.llm import LanguageModel

_SYSTEM = (
    "You are given two versions of one web page as markdown: text 1 is the previous version, text 2 the current one. "
    "You extract the same data from each of them, each from its own text alone, in the same wording wherever the "
    "texts mean the same. Where a version does not say something, leave the field out, or give null or an empty "
    "list where the form demands the field. Never make up a value."
)


class Changes(NamedTuple):
    """`fields` holds `{field: {"previous": …, "current": …}}` of the fields that differ."""

    fields: dict[str, dict[str, Any]]
    tokens: int = 0


class Comparer:
    """Compares by one model, as change tracking wants it."""

    def __init__(self, model: LanguageModel, *, timeout_s: float) -> None:
        self._model = model
        self._timeout_s = timeout_s

    async def __call__(self, tracking: ChangeTracking, previous: str, current: str) -> dict[str, dict[str, Any]]:
        """`{field: {"previous": …, "current": …}}`. Raises `Unavailable`, `ConfigError`."""
        changes = await compare_json(
            self._model,
            previous,
            current,
            prompt=tracking.prompt,
            schema=tracking.schema,
            timeout_s=self._timeout_s,
        )
        return changes.fields


async def compare_json(
    model: LanguageModel,
    previous: str,
    current: str,
    *,
    prompt: str | None,
    schema: dict[str, Any] | None,
    timeout_s: float,
) -> Changes:
    """Read both versions in one go, so that equal things are worded alike. Raises `Unavailable`, `ConfigError`."""
    wanted = (prompt or "").strip() or "Extract the main facts, in both versions under the same names."
    reply = await model.ask(
        _SYSTEM,
        f"{wanted}\n\nGive the data of text 1 as `previous` and that of text 2 as `current`.",
        material=(previous, current),
        schema=twice(schema, "previous", "current"),
        timeout_s=timeout_s,
    )
    return Changes(differing(reply.value["previous"], reply.value["current"]), reply.tokens)


def differing(previous: Any, current: Any) -> dict[str, dict[str, Any]]:
    """The fields that two objects don't have alike; what is not an object counts as one field, `value`."""
    if not (isinstance(previous, dict) and isinstance(current, dict)):
        previous, current = {"value": previous}, {"value": current}
    names = dict.fromkeys([*previous, *current])
    return {
        name: {"previous": previous.get(name), "current": current.get(name)}
        for name in names
        if previous.get(name) != current.get(name)
    }
