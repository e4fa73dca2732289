"""`config show`: every setting with its value and where it came from."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from perseid.config.loading import Loaded, declared, entry, env_variable, mappings

MASK = "***"
_LOGIN = re.compile(r"(?<=://)[^/?#]*@")
_REST = re.compile(r"([?#]).+", re.DOTALL)


class Row(NamedTuple):
    """One setting; `value` is masked where it is a secret that is set."""

    name: str
    value: Any
    origin: str
    variable: str
    default: Any


def rows(loaded: Loaded) -> list[Row]:
    """All settings in the order of their declaration, then what the operator has named."""
    found = []
    named = [entry(section, name) for section in mappings() for name in sorted(getattr(loaded.settings, section))]
    for field in (*declared(), *named):
        section, _, member = field.name.partition(".")
        values = getattr(loaded.settings, section)
        value = values[member] if isinstance(values, dict) else getattr(values, member)
        if field.secret and value:
            value = _hidden(value)
        found.append(Row(field.name, value, loaded.origins[field.name], env_variable(field.name), field.default))
    return found


def _hidden(value: Any) -> str:
    """Of a URL the user, the password and what follows `?` or `#`; of anything else all of it."""
    if not isinstance(value, str) or "://" not in value:
        return MASK
    return _REST.sub(rf"\1{MASK}", _LOGIN.sub(f"{MASK}@", value), count=1)
