"""The JSON Schema of rule files, short forms included: for editors, and for people who write rules by program."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from perseid.model.rule import Rule
from perseid.rules.shorthand import SOURCE_KEYS

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ID = "urn:perseid:rule"

_TEXT = {"type": "string", "minLength": 1}
DURATION = {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*(ms|s|m|h|d|w)\s*$"}


@lru_cache(maxsize=1)
def _schema() -> bytes:
    found = msgspec.json.schema(Rule)
    parts = found["$defs"]
    for part in parts.values():
        part["additionalProperties"] = False
        for each in part.get("properties", {}).values():
            numbers_are_texts(each)
    source = parts["Source"]
    inline = {name: source["properties"][name] for name in SOURCE_KEYS}
    short = {"anyOf": [{"$ref": "#/$defs/Source"}, _TEXT]}
    sources = {"anyOf": [short, {"type": "array", "items": short}]}
    for name in ("Field", "Follow", "NextPage"):
        part = parts[name]
        part["properties"]["from"] = {**sources, "description": part["properties"]["from"]["description"]}
        part["properties"].update({key: value for key, value in inline.items() if key not in part["properties"]})
        part["required"] = []
    parts["Source"]["properties"] = source["properties"]
    field = {"anyOf": [{"$ref": "#/$defs/Field"}, _TEXT, {"type": "array", "items": short}]}
    for part in (parts["Rule"], parts["Field"]):
        part["properties"]["fields"]["additionalProperties"] = field
    _shortened(parts, short, field)
    _durations(parts)
    _lone_members(parts)
    return msgspec.json.encode({"$schema": DIALECT, "$id": ID, "title": "A site's rule", **found})


def schema() -> dict[str, Any]:
    """The schema as a JSON value; the caller may change it."""
    found: dict[str, Any] = msgspec.json.decode(_schema())
    return found


def _shortened(parts: dict[str, Any], short: dict[str, Any], field: dict[str, Any]) -> None:
    """The short forms of a rule's parts, as `perseid.rules.shorthand` reads them."""
    rule = parts["Rule"]["properties"]
    rule["selectors"] = {**rule["fields"], "description": "The short name of `fields`."}
    rule["selectors"]["additionalProperties"] = field
    parts["Rule"]["required"] = ["site_id"]
    parts["Rule"]["oneOf"] = [{"required": ["fields"]}, {"required": ["selectors"]}]
    rule["each"]["anyOf"] = [short, {"type": "null"}]
    also(rule["unique_key"], {"enum": ["url", "content"]}, _TEXT, {"type": "array", "items": _TEXT})
    parts["UniqueKey"]["properties"]["by"].pop("default", None)
    follow = {"anyOf": [{"$ref": "#/$defs/Follow"}, _TEXT]}
    rule["follow"] = {
        "description": rule["follow"]["description"],
        "anyOf": [follow, {"type": "array", "items": follow}],
    }
    also(rule["next"], {"const": True}, _TEXT, {"type": "array", "items": short})
    fetch = parts["FetchPolicy"]["properties"]
    also(fetch["rate"], {"type": "number", "exclusiveMinimum": 0, "maximum": 1000})
    login = parts["LoginStep"]["properties"]
    login["take"]["additionalProperties"] = short
    login["expect"]["anyOf"] = [short, {"type": "null"}]


def _durations(parts: dict[str, Any]) -> None:
    """Where a number of seconds is wanted, a text such as 10s is as good."""
    fetch = parts["FetchPolicy"]["properties"]
    also(fetch["timeout"], DURATION)
    seconds = {"anyOf": [{"type": "number", "minimum": 0}, DURATION]}
    pair = {"type": "array", "prefixItems": [seconds, seconds], "minItems": 2, "maxItems": 2}
    fetch["delay"] = {
        "description": fetch["delay"]["description"],
        "anyOf": [pair, *seconds["anyOf"]],
        "default": [0, 0],
    }
    for name in ("base", "max"):
        also(parts["Backoff"]["properties"][name], DURATION)
    also(parts["Alert"]["properties"]["window"], DURATION)
    also(parts["Rule"]["properties"]["recollect_after"], DURATION)


def _lone_members(parts: dict[str, Any]) -> None:
    """Where a list is wanted, its only member may stand alone."""
    lists = {
        "Rule": ("sinks", "match", "items_on", "alerts", "tests"),
        "Field": ("yes", "no", "formats", "steps"),
        "Follow": ("on", "match", "exclude"),
        "FetchPolicy": ("block", "login"),
        "PageTest": ("expect",),
    }
    for part, names in lists.items():
        for name in names:
            found = parts[part]["properties"][name]
            listing = found if "items" in found else next(each for each in found["anyOf"] if "items" in each)
            also(found, listing["items"])


def numbers_are_texts(part: dict[str, Any]) -> None:
    """A name or selector that YAML takes for a number is one all the same; checks that have a pattern stay."""
    if part.get("type") == "string" and not part.get("pattern") and "default" not in part:
        part["type"] = ["string", "number"]


def also(part: dict[str, Any], *others: dict[str, Any]) -> None:
    """Allow `others` beside what the part allows; its description and default stay where they are."""
    if "anyOf" in part:
        part["anyOf"] = [*part["anyOf"], *others]
        return
    kept: dict[str, Any] = {key: part.pop(key) for key in ("description", "default") if key in part}
    own = dict(part)
    part.clear()
    part.update({"anyOf": [own, *others], **kept})
