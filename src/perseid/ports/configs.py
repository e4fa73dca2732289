"""What analysts and operators publish: rules and other named objects, each with all its versions."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol

import msgspec


class ConfigKind(StrEnum):
    """What a published object is; the body of each is JSON of its own shape."""

    RULE = "rule"
    PROXY_POOL = "proxy_pool"
    IDENTITY_POOL = "identity_pool"
    LIMITS = "limits"
    BLOCK_LIST = "block_list"
    SEED_TEMPLATE = "seed_template"
    SINK = "sink"


class NewVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A body to publish. `body` is JSON that its publisher has validated."""

    team: int
    kind: ConfigKind
    name: str
    body: bytes
    author: str = ""
    message: str = ""
    restores: int | None = None
    """The version whose body this is again: a rollback."""
    expected: int | None = None
    """Publish only on top of this version (0: only where there is none); None on top of whatever there is."""


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One published version; numbers are dense from 1 for each object. `at` is µs, the store's clock."""

    team: int
    kind: ConfigKind
    name: str
    version: int
    body: bytes
    author: str
    message: str
    restores: int | None
    at: int


class Changed(NamedTuple):
    """An object that changed; `version` is its head, 0 where it was retired."""

    team: int
    kind: ConfigKind
    name: str
    version: int


class Configs(Protocol):
    """Versions are never altered, only added. Raises `StoreUnavailable` where a retry helps."""

    async def publish(self, new: NewVersion) -> Version:
        """Add a version and make it the head (durable). The head as it is where its body is the same.

        Raises `VersionConflict` where the head is not `expected`.
        """
        ...

    async def retire(self, team: int, kind: ConfigKind, name: str) -> bool:
        """Nobody uses it from now on; its versions stay, publishing takes it up again. False where there is none."""
        ...

    async def head(self, team: int, kind: ConfigKind, name: str) -> Version | None: ...

    async def version(self, team: int, kind: ConfigKind, name: str, version: int) -> Version | None:
        """Any version, of a retired object too."""
        ...

    async def history(
        self, team: int, kind: ConfigKind, name: str, *, before: int | None = None, limit: int = 100
    ) -> list[Version]:
        """Versions of one object, the newest first."""
        ...

    async def heads(self, team: int, kind: ConfigKind, *, after: str = "", limit: int = 100) -> list[Version]:
        """The objects in use, by name."""
        ...

    async def changed(self) -> int:
        """A counter that grows with each publication and retirement of anything; cheap."""
        ...

    async def changed_since(self, counter: int, *, limit: int = 1_000) -> tuple[int, list[Changed]]:
        """What changed after `counter`, each object once, and the counter up to which that is all."""
        ...
