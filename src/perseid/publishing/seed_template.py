"""Named beginnings of seeds: what many seeds have in common is published once, and each says only the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta, Struct

from perseid.model.rule import Name, Text
from perseid.model.seed import Schedule
from perseid.rules.complaint import nearest
from perseid.seeds import plugins
from perseid.seeds.loading import KINDS


class SeedTemplate(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Any part of a seed's flat form; the seed that names it fills in the rest."""

    site_id: Annotated[Name | None, Meta(description="Which rule reads the pages.")] = None
    task_type: Annotated[Text | None, Meta(description="Where the addresses come from.")] = None
    payload: Annotated[dict[str, Any], Meta(description="By `task_type`; a seed's own keys stand above it.")] = {}
    schedule: Annotated[Schedule | None, Meta(description="When seeds run.")] = None
    priority: Annotated[int, Meta(ge=0, le=9, description="Of seeds that are due.")] | None = None
    force: Annotated[bool | None, Meta(description="Collect pages again that were collected before.")] = None
    description: Annotated[str, Meta(description="For people.")] = ""


def faults(value: SeedTemplate) -> Iterator[tuple[str, str]]:
    """What is wrong: (path, sentence). Whether a seed is whole can be told only of the seed."""
    known = (*KINDS, *plugins.names())
    if value.task_type is not None and value.task_type not in known:
        hint = nearest(value.task_type, known) or f" Allowed are {', '.join(known)}."
        yield "task_type", f"there is no task type {value.task_type!r}.{hint}"


def filled(template: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The seed in its flat form: what is given stands above the template, within `payload` key by key."""
    base = {name: value for name, value in template.items() if name != "description"}
    own = {name: value for name, value in given.items() if name != "template"}
    return {**base, **own, "payload": _over(base.get("payload", {}), own.get("payload", {}))}


def _over(below: Any, above: Any) -> Any:
    """What a template's own placeholders stand for may be said by both."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    merged = {**below, **above}
    if "values" in below and "values" in above:
        merged["values"] = _over(below["values"], above["values"])
    return merged
