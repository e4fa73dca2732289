"""JSON out of what a model said: in fences, after its thoughts, between sentences."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

_THOUGHTS = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[a-zA-Z0-9]*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
_START = re.compile(r"[{\[]")
_MOST_STARTS = 100
_extent = json.JSONDecoder()


def said(text: str) -> str:
    """The answer without the thoughts that some models think aloud before it."""
    return _THOUGHTS.sub("", text).strip()


def json_of(text: str) -> Any:
    """The JSON value in an answer. Raises `ValueError` that says what is wrong."""
    answer = said(text).removeprefix("\ufeff")
    if not answer:
        raise ValueError("it is empty")
    fault = ValueError("it holds no JSON")
    for part in (answer, *_FENCE.findall(answer)):
        try:
            return orjson.loads(part)
        except orjson.JSONDecodeError as error:
            if part.lstrip()[:1] in ("{", "["):
                fault = ValueError(f"its JSON is broken: {error}")
    found = _largest(answer)
    if found is None:
        raise fault
    return found


def _largest(text: str) -> Any:
    """The longest object or array that stands in a text by itself."""
    best, value, end = 0, None, 0
    for start in [match.start() for match in _START.finditer(text)][:_MOST_STARTS]:
        if start < end:
            continue
        try:
            _value, end = _extent.raw_decode(text, start)
            if end - start > best:
                # The strict decoder has the last word: it refuses what could not be stored.
                best, value = end - start, orjson.loads(text[start:end])
        except (ValueError, RecursionError):
            continue
    return value
