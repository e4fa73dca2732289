"""A language model that answers in text or in JSON by a schema."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol


class Reply(NamedTuple):
    """`value` is text, or what the schema describes; `tokens` is what it cost, where the model says so."""

    value: Any
    tokens: int = 0


class LanguageModel(Protocol):
    async def ask(self, system: str, user: str, *, schema: dict[str, Any] | None = None, timeout_s: float) -> Reply:
        """One question. With a schema (`{}` for any JSON) the answer is JSON that was checked against it.

        Raises `Unavailable`: no model is configured, it did not answer, or not with usable JSON.
        """
        ...

    async def close(self) -> None: ...
