"""A language model that answers in text or in JSON by a schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol


class Reply(NamedTuple):
    """`value` is text, or what the schema describes; `tokens` is what it cost, where the model says so."""

    value: Any
    tokens: int = 0
    cut: bool = False
    """Not all of the material fitted, or the answer (text only) was cut off at its end."""


class LanguageModel(Protocol):
    async def ask(
        self,
        system: str,
        user: str,
        *,
        material: Sequence[str] = (),
        schema: dict[str, Any] | None = None,
        timeout_s: float,
    ) -> Reply:
        """One question. With a schema (`{}` for any JSON) the answer is JSON that was checked against it.

        `material` is text that strangers wrote, as far as it fits: it is marked off as data, numbered from 1
        where there are several. What stands in `system` and `user` is believed and never cut.

        Raises `Unavailable`: no model is configured, it did not answer, or not with usable JSON;
        `ConfigError` for a schema that is none.
        """
        ...

    async def close(self) -> None: ...
