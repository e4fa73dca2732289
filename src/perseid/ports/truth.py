"""The truth as a whole: what every database behind Perseid offers to the process that opened it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import msgspec

from perseid.ports.configs import Configs
from perseid.ports.delivery import Outlook
from perseid.ports.inspect import Inspect
from perseid.ports.items import Items
from perseid.ports.known import Known
from perseid.ports.limit import Blocks
from perseid.ports.outbox import Outbox
from perseid.ports.pages import PageCache
from perseid.ports.seeds import Seeds
from perseid.ports.store import Store
from perseid.ports.teams import Teams


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One finding about the database itself; `advice` says what to do where `ok` is false."""

    name: str
    ok: bool
    detail: str
    advice: str = ""


class Relocation(NamedTuple):
    """This database is not the truth: it is being filled from another one, or all it had was copied there."""

    arrived: bool
    """It is being filled; else it was left."""
    other: str
    at: int


class Truth(Store, Inspect, Teams, Outlook, Blocks, Protocol):
    """All sides of a store in one object."""

    @property
    def outbox(self) -> Outbox: ...

    @property
    def items(self) -> Items: ...

    @property
    def known(self) -> Known: ...

    @property
    def configs(self) -> Configs: ...

    @property
    def seeds(self) -> Seeds: ...

    @property
    def pages(self) -> PageCache: ...

    async def relocation(self) -> Relocation | None: ...

    async def checks(self) -> list[Check]:
        """What the operator should know of the database: version, room, connections. Raises `StoreUnavailable`."""
        ...
