"""Where items go: a target that takes batches, each of which may come again."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from perseid.ports.items import Batch

Mode: TypeAlias = Literal["replace", "merge"]


class SinkSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A published sink (`ConfigKind.SINK`): one of the operator's connections, and what of it."""

    connection: str
    """Name of a connection in the settings, or of a folder where no connection is called so."""
    table: str = ""
    """Table, collection, file or prefix there, `{site}` in it being the site's name; that alone where empty."""
    mode: Mode = "replace"
    """What a newer version of an item does to fields that it lacks: they become null, or stay."""
    create: bool = True
    """Make what is missing there."""
    fields: tuple[str, ...] = ()
    """Only these; all where empty."""
    format: str = ""
    """Of files: jsonl, csv, parquet."""
    options: dict[str, Any] = {}


class Reached(NamedTuple):
    """What a target has durably. `position` comes back with the next batch: where a file ended, say.

    `notes` are sentences about values that the target could not take.
    """

    position: bytes = b""
    notes: tuple[str, ...] = ()


class SinkFailure(Exception):
    """The target did not take the batch; the message says what to do, and holds no secret.

    `lasting` where trying again can't help until somebody changes something; `again_s` if the target asked for that
    much patience.
    """

    def __init__(self, message: str, *, lasting: bool = False, again_s: float | None = None) -> None:
        super().__init__(message)
        self.lasting = lasting
        self.again_s = again_s


class Sink(Protocol):
    """One target. Raises `SinkFailure` for all that can go wrong there, and nothing else."""

    async def check(self) -> list[str]:
        """What is wrong with the target's schema and rights, in sentences; empty where items can go there."""
        ...

    async def write(self, batch: Batch) -> Reached:
        """Make the batch durable. The same batch may come again after a crash, with the same `position`: once is once.

        An item never replaces one that was fetched later.
        """
        ...

    async def close(self) -> None: ...
