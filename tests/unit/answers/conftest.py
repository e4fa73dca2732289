"""A language model to script: each answer is a value, or a function of the question that may raise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from perseid.answers.schema import Checker
from perseid.errors import Unavailable
from perseid.ports.llm import Reply


class Asked(NamedTuple):
    system: str
    user: str
    material: tuple[str, ...]
    schema: dict[str, Any] | None
    timeout_s: float


class Scripted:
    """Implements the port, and keeps its promise: JSON is checked against the schema."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.asked: list[Asked] = []

    async def ask(
        self,
        system: str,
        user: str,
        *,
        material: Sequence[str] = (),
        schema: dict[str, Any] | None = None,
        timeout_s: float,
    ) -> Reply:
        question = Asked(system, user, tuple(material), schema, timeout_s)
        self.asked.append(question)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        answer = answer(question) if callable(answer) else answer
        reply = answer if isinstance(answer, Reply) else Reply(answer, 10)
        if schema is not None and (faults := Checker(schema).faults(reply.value)):
            raise Unavailable(f"no usable JSON: {faults}", retryable=True)
        return reply

    async def close(self) -> None:
        return


@pytest.fixture
def model() -> Scripted:
    return Scripted()
