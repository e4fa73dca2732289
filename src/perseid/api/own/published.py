"""Rules, and what is published beside them: versions, rolling back, differences. `/api/rules/{name}` is short for
`/api/configs/rule/{name}`.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import Field

from perseid.api.auth import Called, Caller, KeyFirst
from perseid.api.own.paging import PROBLEM, Cursor, Limit, Page, View, at, cursor_of, position
from perseid.errors import ConfigError
from perseid.ports.configs import ConfigKind, Version
from perseid.publishing.draft import Draft, draft
from perseid.publishing.publisher import Published, Publisher, said
from perseid.runtime.service import Service
from perseid.runtime.sites import Sites

_MOST = 2**31 - 1
Name = Annotated[str, Path(max_length=100, description="For a rule, its `site_id`.")]
Number = Annotated[int, Path(ge=1, le=_MOST, description="Of a version; they count from 1.")]
VersionNumber = Annotated[int | None, Query(ge=1, le=_MOST)]
After = Annotated[str, Query(max_length=100, description="Only names behind this one.")]


class Text(View):
    """What is to be published or tried: as JSON, or as the text of a YAML or JSON file."""

    body: dict[str, Any] | None = None
    text: str | None = None


class Publication(Text):
    message: str = Field(default="", max_length=1000, description="Why.")
    author: str | None = Field(default=None, max_length=200, description="Who; the name of the key by default.")
    expected: int | None = Field(
        default=None, ge=0, le=_MOST, description="Only on top of this version; 0 where there must be none."
    )


class Restoration(View):
    version: int | None = Field(default=None, ge=1, le=_MOST, description="That before the one in use, where null.")
    message: str = Field(default="", max_length=1000)
    author: str | None = Field(default=None, max_length=200)
    expected: int | None = Field(default=None, ge=0, le=_MOST)


class VersionView(View):
    kind: ConfigKind
    name: str
    version: int
    author: str
    message: str
    restores: int | None = Field(description="The earlier version whose body this is again.")
    published_at: str | None


class VersionDetail(VersionView):
    body: dict[str, Any]


class PublishedView(VersionView):
    published: bool = Field(description="False where the version in use says the same: nothing was added.")
    warnings: list[str]


class Retired(View):
    retired: bool


class ChangeView(View):
    path: str
    kind: str
    before: Any = None
    after: Any = None


class NamePage(View):
    items: list[VersionView]
    next: str | None = Field(default=None, description="`after` of the next answer; null at the end.")


def known_kind(kind: ConfigKind) -> ConfigKind:
    return kind


rules = APIRouter(
    route_class=KeyFirst, prefix="/rules", tags=["rules"], responses={400: PROBLEM, 401: PROBLEM, 429: PROBLEM}
)
configs = APIRouter(
    route_class=KeyFirst,
    prefix="/configs/{kind}",
    tags=["configs"],
    dependencies=[Depends(known_kind)],
    responses={400: PROBLEM, 401: PROBLEM, 429: PROBLEM},
)


async def listing(request: Request, caller: Called, after: After = "", limit: Limit = 100) -> NamePage:
    found = await _publisher(request, caller).heads(_kind(request), after=after, limit=limit)
    return NamePage(items=[view(each) for each in found], next=found[-1].name if len(found) == limit else None)


async def show(request: Request, caller: Called, name: Name) -> VersionDetail:
    return detail(await _publisher(request, caller).head(_kind(request), name))


async def publish(request: Request, caller: Called, name: Name, new: Publication) -> PublishedView:
    """Workers use it from their next task on. What is in use already is left as it is."""
    publisher = _publisher(request, caller, new.author)
    drafted = await read(new, _kind(request), name, publisher)
    return _published(await publisher.publish(drafted, message=new.message, expected=new.expected))


async def retire(request: Request, caller: Called, name: Name) -> Retired:
    """Its versions stay, and publishing takes it up again."""
    await _publisher(request, caller).retire(_kind(request), name)
    return Retired(retired=True)


async def versions(
    request: Request, caller: Called, name: Name, cursor: Cursor = None, limit: Limit = 100
) -> Page[VersionView]:
    found = await _publisher(request, caller).history(_kind(request), name, before=position(cursor), limit=limit)
    following = cursor_of(found[-1].version) if len(found) == limit else None
    return Page(items=[view(each) for each in found], next=following)


async def version(request: Request, caller: Called, name: Name, number: Number) -> VersionDetail:
    return detail(await _publisher(request, caller).version(_kind(request), name, number))


async def rollback(request: Request, caller: Called, name: Name, wanted: Restoration | None = None) -> PublishedView:
    """Publish an earlier version again, as a new one."""
    wanted = wanted or Restoration()
    publisher = _publisher(request, caller, wanted.author)
    return _published(
        await publisher.rollback(_kind(request), name, wanted.version, message=wanted.message, expected=wanted.expected)
    )


async def diff(
    request: Request, caller: Called, name: Name, old: VersionNumber = None, new: VersionNumber = None
) -> list[ChangeView]:
    """From the version before to the one in use, unless others are named."""
    found = await _publisher(request, caller).diff(_kind(request), name, old, new)
    return [ChangeView.model_validate(msgspec.to_builtins(change)) for change in found]


_MISSING: dict[int | str, dict[str, Any]] = {404: PROBLEM}
_STALE: dict[int | str, dict[str, Any]] = {404: PROBLEM, 409: PROBLEM}
for router in (rules, configs):
    router.add_api_route("", listing, methods=["GET"], summary="What is in use, by name")
    router.add_api_route("/{name}", show, methods=["GET"], summary="The version in use", responses=_MISSING)
    router.add_api_route("/{name}", publish, methods=["PUT"], summary="Publish a version", responses=_STALE)
    router.add_api_route("/{name}", retire, methods=["DELETE"], summary="Take it out of use", responses=_MISSING)
    router.add_api_route("/{name}/versions", versions, methods=["GET"], summary="Newest first", responses=_MISSING)
    router.add_api_route(
        "/{name}/versions/{number}", version, methods=["GET"], summary="Any version", responses=_MISSING
    )
    router.add_api_route("/{name}/rollback", rollback, methods=["POST"], summary="Roll back", responses=_STALE)
    router.add_api_route("/{name}/diff", diff, methods=["GET"], summary="What changed", responses=_MISSING)


async def read(new: Text, kind: ConfigKind, name: str, publisher: Publisher) -> Draft:
    """Raises `Invalid`, `ConfigError`."""
    if (new.body is None) == (new.text is None):
        raise ConfigError("say what is to be published: `body` as JSON, or `text` of a file, one of the two")
    written = msgspec.json.encode(new.body) if new.text is None else new.text.encode("utf-8", "replace")
    is_json = True if new.text is None else None
    return await asyncio.to_thread(draft, kind, written, name=name, is_json=is_json, targets=publisher.targets)


def view(found: Version) -> VersionView:
    return VersionView(**_fields(found))


def detail(found: Version) -> VersionDetail:
    return VersionDetail(**_fields(found), body=said(found))


def _published(done: Published) -> PublishedView:
    return PublishedView(**_fields(done.version), published=done.fresh, warnings=list(done.notes))


def _fields(found: Version) -> dict[str, Any]:
    return {
        "kind": found.kind,
        "name": found.name,
        "version": found.version,
        "author": found.author,
        "message": found.message,
        "restores": found.restores,
        "published_at": at(found.at),
    }


def _kind(request: Request) -> ConfigKind:
    return ConfigKind(request.path_params.get("kind", ConfigKind.RULE))


def _publisher(request: Request, caller: Caller, author: str | None = None) -> Publisher:
    return sites_of(request, caller, author).publishing


def sites_of(request: Request, caller: Caller, author: str | None = None) -> Sites:
    service: Service = request.app.state.service
    said = caller.name if author is None else author
    return service.sites(caller.team, author=said, team_name=caller.team_name)
