"""Trying a rule before it is published: on a page, and on the pages that were kept."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from pydantic import Field

from perseid.api.auth import Called, Caller, KeyFirst
from perseid.api.own.items import ProblemView
from perseid.api.own.paging import PROBLEM, View
from perseid.api.own.published import Name, Text, read, sites_of
from perseid.errors import ScrapeFailed
from perseid.model.options import ScrapeOptions
from perseid.model.rule import PageKind, Rule
from perseid.model.terms import Terms
from perseid.ports.configs import ConfigKind
from perseid.publishing.draft import redraft
from perseid.rules.extracting import extract
from perseid.rules.page import Page
from perseid.runtime.service import Service

router = APIRouter(
    route_class=KeyFirst,
    prefix="/rules/{name}",
    tags=["rules"],
    responses={400: PROBLEM, 401: PROBLEM, 404: PROBLEM, 429: PROBLEM},
)
_PAGE_S = 60.0
_COMPARED_S = 30.0
"""For looking at pages; `perseid rules test --stored` looks at all of them."""


class Trial(Text):
    """Without `body` and `text` the rule in use is tried."""

    url: str = Field(max_length=8192, description="Where the page is; it is fetched where `content` is null.")
    content: str | None = Field(default=None, description="Its source, HTML or JSON.")
    content_type: str | None = Field(default=None, max_length=200)
    kind: PageKind | None = Field(default=None, description="What led there; that of a seed's pages, where null.")


class FoundItem(View):
    unique_key: str
    fields: dict[str, Any]
    problems: list[ProblemView]
    sound: bool = Field(description="Whether it would go to the sinks.")


class OnwardView(View):
    url: str
    kind: str
    list_page: int


class TrialView(View):
    url: str
    items: list[FoundItem]
    follow: list[OnwardView]
    notes: list[str]


class PageChange(View):
    url: str
    fields: dict[str, tuple[Any, Any]] = Field(description="By path: what the rule in use reads, and what this one.")
    lost: int = Field(description="Items that only the rule in use finds.")
    gained: int
    broken: int = Field(description="Items that were sound.")
    mended: int


class Comparison(View):
    changes: list[PageChange]
    complete: bool = Field(description="Whether all pages were looked at: not where there are more, or too many.")


@router.post("/test", summary="What a rule finds on a page", responses={502: PROBLEM})
async def test(request: Request, caller: Called, name: Name, trial: Trial) -> TrialView:
    """A page is fetched as a scrape fetches it, without the rule's policy."""
    rule = await _rule(request, caller, name, trial)
    page = await _page(request, caller, trial)
    found = await asyncio.to_thread(extract, rule, page, trial.kind)
    return TrialView(
        url=page.url,
        items=[
            FoundItem(
                unique_key=item.key,
                fields=msgspec.to_builtins(item.fields),
                problems=[ProblemView(**msgspec.to_builtins(each)) for each in item.problems],
                sound=item.sound,
            )
            for item in found.items
        ],
        follow=[OnwardView(url=each.url, kind=each.kind, list_page=each.list_page) for each in found.follow],
        notes=list(found.notes),
    )


@router.post("/compare", summary="What it would change on the pages that are kept")
async def compare(
    request: Request, caller: Called, name: Name, new: Text, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Comparison:
    """Against the rule in use; only pages where something changes. Nothing is written."""
    rule = await _rule(request, caller, name, new)
    found: list[PageChange] = []
    try:
        async with asyncio.timeout(_COMPARED_S), aclosing(sites_of(request, caller).changes(rule)) as changes:
            async for change in changes:
                told = {"lost": 0, "gained": 0, "broken": 0, "mended": 0, "fields": {}, **msgspec.to_builtins(change)}
                found.append(PageChange(**told))
                if len(found) == limit:
                    return Comparison(changes=found, complete=False)
    except TimeoutError:
        return Comparison(changes=found, complete=False)
    return Comparison(changes=found, complete=True)


async def _rule(request: Request, caller: Caller, name: str, said: Text) -> Rule:
    publisher = sites_of(request, caller).publishing
    if said.body is None and said.text is None:
        drafted = redraft(await publisher.head(ConfigKind.RULE, name))
    else:
        drafted = await read(said, ConfigKind.RULE, name, publisher)
    rule: Rule = drafted.value
    return rule


async def _page(request: Request, caller: Caller, trial: Trial) -> Page:
    if trial.content is not None:
        return Page(trial.url, trial.content, content_type=trial.content_type)
    service: Service = request.app.state.service
    options = ScrapeOptions(formats=("rawHtml",))
    found = await service.scrape(trial.url, options, Terms(team=caller.team), timeout_s=_PAGE_S)
    document = found.document
    if document is None:
        raise ScrapeFailed(trial.url, found.code, found.message)
    if document.status >= 400:
        raise ScrapeFailed(trial.url, f"http_{document.status}", f"the site answered {document.status}")
    at = datetime.fromtimestamp(document.fetched_at / 1e6, UTC)
    return Page(document.url, document.raw_html or "", content_type=document.content_type, fetched_at=at)
