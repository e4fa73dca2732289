"""What was collected: items by their last change, those that were kept back, and the alarms about them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from pydantic import Field

from perseid.api.auth import Called, KeyFirst
from perseid.api.own.paging import PROBLEM, Cursor, Limit, Page, View, at, cursor_of, position
from perseid.api.own.published import sites_of
from perseid.errors import ConfigError
from perseid.items.rereading import Reread
from perseid.ports.items import Alarm, StoredException, StoredItem

router = APIRouter(route_class=KeyFirst, responses={400: PROBLEM, 401: PROBLEM, 429: PROBLEM})
_REREAD_S = 30.0
Site = Annotated[str | None, Query(max_length=100)]
Reason = Annotated[str | None, Query(max_length=1000, description="As `groups` shows it: `missing:title`.")]
RuleVersion = Annotated[int | None, Query(ge=0, lt=2**31, alias="ruleVersion")]


class ItemView(View):
    site_id: str
    unique_key: str
    fields: dict[str, Any]
    rule_version: int
    task_id: int
    seed_id: str
    url: str
    fetched_at: str | None
    updated_at: str | None
    change: int = Field(description="Grows over all items with each change of any.")


class ProblemView(View):
    field: str
    kind: str
    message: str
    raw: str | None = Field(default=None, description="What the page said.")
    fatal: bool = False


class ExceptionView(View):
    id: int
    site_id: str
    rule_version: int
    reason: str
    unique_key: str
    url: str
    fields: dict[str, Any]
    problems: list[ProblemView]
    task_id: int
    seed_id: str
    at: str | None


class GroupView(View):
    site_id: str
    rule_version: int
    reason: str
    count: int
    first_at: str | None
    last_at: str | None
    example: str = Field(description="The address of one of them.")


class Chosen(View):
    """Exceptions of a site; all of them, or of one rule version or reason."""

    site: str = Field(min_length=1, max_length=100)
    rule_version: int | None = Field(default=None, ge=0, lt=2**31)
    reason: str | None = Field(default=None, max_length=1000)


class Dropped(View):
    dropped: int


class RereadView(View):
    pages: int
    items: int = Field(description="Accepted: they are on their way to the sinks.")
    left: int = Field(description="Exceptions that these pages still give.")
    unread: int = Field(description="Pages left as they are: they can't be read, or their seed is gone.")
    complete: bool = Field(description="Whether all were read in the time that a request may take.")


class AlarmView(View):
    id: int
    site_id: str
    rule_version: int
    field: str
    rate: float = Field(description="Share of items without the field.")
    items: int
    raised_at: str | None
    cleared_at: str | None
    paused: bool = Field(description="It paused the site.")


@router.get("/items", summary="Items in the order of their last change", tags=["items"])
async def items(
    request: Request,
    caller: Called,
    site: Site = None,
    seed: Site = None,
    key: Annotated[str | None, Query(max_length=8192, description="One item of the site.")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Page[ItemView]:
    """`next` is where to go on later: it is there whenever anything was listed."""
    sites = sites_of(request, caller)
    if key is not None:
        if site is None:
            raise ConfigError("`key` is unique within a site; name that, too")
        one = await sites.items.item(caller.team, site, key)
        return Page(items=[] if one is None else [item_view(one)])
    found = await sites.items.items(caller.team, site=site, seed=seed, after=position(cursor) or 0, limit=limit)
    following = cursor_of(found[-1].change) if found else None
    return Page(items=[item_view(each) for each in found], next=following)


@router.get("/exceptions", summary="Items that were kept back", tags=["exceptions"])
async def exceptions(
    request: Request,
    caller: Called,
    site: Site = None,
    rule_version: RuleVersion = None,
    reason: Reason = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Page[ExceptionView]:
    found = await sites_of(request, caller).items.exceptions(
        caller.team,
        site=site,
        rule_version=rule_version,
        reason=reason,
        after=position(cursor) or 0,
        limit=limit,
    )
    following = cursor_of(found[-1].id) if len(found) == limit else None
    return Page(items=[exception_view(each) for each in found], next=following)


@router.get("/exceptions/groups", summary="By site, rule version and reason", tags=["exceptions"])
async def groups(request: Request, caller: Called, site: Site = None) -> list[GroupView]:
    """The largest first: what one change of a rule will probably mend."""
    return [
        GroupView(
            site_id=each.site,
            rule_version=each.rule_version,
            reason=each.reason,
            count=each.count,
            first_at=at(each.first_at),
            last_at=at(each.last_at),
            example=each.example,
        )
        for each in await sites_of(request, caller).items.groups(caller.team, site=site)
    ]


@router.post(
    "/exceptions/retry",
    summary="Read their pages again by the rule in use; nothing is fetched",
    tags=["exceptions"],
    responses={404: PROBLEM},
)
async def retry(request: Request, caller: Called, chosen: Chosen) -> RereadView:
    """Where `complete` is false, ask again for the earlier `ruleVersion`: what was read has the one in use by then."""
    done, complete = Reread(), True

    def tell(so_far: Reread) -> None:
        nonlocal done
        done = so_far

    try:
        async with asyncio.timeout(_REREAD_S):
            await sites_of(request, caller).reread(
                chosen.site, rule_version=chosen.rule_version, reason=chosen.reason, tell=tell
            )
    except TimeoutError:
        complete = False
    return RereadView(pages=done.pages, items=done.items, left=done.exceptions, unread=done.unread, complete=complete)


@router.post("/exceptions/drop", summary="Forget them for good", tags=["exceptions"])
async def drop(request: Request, caller: Called, chosen: Chosen) -> Dropped:
    dropped = await sites_of(request, caller).items.drop_exceptions(
        caller.team, site=chosen.site, rule_version=chosen.rule_version, reason=chosen.reason
    )
    return Dropped(dropped=dropped)


@router.get("/alarms", summary="Fields that too many items lack", tags=["exceptions"])
async def alarms(
    request: Request,
    caller: Called,
    site: Site = None,
    is_open: Annotated[bool, Query(alias="open", description="Only those that still hold.")] = True,
    limit: Limit = 100,
) -> list[AlarmView]:
    """The newest first."""
    found = await sites_of(request, caller).items.alarms(caller.team, site=site, is_open=is_open, limit=limit)
    return [alarm_view(each) for each in found]


def item_view(item: StoredItem) -> ItemView:
    return ItemView(
        site_id=item.site,
        unique_key=item.key,
        fields=msgspec.json.decode(item.fields),
        rule_version=item.rule_version,
        task_id=item.task,
        seed_id=item.seed,
        url=item.url,
        fetched_at=at(item.fetched_at),
        updated_at=at(item.updated_at),
        change=item.change,
    )


def exception_view(found: StoredException) -> ExceptionView:
    return ExceptionView(
        id=found.id,
        site_id=found.site,
        rule_version=found.rule_version,
        reason=found.reason,
        unique_key=found.key,
        url=found.url,
        fields=msgspec.json.decode(found.fields),
        problems=[ProblemView(**each) for each in msgspec.json.decode(found.problems)],
        task_id=found.task,
        seed_id=found.seed,
        at=at(found.at),
    )


def alarm_view(alarm: Alarm) -> AlarmView:
    return AlarmView(
        id=alarm.id,
        site_id=alarm.site,
        rule_version=alarm.rule_version,
        field=alarm.field,
        rate=alarm.rate,
        items=alarm.n,
        raised_at=at(alarm.at),
        cleared_at=at(alarm.cleared_at),
        paused=alarm.paused,
    )
