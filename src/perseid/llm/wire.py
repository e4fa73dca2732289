"""Chat completions as they travel: the body of a request, what an answer holds, what a refusal means. Pure."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import orjson

Mode = Literal["schema", "object", "text"]
"""How JSON is asked for: held to a schema by the server, held to be JSON, or by words alone."""

_TOO_LONG = re.compile(
    r"context.{0,30}(?:length|size|window|limit)|too many tokens|(?:prompt|input) is too long|maximum.{0,20}tokens",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(
    r"not.{0,12}(?:support|allow|permit|available)|unsupport|unavailable|unknown|unrecogni|extra", re.IGNORECASE
)
_SHAPES = {"array", "string", "number", "integer", "boolean", "null"}


class Shape(NamedTuple):
    """What a request makes use of; servers refuse what they don't know."""

    mode: Mode
    temperature: bool
    tokens: int
    """Of the question, at most."""


class Told(NamedTuple):
    text: str
    tokens: int
    cut: bool
    refusal: str


def first_mode(schema: dict[str, Any]) -> Mode:
    """The strictest form that can carry a schema: only objects can be asked for by the protocol."""
    kind = schema.get("type")
    if kind in _SHAPES or isinstance(kind, list):
        return "text"
    return "schema" if kind == "object" or "properties" in schema else "object"


def body_of(model: str, messages: list[dict[str, str]], shape: Shape, schema: dict[str, Any] | None) -> bytes:
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": False}
    if shape.temperature:
        body["temperature"] = 0
    if schema is not None and shape.mode == "schema":
        # Not strict: that refuses schemas with optional fields, and we check the answer ourselves.
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    elif schema is not None and shape.mode == "object":
        body["response_format"] = {"type": "json_object"}
    return orjson.dumps(body)


def read_answer(raw: bytes) -> Told:
    """Raises `ValueError` for a body that is no chat completion."""
    try:
        body = orjson.loads(raw)
        choice = body["choices"][0]
        message = choice["message"]
        content = message.get("content") or ""
        if isinstance(content, list):
            content = "".join(str(part.get("text") or "") for part in content)
        usage = body.get("usage") or {}
        tokens = usage.get("total_tokens") or 0
    except (ValueError, LookupError, TypeError, AttributeError):
        raise ValueError(f"no chat completion: {raw[:200].decode('utf-8', 'replace')!r}") from None
    return Told(
        text=str(content),
        tokens=tokens if isinstance(tokens, int) else 0,
        cut=choice.get("finish_reason") == "length",
        refusal=str(message.get("refusal") or ""),
    )


def detail_of(raw: bytes) -> str:
    """What an error's body says, in one line."""
    try:
        body = orjson.loads(raw)
    except ValueError:
        body = raw.decode("utf-8", "replace")
    for name in ("error", "message", "detail"):
        while isinstance(body, dict) and name in body:
            body = body[name]
    text = body if isinstance(body, str) else orjson.dumps(body).decode()
    return " ".join(text.split())[:300]


def weaker(shape: Shape, detail: str) -> Shape | None:
    """What to try after a refusal (400 and its like): less of what the server may not know; None at the end."""
    if _TOO_LONG.search(detail):
        return shape._replace(tokens=shape.tokens * 2 // 3) if shape.tokens > 500 else None
    if shape.temperature and "temperature" in detail:
        return shape._replace(temperature=False)
    match shape.mode:
        case "schema":
            return shape._replace(mode="object")
        case "object":
            return shape._replace(mode="text")
        case "text":
            return None


def is_lasting(detail: str) -> bool:
    """The server will refuse this every time, whatever the schema: there is no use in asking again."""
    return ("response_format" in detail or "json_schema" in detail or "json_object" in detail) and bool(
        _UNKNOWN.search(detail)
    )
