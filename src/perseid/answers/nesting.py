"""A caller's schema as a part of a larger one of ours: its references have to be moved with it."""

from __future__ import annotations

from typing import Any

_PLACE = "value"


def twice(schema: dict[str, Any] | None, first: str, second: str) -> dict[str, Any]:
    """A schema of an object with two fields that both follow `schema` (any object without one)."""
    inner = _moved(schema) if schema else {"type": "object"}
    reference = {"$ref": f"#/$defs/{_PLACE}"}
    return {
        "type": "object",
        "properties": {first: reference, second: reference},
        "required": [first, second],
        "additionalProperties": False,
        "$defs": {_PLACE: inner},
    }


def _moved(part: Any) -> Any:
    if isinstance(part, list):
        return [_moved(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        name: f"#/$defs/{_PLACE}{value[1:]}"
        if name == "$ref" and isinstance(value, str) and value.startswith("#")
        else _moved(value)
        for name, value in part.items()
        if name != "$schema"
    }
