"""From the text of a seed to the seed, or to all that is wrong with it; and back to its flat form.

The flat form is `{seed_id, site_id, task_type, payload, schedule, priority, timestamp}` and `force`, `limit`, `rule`.
The original body of `POST /dispatch`, `{seed_id, site_id, urls, parse_rule}`, is a short form of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec
from msgspec import Meta, Struct

from perseid.model import seed as model
from perseid.model.rule import Name, Text
from perseid.model.seed import PluginSource, Schedule, Seed
from perseid.rules.checking import Checker, type_of
from perseid.rules.complaint import Complaint, Complaints, Invalid, clipped, nearest
from perseid.rules.loading import dumped as plain
from perseid.rules.place import Places
from perseid.rules.shaped import file_body, tree
from perseid.rules.tree import Branch, Listing, Mapping, Path, Scalar
from perseid.rules.tree import plain as values_of
from perseid.seeds import meaning, plugins
from perseid.seeds.rule import own_rule
from perseid.seeds.shorthand import written_out

if TYPE_CHECKING:
    from pathlib import Path as File

KINDS: dict[str, type[Struct]] = {
    "urls": model.UrlList,
    "template": model.Template,
    "sitemap": model.SitemapSource,
    "feed": model.FeedSource,
    "api": model.ApiSource,
    "sql": model.SqlSource,
    "csv": model.CsvSource,
}
"""What the payload of each task type is."""

MAX_BYTES = 10_000_000
"""Of one file: some 100,000 addresses. More of them come from CSV or a database."""
_OF_TASKS = ("method", "headers", "body", "page")


class SeedInvalid(Invalid):
    """A seed that can't be used."""

    code = "seed_invalid"
    what = "seed"


class Loaded(Struct, frozen=True):
    """The seeds of a file, in its order, and what is worth knowing about it (warnings only)."""

    seeds: tuple[Seed, ...]
    warnings: tuple[Complaint, ...] = ()

    @property
    def seed(self) -> Seed:
        """The first, which mostly is the only one."""
        return self.seeds[0]


class Flat(Struct, frozen=True, kw_only=True):
    """A seed as it is written; its payload is checked by its task type."""

    seed_id: Annotated[Name, Meta(description="The seed's name, unique within the team.")]
    site_id: Annotated[Name, Meta(description="Which rule reads its pages.")]
    task_type: Annotated[Text, Meta(description="Where its addresses come from.")]
    payload: Annotated[Any, Meta(description="What there is to say about that, by `task_type`.")]
    schedule: Annotated[Schedule | None, Meta(description="When it runs; at once and once where unsaid.")] = None
    priority: Annotated[int, Meta(ge=0, le=9, description="Of seeds that are due, the higher begins first.")] = 5
    timestamp: Annotated[Text | None, Meta(description="When it was written; kept as it is.")] = None
    force: Annotated[bool, Meta(description="Collect pages again that were collected before.")] = False
    limit: Annotated[int, Meta(ge=1, description="At most so many tasks a run; what lies beyond is left.")] = 1_000_000
    rule: Annotated[
        Any, Meta(description="A rule for this seed alone, or only its selectors; `parse_rule` is the same.")
    ] = None


def load_file(path: File) -> Loaded:
    """One seed, or a list of them. Raises SeedInvalid, ConfigError where the file can't be read, and MissingExtra."""
    return load(file_body(path, "seed"), str(path), is_json=path.suffix.lower() == ".json")


def load(text: str | bytes, name: str = "seed.yaml", *, is_json: bool | None = None) -> Loaded:
    """One seed or a list of them; JSON where `is_json`, or where None and the text begins so, else YAML.

    Raises SeedInvalid with all complaints.
    """
    complaints = Complaints(name)
    if is_json is None:
        begun = text.lstrip()[:1]
        is_json = begun in ("{", "[", b"{", b"[")
    root = tree(text, complaints, is_json=is_json, max_bytes=MAX_BYTES)
    seeds = [] if root is None else _all(root, complaints)
    if complaints.fatal:
        raise SeedInvalid(complaints.sorted())
    return Loaded(tuple(seeds), tuple(complaints.sorted()))


def from_value(value: Any, name: str = "seed") -> Loaded:
    """From a JSON value, such as the body of `POST /dispatch`. Raises SeedInvalid; all its places are line 1."""
    return load(msgspec.json.encode(value), name, is_json=True)


