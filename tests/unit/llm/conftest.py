"""A scripted model server over HTTP, and clients of it that don't wait."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from perseid.llm.chat import ChatModel, ChatOptions
from perseid.testing import Answer, Request, Site

PATH = "/v1/chat/completions"
JSON = {"Content-Type": "application/json"}


def completion(content: Any, *, tokens: int = 10, finish: str = "stop", **message: Any) -> Answer:
    """A good answer of the server."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
    return Answer(headers=JSON, body=json.dumps({"choices": [choice], "usage": {"total_tokens": tokens}}))


def refusal(status: int, message: str, **headers: str) -> Answer:
    return Answer(status=status, headers=JSON | headers, body=json.dumps({"error": {"message": message}}))


class Hurried:
    """A clock whose sleepers don't wait, and that remembers how long they would have."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now_us(self) -> int:
        return 1_796_040_000_000_000

    def monotonic_s(self) -> float:
        return sum(self.slept)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


class Server(Site):
    """Answers in turn; `asked` are the bodies it got."""

    def say(self, *answers: Any) -> None:
        self.sequence(PATH, answers)

    @property
    def asked(self) -> list[dict[str, Any]]:
        return [json.loads(request.body) for request in self.requests if request.path == PATH]

    @property
    def last(self) -> Request:
        return self.requests[-1]


@pytest.fixture
def clock() -> Hurried:
    return Hurried()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server() as server:
        yield server


@pytest.fixture
async def connect(server: Server, clock: Hurried) -> AsyncIterator[Callable[..., ChatModel]]:
    opened: list[ChatModel] = []

    def connect(**options: Any) -> ChatModel:
        settings = {"model": "stone-7", "base_url": f"{server.origin}/v1", "key": "sk-secret-1234"} | options
        opened.append(ChatModel(ChatOptions(**settings), clock=clock))
        return opened[-1]

    yield connect
    for model in opened:
        await model.close()


@pytest.fixture
def model(connect: Callable[..., ChatModel]) -> ChatModel:
    return connect()
