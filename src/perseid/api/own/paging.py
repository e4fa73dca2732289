"""Listings by cursor: an opaque place to go on from, good while rows are added and removed before it."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime
from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.exceptions import HTTPException

from perseid.errors import ConfigError

T = TypeVar("T")

Limit = Annotated[int, Query(ge=1, le=1000, description="Most items of one answer.")]
Cursor = Annotated[
    str | None, Query(max_length=64, description="`next` of the answer before; leave it out for the first.")
]


class View(BaseModel):
    """One thing as it is shown."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, serialize_by_alias=True)


class Page(View, Generic[T]):
    items: list[T]
    next: str | None = Field(default=None, description="Cursor of the next answer; null at the end.")


def position(cursor: str | None) -> int | None:
    """Raises `ConfigError` for what we never handed out."""
    if cursor is None:
        return None
    try:
        number = int(base64.urlsafe_b64decode(cursor.encode("ascii") + b"=="))
    except (ValueError, binascii.Error):
        number = -1
    if not 0 <= number < 2**63:
        raise ConfigError(f"{cursor!r} is no cursor of ours; leave it out to begin at the first item")
    return number


def cursor_of(number: int) -> str:
    return base64.urlsafe_b64encode(str(number).encode()).decode().rstrip("=")


def at(us: int | None) -> str | None:
    """RFC 3339 with milliseconds, UTC; None and the time before all times are null."""
    if not us or us < 0:
        return None
    moment = datetime.fromtimestamp(us / 1_000_000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


PROBLEM = {"description": "A problem (RFC 9457)", "content": {"application/problem+json": {}}}


def operators_only(team: int) -> None:
    """What is shared by all teams is shown to the default team, which is the operator's."""
    if team != 1:
        raise HTTPException(403, "Hosts, workers and figures of the whole store are the operator's (the default team).")
