"""Sites and their pauses, and the sinks that their items go to."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import Field

from perseid.api.auth import Called, KeyFirst
from perseid.api.own.paging import PROBLEM, Limit, View, at
from perseid.api.own.published import After, sites_of
from perseid.runtime.sites import SinkView as SinkRow
from perseid.runtime.sites import SiteState

router = APIRouter(route_class=KeyFirst, responses={401: PROBLEM, 429: PROBLEM})
Named = Annotated[str, Path(max_length=100)]


class SiteView(View):
    site_id: str
    rule_version: int | None = Field(description="The one in use; null where no rule is published.")
    paused: bool
    reason: str = Field(description="Why it is paused.")
    paused_at: str | None


class SitePage(View):
    items: list[SiteView]
    next: str | None = Field(default=None, description="`after` of the next answer; null at the end.")


class Pause(View):
    reason: str = Field(default="", max_length=1000, description="For people.")


class SinkView(View):
    name: str
    connection: str | None = Field(description="Null where the sink is out of use.")
    table: str
    waiting: int = Field(description="Items in line.")
    batches: int = Field(description="Written so far.")
    held_until: str | None = Field(description="Not tried before.")
    attempts: int = Field(description="That failed in a row.")
    error: str = Field(description="Of the last one; empty where it went well.")


class Resend(View):
    site: str | None = Field(default=None, max_length=100, description="Only its items.")


class Checked(View):
    ok: bool
    wrong: list[str] = Field(description="What is wrong, in sentences.")


class Lined(View):
    items: int


@router.get("/sites", summary="Sites by name", tags=["sites"])
async def sites(request: Request, caller: Called, after: After = "", limit: Limit = 100) -> SitePage:
    found = await sites_of(request, caller).sites(after=after, limit=limit)
    following = found[-1].row.name if len(found) == limit else None
    return SitePage(items=[_site(each) for each in found], next=following)


@router.get("/sites/{site}", summary="One site", tags=["sites"], responses={404: PROBLEM})
async def site(request: Request, caller: Called, site: Named) -> SiteView:
    known = sites_of(request, caller)
    return _site(await known.state_of(await known.site(site)))


@router.post("/sites/{site}/pause", summary="Run no task of it", tags=["sites"], responses={404: PROBLEM})
async def pause(request: Request, caller: Called, site: Named, wanted: Pause | None = None) -> SiteView:
    known = sites_of(request, caller)
    return _site(await known.state_of(await known.pause(site, "" if wanted is None else wanted.reason)))


@router.post("/sites/{site}/resume", summary="Go on", tags=["sites"], responses={404: PROBLEM})
async def resume(request: Request, caller: Called, site: Named) -> SiteView:
    known = sites_of(request, caller)
    return _site(await known.state_of(await known.resume(site)))


@router.get("/sinks", summary="Where items go, and what waits", tags=["sinks"])
async def sinks(request: Request, caller: Called) -> list[SinkView]:
    """They are published as /api/configs/sink."""
    return [_sink(each) for each in await sites_of(request, caller).sinks()]


@router.post("/sinks/{name}/check", summary="Ask the target", tags=["sinks"], responses={404: PROBLEM})
async def check(request: Request, caller: Called, name: Named) -> Checked:
    """Whether items could go there: address, rights, table. No item is written by that; a sink that failed before and
    is all right again gets what waits for it at once, instead of at its next try.
    """
    ((_name, wrong),) = await sites_of(request, caller).check_sinks([name])
    return Checked(ok=not wrong, wrong=wrong)


@router.delete("/sinks/{name}/items", summary="Take all items out of its line", tags=["sinks"])
async def drop(request: Request, caller: Called, name: Named) -> Lined:
    """For a sink that nobody wants any more; the items themselves stay."""
    return Lined(items=await sites_of(request, caller).items.leave_line(caller.team, name))


@router.post("/sinks/{name}/resend", summary="Send all items again", tags=["sinks"], responses={404: PROBLEM})
async def resend(request: Request, caller: Called, name: Named, wanted: Resend | None = None) -> Lined:
    """For a new sink, or one whose target was lost."""
    site = None if wanted is None else wanted.site
    return Lined(items=await sites_of(request, caller).resend(name, site=site))


def _site(found: SiteState) -> SiteView:
    row = found.row
    return SiteView(
        site_id=row.name, rule_version=found.rule, paused=row.paused, reason=row.reason, paused_at=at(row.paused_at)
    )


def _sink(found: SinkRow) -> SinkView:
    spec, state = found.spec, found.state
    return SinkView(
        name=found.name,
        connection=None if spec is None else spec.connection,
        table="" if spec is None else spec.table,
        waiting=0 if state is None else state.waiting,
        batches=0 if state is None else state.settled,
        held_until=None if state is None else at(state.held_until),
        attempts=0 if state is None else state.attempts,
        error="" if state is None else state.error,
    )
