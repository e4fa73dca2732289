"""The JSON Schema of seeds in their flat form, short forms included: for editors, and for who writes them by program.

It knows no plug-ins: payloads of task types with a dot may be any mapping.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from perseid.rules.schema import DIALECT, DURATION, also, numbers_are_texts
from perseid.seeds.loading import KINDS, Flat

ID = "urn:perseid:seed"

_TEXTS = {"type": "array", "items": {"type": ["string", "number"], "minLength": 1}, "minItems": 1}
_TEXT = {"type": ["string", "number"], "minLength": 1}


@lru_cache(maxsize=1)
def _schema() -> bytes:
    _, parts = msgspec.json.schema_components([Flat, *KINDS.values()], ref_template="#/$defs/{name}")
    for part in parts.values():
        part["additionalProperties"] = False
        if part["title"] != "Flat":  # the tag, which is written beside the payload
            part["properties"].pop("task_type", None)
        part["required"] = [name for name in part.get("required", ()) if name in part["properties"]]
        for each in part["properties"].values():
            numbers_are_texts(each)
    seed = parts["Seed"] = parts.pop("Flat")
    seed["title"] = "Seed"
    _shortened(parts)
    seed["allOf"] = [_of_kind(name, kind.__name__) for name, kind in KINDS.items()]
    one = {"$ref": "#/$defs/Seed"}
    return msgspec.json.encode(
        {
            "$schema": DIALECT,
            "$id": ID,
            "title": "A seed, or a list of them",
            "anyOf": [one, {"type": "array", "items": one, "minItems": 1}],
            "$defs": parts,
        }
    )


def schema() -> dict[str, Any]:
    """The schema as a JSON value; the caller may change it."""
    found: dict[str, Any] = msgspec.json.decode(_schema())
    return found


def _of_kind(name: str, part: str) -> dict[str, Any]:
    return {
        "if": {"properties": {"task_type": {"const": name}}, "required": ["task_type"]},
        "then": {"properties": {"payload": {"$ref": f"#/$defs/{part}"}}},
    }


def _shortened(parts: dict[str, Any]) -> None:
    """The short forms, as `perseid.seeds.shorthand` reads them."""
    said = parts["Seed"]["properties"]
    said["task_type"] = {
        "description": said["task_type"]["description"],
        "anyOf": [{"enum": list(KINDS)}, {"type": "string", "pattern": r"\."}],
    }
    also(said["schedule"], {"type": "string", "minLength": 1})
    rule = {"type": "object", "minProperties": 1}
    said["rule"] = {"description": said["rule"]["description"], "anyOf": [rule, {"type": "null"}]}
    said["parse_rule"] = {**said["rule"], "description": "The same as `rule`."}
    urls = parts["UrlList"]["properties"]
    said["urls"] = {"description": "Short for a payload of addresses.", "anyOf": [_TEXTS, _TEXT]}
    said |= {name: urls[name] for name in ("method", "headers", "body")}
    urls["urls"] = {"description": urls["urls"]["description"], "anyOf": [_TEXTS, _TEXT]}
    parts["Seed"]["required"] = ["seed_id", "site_id"]
    parts["Seed"]["anyOf"] = [
        {
            "required": ["task_type", "payload"],
            "not": {"anyOf": [{"required": [name]} for name in ("urls", "method", "headers", "body")]},
        },
        {"required": ["urls"], "properties": {"payload": False, "task_type": {"const": "urls"}}},
    ]
    parts["UrlList"] = {"anyOf": [parts["UrlList"], _TEXTS, _TEXT]}
    for name in ("match", "exclude"):
        also(parts["SitemapSource"]["properties"][name], _TEXT)
    parts["Template"]["properties"]["values"]["additionalProperties"] = {"anyOf": [_TEXTS, _TEXT]}
    also(said["timestamp"], {"type": "number"})
    also(parts["Schedule"]["properties"]["every"], DURATION)
