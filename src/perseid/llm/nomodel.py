"""The language model of an installation that has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perseid.errors import Unavailable
from perseid.ports.llm import Reply


class NoModel:
    """Implements `LanguageModel` by saying what is missing."""

    async def ask(
        self,
        system: str,  # noqa: ARG002  # the port's signature, here and below
        user: str,  # noqa: ARG002
        *,
        material: Sequence[str] = (),  # noqa: ARG002
        schema: dict[str, Any] | None = None,  # noqa: ARG002
        timeout_s: float,  # noqa: ARG002
    ) -> Reply:
        raise Unavailable(
            "no language model is configured; set PERSEID_LLM__BASE_URL and PERSEID_LLM__MODEL, "
            "and PERSEID_LLM__API_KEY where the server wants one"
        )

    async def close(self) -> None:
        return
