"""Values that a page shows for fields somebody names. The model finds them; whether they stand there is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perseid.ports.llm import LanguageModel

_LONGEST = 500
_SYSTEM = """\
You find values on a web page for fields that somebody names. Copy each value as it stands on the page, letter by \
letter, without its label and without anything before or after it: for "price" "12.99 €" and not "Price: 12.99 €". \
If the page shows several things of a kind, take the first one's values. Give null for a field that the page doesn't \
show."""


async def examples_on(model: LanguageModel, text: str, names: Sequence[str], *, timeout_s: float) -> dict[str, str]:
    """(name → value) of those that the model finds in the page's text.

    Raises `Unavailable` where there is no model, or none that answers.
    """
    value: dict[str, Any] = {"type": ["string", "null"], "maxLength": _LONGEST}
    schema = {
        "type": "object",
        "properties": dict.fromkeys(names, value),
        "required": list(names),
        "additionalProperties": False,
    }
    wish = f"The fields: {', '.join(names)}"
    reply = await model.ask(_SYSTEM, wish, material=[text], schema=schema, timeout_s=timeout_s)
    return {name: found.strip() for name, found in reply.value.items() if found and found.strip()}
