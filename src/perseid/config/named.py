"""What the operator has named: seeds and sinks say the name, only the settings say where that is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from perseid.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perseid.config.settings import Settings


OF_TEAM = "__"


def prefix_of(team: str) -> str:
    """What the names begin with that the operator gives to this team alone: `acme__`."""
    return re.sub(r"[^a-z0-9]+", "_", team.lower()) + OF_TEAM


def of_team(names: Iterable[str], team: str) -> frozenset[str]:
    """Those that the team may name."""
    return frozenset(name for name in names if name.startswith(prefix_of(team)))


def connection(settings: Settings, name: str) -> str:
    """The address behind a name. Raises `ConfigError` with the names that exist."""
    return _look_up(settings.connections, "connection", name)


def folder(settings: Settings, name: str) -> str:
    """The path behind a name. Raises `ConfigError` with the names that exist."""
    return _look_up(settings.folders, "folder", name)


def _look_up(entries: dict[str, str], kind: str, name: str) -> str:
    if name in entries:
        return entries[name]
    there = f"there are: {', '.join(sorted(entries))}" if entries else "there is none"
    raise ConfigError(
        f"no {kind} is named {name!r} in the settings; {there}. The operator names one under [{kind}s], or as"
        f" PERSEID_{kind.upper()}S__{name.upper()}"
    )
