"""Who publishes says on top of what: nobody's version is buried unseen."""

from __future__ import annotations

from perseid.errors import VersionConflict
from perseid.ports.configs import NewVersion
from perseid.ports.seeds import NewSeed


def seed_changed(new: NewSeed) -> VersionConflict:
    """The seed is not of the edition that was to be replaced."""
    return VersionConflict(f"somebody else has changed the seed {new.seed!r}; look at what changed and put it again")


def on_top_of(head: int, new: NewVersion) -> None:
    """Raises `VersionConflict` where the version in use (0: there is none) is not the expected one."""
    if new.expected is None or new.expected == head:
        return
    now = f"version {head} is in use" if head else "none is in use"
    wanted = f"version {new.expected}" if new.expected else "none"
    raise VersionConflict(f"{new.kind} {new.name!r}: {now}, not {wanted}; look at what changed and publish again")
