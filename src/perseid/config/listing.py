"""`config show`: every setting with its value and where it came from."""

from __future__ import annotations

from typing import Any, NamedTuple

from perseid.config.loading import Loaded, declared, env_variable

MASK = "***"


class Row(NamedTuple):
    """One setting; `value` is masked where it is a secret that is set."""

    name: str
    value: Any
    origin: str
    variable: str
    default: Any


def rows(loaded: Loaded) -> list[Row]:
    """All settings in the order of their declaration."""
    found = []
    for field in declared():
        section, _, member = field.name.partition(".")
        value = getattr(getattr(loaded.settings, section), member)
        if field.secret and value:
            value = MASK
        found.append(Row(field.name, value, loaded.origins[field.name], env_variable(field.name), field.default))
    return found
