"""From a text that somebody wrote to a draft that may be published, or to all that is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from perseid.errors import ConfigError
from perseid.model.rule import Name
from perseid.ports.configs import ConfigKind
from perseid.publishing.kinds import shape_of
from perseid.rules.complaint import Complaint
from perseid.rules.loading import dumped, load
from perseid.rules.shaped import shaped

if TYPE_CHECKING:
    from perseid.ports.configs import Version
    from perseid.publishing.kinds import Targets


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A body that holds for its kind. `body` is JSON of its full form: equal drafts have equal bodies."""

    kind: ConfigKind
    name: str
    body: bytes
    value: Any
    """What the body says: a rule, a `SinkSpec` …"""
    warnings: tuple[Complaint, ...] = ()


def draft(
    kind: ConfigKind,
    text: str | bytes,
    *,
    name: str = "",
    file: str = "",
    is_json: bool | None = None,
    targets: Targets | None = None,
) -> Draft:
    """A draft from its text; JSON where `is_json`, or where None and the text begins with a brace, else YAML.

    A rule's name is its `site_id`; a `name` that differs is refused. `targets` are what sinks may name, None for
    anything. Raises `Invalid` with all complaints, `ConfigError` for a name that is none.
    """
    file = file or f"{kind.value} {name}".strip()
    if kind is ConfigKind.RULE:
        found = load(text, file, is_json=is_json)
        if name not in ("", found.rule.site_id):
            raise ConfigError(f"{file}: the rule is of the site {found.rule.site_id!r}, not of {name!r}")
        return Draft(
            kind=kind,
            name=found.rule.site_id,
            body=_canonical(found.rule),
            value=found.rule,
            warnings=found.warnings,
        )
    checked_name(name)
    shape = shape_of(kind)
    value = shaped(text, shape.type, file, is_json=is_json, faults=lambda made: shape.faults(made, targets))
    return Draft(kind=kind, name=name, body=_canonical(value), value=value)


def redraft(version: Version) -> Draft:
    """What was published before, read again. Raises as `draft` does, where this release reads it otherwise."""
    file = f"version {version.version} of {version.name}"
    return draft(version.kind, version.body, name=version.name, file=file, is_json=True)


def checked_name(name: str) -> str:
    """Raises `ConfigError` for what no object can be called."""
    try:
        return msgspec.convert(name, Name)
    except msgspec.ValidationError:
        message = f"{name[:120]!r} is no name; it is made of letters, digits, _, . and -, a letter or digit first"
        raise ConfigError(message) from None


def _canonical(value: msgspec.Struct) -> bytes:
    return msgspec.json.encode(dumped(value))