def dumped(seed: Seed) -> dict[str, Any]:
    """The flat form, as JSON has it; what is as by default isn't in it."""
    payload: dict[str, Any] = plain(seed.source)
    kind = str(type(seed.source).__struct_config__.tag)
    if isinstance(seed.source, PluginSource):
        kind = payload.pop("name")
        payload = {**payload.pop("options", {}), **payload}
    out: dict[str, Any] = {"seed_id": seed.seed_id, "site_id": seed.site_id, "task_type": kind, "payload": payload}
    rest = plain(seed)
    return out | {
        name: rest[name] for name in ("schedule", "priority", "timestamp", "force", "limit", "rule") if name in rest
    }


def _all(root: Branch, complaints: Complaints) -> list[Seed]:
    if not isinstance(root, Listing):
        return _found(_one(root, (), complaints))
    if not root.members:
        complaints.error((), root.place, "the list of seeds is empty")
    seeds: list[Seed] = []
    for at, member in enumerate(root.members):
        for seed in _found(_one(member, (at,), complaints)):
            if any(seed.seed_id == other.seed_id for other in seeds):
                complaints.error((at, "seed_id"), member.place, f"{seed.seed_id!r} stands in the list twice")
            seeds.append(seed)
    return seeds


def _found(seed: Seed | None) -> list[Seed]:
    return [] if seed is None else [seed]


def _one(root: Branch, path: Path, complaints: Complaints) -> Seed | None:
    if not isinstance(root, Mapping):
        complaints.error(path, root.place, "a seed is a mapping; it begins with `seed_id: NAME`")
        return None
    earlier = len(complaints.found)
    full = written_out(root)
    value = Checker(complaints).value(type_of(Flat), full, path)
    source = _source(full, path, complaints)
    rule = own_rule(full, path, complaints)
    begun = len(complaints.found)
    if source is None:
        return None
    # What is missing was complained about; the rest can be looked at all the same.
    flat = msgspec.convert({"seed_id": "unnamed", "site_id": "unnamed", "payload": None, **value}, Flat)
    seed = Seed(
        seed_id=flat.seed_id,
        site_id=flat.site_id,
        source=source,
        schedule=flat.schedule or Schedule(),
        priority=flat.priority,
        force=flat.force,
        limit=flat.limit,
        rule=rule,
        timestamp=flat.timestamp,
    )
    meaning.check(seed, Places(complaints, full, root.place, path))
    complaints.forget(begun)
    return None if any(each.severity == "error" for each in complaints.found[earlier:]) else seed


def _source(full: Mapping, path: Path, complaints: Complaints) -> model.Payload | None:
    kind, payload = full.members.get("task_type"), full.members.get("payload")
    if not isinstance(kind, Scalar) or not isinstance(kind.value, str) or payload is None:
        return None  # complained about already
    known = KINDS.get(kind.value)
    if known is None:
        return _plugin(kind, payload, path, complaints)
    value = Checker(complaints).value(type_of(known), payload, (*path, "payload"))
    if not isinstance(value, dict):
        return None
    try:
        return cast("model.Payload", msgspec.convert({**value, "task_type": kind.value}, known))
    except msgspec.ValidationError:
        return None  # complained about by the checker


def _plugin(kind: Scalar, payload: Branch, path: Path, complaints: Complaints) -> PluginSource | None:
    name = str(kind.value)
    others = plugins.names()
    if name not in others:
        allowed = (*KINDS, *others)
        hint = nearest(name, allowed) or f" Allowed are {', '.join(allowed)}."
        complaints.error((*path, "task_type"), kind.place, f"there is no task type {clipped(name)!r}.{hint}")
        return None
    if not isinstance(payload, Mapping):
        complaints.error((*path, "payload"), payload.place, "a mapping is wanted here")
        return None
    members = {each: member for each, member in payload.members.items() if each in _OF_TASKS}
    own = Mapping({**members, "name": Scalar(name, payload.place, name)}, payload.place, payload.keys)
    value = Checker(complaints).value(type_of(PluginSource), own, (*path, "payload"))
    options = {each: values_of(member) for each, member in payload.members.items() if each not in _OF_TASKS}
    try:
        return msgspec.convert({**value, "options": options, "task_type": "plugin"}, PluginSource)
    except msgspec.ValidationError:
        return None  # complained about by the checker
