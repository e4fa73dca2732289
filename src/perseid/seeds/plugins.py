"""Sources of addresses that other packages bring along.

A package names them as entry points of the group `perseid.sources`. Their names are task types and hold a dot, so that
none is ever taken by a source of ours:

    [project.entry-points."perseid.sources"]
    "acme.catalogue" = "acme_perseid:Catalogue"

What stands behind the name is a class without arguments, or an object, that is a `Source`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol, runtime_checkable

from perseid.errors import ConfigError
from perseid.seeds.expansion import Asks, Stepped

GROUP = "perseid.sources"


@runtime_checkable
class Source(Protocol):
    """One kind of source. `options` are what the seed's payload says beside `method`, `headers`, `body` and `page`."""

    def check(self, options: Mapping[str, Any]) -> Iterable[str]:
        """All that is wrong with them, each as a sentence for people: `pages: a whole number is wanted, not 'x'`."""
        ...

    async def step(self, options: Mapping[str, Any], cursor: bytes | None, asks: Asks) -> Stepped:
        """Go on from the cursor (None: begin), as `perseid.seeds.expansion` says. Raises `SourceFailed`."""
        ...


def names() -> list[str]:
    """The task types that plug-ins bring along."""
    return sorted(_found())


@lru_cache(maxsize=100)
def source(name: str) -> Source:
    """Raises ConfigError where there is none of that name, or it can't be used."""
    entry = _found().get(name)
    if entry is None:
        raise ConfigError(f"no package brings the task type {name!r} along (entry points of {GROUP})")
    try:
        loaded = entry.load()
        made = loaded() if isinstance(loaded, type) else loaded
    except Exception as error:  # whatever its module raises, it is the plug-in that can't be used
        raise ConfigError(f"the source {name!r} ({entry.value}) can't be loaded: {error!r}") from error
    if not isinstance(made, Source):
        raise ConfigError(f"the source {name!r} ({entry.value}) has no `check` and `step`")
    return made


def _found() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP) if "." in entry.name}
