"""JSON Schemas that strangers send: compiled without fetching anything, and bounded in what checking may cost.

Checking needs the optional package `jsonschema-rs`: it runs no generated code, reads no remote reference and
bounds the backtracking of patterns, which matters where schemas come over the network.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from perseid.errors import ConfigError, MissingExtra

_MOST_FAULTS = 5
_BACKTRACKS = 20_000
_MOST_REPEATS = 10_000
"""How often a schema may look at one and the same place of a value."""
_DEEPEST = 50
_LONGEST_FAULT = 200
_HERE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"})
"""Keywords whose schemas apply to the same place of the value as their own."""
_BELOW = (
    "properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames",
    "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains",
)  # fmt: skip


class Checker:
    """One schema, compiled. Raises `ConfigError` with what is wrong, `MissingExtra` without the package."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self._validator = _compile(schema)

    def faults(self, value: Any) -> list[str]:
        """Where `value` is not as the schema says, the first few; empty when it is."""
        if not self.schema:
            return []
        if repeats(self.schema, _depth(value)) > _MOST_REPEATS:
            return ["it is nested too deeply for a schema that refers to itself so often"]
        return [_told(error) for error in islice(self._validator.iter_errors(value), _MOST_FAULTS)]


def _compile(schema: dict[str, Any]) -> Any:
    try:
        import jsonschema_rs  # noqa: PLC0415 - optional, and only needed where a schema is
    except ImportError:
        raise MissingExtra(
            "checking answers against a schema needs the package jsonschema-rs: pip install 'perseid[llm]'"
        ) from None
    try:
        if repeats(schema, 1) > _MOST_REPEATS:
            raise ConfigError("the schema unfolds to too many parts: it refers to the same definitions over and over")
        return jsonschema_rs.validator_for(
            schema, offline=True, pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS)
        )
    except (ValueError, RecursionError) as error:
        # Both the package's own error and "recursion limit reached" are a ValueError.
        told = str(error).partition("\n")[0][:_LONGEST_FAULT]
        raise ConfigError(f"the schema is no valid JSON Schema: {told}") from None


def _told(error: Any) -> str:
    where = "/".join(str(step) for step in error.instance_path)
    return f"at {where or 'the top'}: {str(error.message)[:_LONGEST_FAULT]}"


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [inner for outer in level for inner in _inside(outer)]:
        depth += 1
    return depth


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def repeats(schema: Any, depth: int) -> int:
    """How often one place of a value nested `depth` deep is looked at, at most.

    References that fan out multiply this: thirty short definitions can stand for a billion checks.
    """
    return _Unfolding(schema).count(schema, min(depth, _DEEPEST))


class _Unfolding:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._known: dict[tuple[int, int], int] = {}

    def count(self, schema: Any, depth: int) -> int:
        if not isinstance(schema, dict):
            return 1
        place = (id(schema), depth)
        if place not in self._known:
            self._known[place] = 1  # what refers to itself in the same place is not followed again
            here = sum(self.count(part, depth) for part in self._here(schema))
            below = sum(self._widest(word, schema[word], depth - 1) for word in _BELOW if depth > 0 and word in schema)
            self._known[place] = min(1 + here + below, 10 * _MOST_REPEATS)
        return self._known[place]

    def _here(self, schema: dict[str, Any]) -> Iterator[Any]:
        for word in schema.keys() & _HERE:
            part = schema[word]
            if isinstance(part, dict) and word.startswith("dep"):
                yield from part.values()
            else:
                yield from part if isinstance(part, list) else [part]
        for word in ("$ref", "$dynamicRef"):
            if isinstance(schema.get(word), str):
                yield self._target(schema[word])

    def _widest(self, word: str, part: Any, depth: int) -> int:
        """Of schemas by name or by position one applies to a place, of patterns all may."""
        if isinstance(part, list):
            return max((self.count(each, depth) for each in part), default=0)
        if word in ("properties", "patternProperties") and isinstance(part, dict):
            counts = [self.count(each, depth) for each in part.values()]
            return sum(counts) if word == "patternProperties" else max(counts, default=0)
        return self.count(part, depth)

    def _target(self, reference: str) -> Any:
        if not reference.startswith("#") or (len(reference) > 1 and not reference.startswith("#/")):
            raise ConfigError(
                f"the schema refers to {reference[:100]!r}; only references within it (#/$defs/…) are followed"
            )
        found = self._root
        for step in reference.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else _item(found, name)
        return found


def _item(listed: Any, number: str) -> Any:
    if isinstance(listed, list) and number.isdecimal() and int(number) < len(listed):
        return listed[int(number)]
    return None
