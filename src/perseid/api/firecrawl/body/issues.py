"""A body that does not validate, in the words of the contract: one sentence, and the list of what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

UNRECOGNIZED = "Unrecognized key in body -- please review the v2 API documentation for request body changes"
PLAIN = "Bad Request"

_CODES = {
    "missing": "invalid_type",
    "extra_forbidden": "unrecognized_keys",
    "custom": "custom",
    "value_error": "custom",
    "literal_error": "invalid_value",
    "enum": "invalid_value",
    "union_tag_invalid": "invalid_union",
    "union_tag_not_found": "invalid_union",
    "greater_than": "too_small",
    "greater_than_equal": "too_small",
    "too_short": "too_small",
    "string_too_short": "too_small",
    "less_than": "too_big",
    "less_than_equal": "too_big",
    "too_long": "too_big",
    "string_too_long": "too_big",
    "string_pattern_mismatch": "invalid_format",
}
_MOST = 50


def sentence(issues: Sequence[dict[str, Any]]) -> str:
    """The error of the answer: for an unknown key a fixed one, else that of the first broken rule, else a plain one."""
    if any(issue["code"] == "unrecognized_keys" for issue in issues):
        return UNRECOGNIZED
    return next((issue["message"] for issue in issues if issue["code"] == "custom"), PLAIN)


def issues_of(error: ValidationError, sent: Any) -> list[dict[str, Any]]:
    """What is wrong, each with the path to it in the body as it was sent."""
    found = error.errors(include_url=False, include_input=False)
    return [_issue(detail, sent) for detail in found[:_MOST]]


def _issue(detail: ErrorDetails, sent: Any) -> dict[str, Any]:
    path = _path(detail["loc"], sent, absent=detail["type"] == "missing")
    code = _CODES.get(detail["type"], "invalid_type")
    if code == "unrecognized_keys":
        return {"code": code, "keys": path[-1:], "path": path[:-1], "message": f"Unrecognized key: {path[-1]}"}
    context = detail.get("ctx", {})
    if detail["type"] == "custom":
        return {"code": code, "path": [*path, *context["path"]], "message": context["sentence"]}
    return {"code": code, "path": path, "message": _said(detail["msg"])}


def _said(message: str) -> str:
    """Without the names of our classes, which say nothing to a caller."""
    message = message.removeprefix("Value error, ")
    return "Input should be an object" if " or instance of " in message else message


def _path(loc: Sequence[int | str], sent: Any, *, absent: bool) -> list[int | str]:
    """The location without the names that the model gives to members of a union; its end may be `absent`."""
    path: list[int | str] = []
    node = sent
    for place, part in enumerate(loc):
        if _holds(node, part):
            node = node[part]
        elif not (absent and isinstance(node, dict) and place == len(loc) - 1):
            continue
        path.append(part)
    return path


def _holds(node: Any, part: int | str) -> bool:
    if isinstance(node, list):
        return isinstance(part, int) and part < len(node)
    return isinstance(node, dict) and part in node
