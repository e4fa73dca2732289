"""A language model behind OpenAI's chat completions: what to ask for, and what to do when it is not understood."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from typing import Any

import msgspec
import orjson

from perseid.answers.schema import Checker
from perseid.errors import Unavailable
from perseid.llm import reading, wire
from perseid.llm.exchange import Exchange, Unacceptable
from perseid.llm.prompt import Prompt, prompt, tokens_of
from perseid.llm.wire import Shape, Told
from perseid.ports.clock import Clock
from perseid.ports.llm import Reply

OPENAI = "https://api.openai.com/v1"
_ANSWER_SHARE = 4
_LONGEST_ANSWER = 8_192
_MOST_REFUSALS = 6
_QUOTED = 6_000
"""Of an unusable answer, characters that are shown to the model again."""

Messages = list[dict[str, str]]


class ChatOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which model, where, and how much it may be given."""

    model: str
    base_url: str = OPENAI
    key: str = ""
    context_tokens: int = 32_768
    """Of question and answer together."""
    most_at_once: int = 8


class ChatModel:
    """Implements `LanguageModel`; one instance serves one event loop."""

    def __init__(self, options: ChatOptions, *, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._exchange = Exchange(options.base_url, options.key, clock=clock)
        self._turns = asyncio.Semaphore(options.most_at_once)
        self._refused: set[str] = set()
        """Modes that this server will never take, and `temperature`."""

    async def close(self) -> None:
        await self._exchange.close()

    async def ask(
        self,
        system: str,
        user: str,
        *,
        material: Sequence[str] = (),
        schema: dict[str, Any] | None = None,
        timeout_s: float,
    ) -> Reply:
        """See the port."""
        question = _Question(system, user, tuple(material), schema)
        until_s = self._clock.monotonic_s() + timeout_s
        try:
            async with asyncio.timeout(timeout_s), self._turns:
                if question.checker is None:
                    return await self._text(question, until_s)
                return await self._json(question, question.checker, until_s)
        except TimeoutError:
            message = f"the language model at {self._exchange.name} did not answer within {timeout_s:g} s"
            raise Unavailable(message, retryable=True) from None

    async def _text(self, question: _Question, until_s: float) -> Reply:
        told, cut = await self._say(question, [], until_s)
        answer = reading.said(told.text)
        if not answer:
            raise Unavailable(f"{self._options.model} answered with nothing", retryable=True)
        return Reply(answer, told.tokens, cut or told.cut)

    async def _json(self, question: _Question, checker: Checker, until_s: float) -> Reply:
        """JSON as asked for, with one chance to mend it."""
        told, cut = await self._say(question, [], until_s)
        spent = told.tokens
        value, fault = _read(told, checker)
        if fault:
            told, cut = await self._say(question, _mend(told, fault, checker.schema), until_s)
            spent += told.tokens
            value, fault = _read(told, checker)
        if fault:
            raise Unavailable(f"{self._options.model} gave no usable JSON twice: {fault}", retryable=True)
        return Reply(value, spent, cut)

    async def _say(self, question: _Question, further: Messages, until_s: float) -> tuple[Told, bool]:
        """One answer, asked for in ever simpler ways until the server understands."""
        shape = self._first_shape(question)
        for _ in range(_MOST_REFUSALS):
            asked = self._prompt(question, shape, further)
            messages = [{"role": "system", "content": asked.system}, {"role": "user", "content": asked.user}, *further]
            body = wire.body_of(self._options.model, messages, shape, question.schema)
            try:
                return self._told(await self._exchange.post(body, until_s=until_s)), asked.cut
            except Unacceptable as refusal:
                simpler = wire.weaker(shape, str(refusal))
                if simpler is None:
                    break_off = f"the language model at {self._exchange.name} refuses the question: {refusal}"
                    raise Unavailable(break_off) from None
                self._learn(shape, simpler, str(refusal))
                shape = simpler
        raise Unavailable(f"the language model at {self._exchange.name} refuses the question in every form")

    def _told(self, raw: bytes) -> Told:
        try:
            told = wire.read_answer(raw)
        except ValueError as error:
            raise Unavailable(f"{self._exchange.name} answered with {error}", retryable=True) from None
        if told.refusal:
            raise Unavailable(f"{self._options.model} declines to answer: {told.refusal[:300]}")
        return told

    def _first_shape(self, question: _Question) -> Shape:
        mode = "text" if question.schema is None else wire.first_mode(question.schema)
        if mode == "schema" and "schema" in self._refused:
            mode = "object"
        if mode == "object" and "object" in self._refused:
            mode = "text"
        answer = min(self._options.context_tokens // _ANSWER_SHARE, _LONGEST_ANSWER)
        return Shape(mode, "temperature" not in self._refused, self._options.context_tokens - answer)

    def _learn(self, shape: Shape, simpler: Shape, detail: str) -> None:
        if shape.temperature and not simpler.temperature:
            self._refused.add("temperature")
        if shape.mode != simpler.mode and wire.is_lasting(detail):
            self._refused.add(shape.mode)

    def _prompt(self, question: _Question, shape: Shape, further: Messages) -> Prompt:
        spent = sum(tokens_of(message["content"]) for message in further)
        user = question.user if shape.mode == "schema" else question.user + _form(question.schema)
        try:
            return prompt(
                question.system, user, question.material, mark=secrets.token_hex(6), tokens=shape.tokens - spent
            )
        except ValueError as error:
            raise Unavailable(
                f"prompt and schema need about {error} tokens, the model is given {shape.tokens}; "
                "shorten them or raise PERSEID_LLM__CONTEXT_TOKENS"
            ) from None


class _Question:
    def __init__(self, system: str, user: str, material: tuple[str, ...], schema: dict[str, Any] | None) -> None:
        self.system = system
        self.user = user
        self.material = material
        self.schema = schema
        self.checker = None if schema is None else Checker(schema)


def _read(told: Told, checker: Checker) -> tuple[Any, str]:
    """The value of an answer, or what is wrong with it."""
    try:
        value = reading.json_of(told.text)
    except ValueError as error:
        return None, "it was cut off at the model's length limit" if told.cut else str(error)
    faults = checker.faults(value)
    return value, f"it does not follow the schema: {'; '.join(faults)}" if faults else ""


def _mend(told: Told, fault: str, schema: dict[str, Any]) -> Messages:
    again = f"That is not usable: {fault}.{_form(schema)}"
    return [{"role": "assistant", "content": told.text[:_QUOTED] or "(nothing)"}, {"role": "user", "content": again}]


def _form(schema: dict[str, Any] | None) -> str:
    if schema is None:
        return ""
    alone = "\n\nAnswer with JSON alone: one value, without a fence, without a word before or after it."
    return alone if not schema else f"{alone} It follows this JSON Schema:\n{orjson.dumps(schema).decode()}"
