"""Seeds, their runs, and single tasks; and `POST /dispatch`, as those who know it from elsewhere send it."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Request
from pydantic import ConfigDict, Field

from perseid.api.auth import Called, KeyFirst
from perseid.api.own.items import ExceptionView, ItemView, exception_view, item_view
from perseid.api.own.paging import PROBLEM, Cursor, Limit, Page, View, at, cursor_of, position
from perseid.api.own.published import After, sites_of
from perseid.model.ids import CrawlId
from perseid.model.job import JobState
from perseid.ports.items import RunStats
from perseid.ports.seeds import SeedRow
from perseid.runtime.seeding import RunView as RunRow
from perseid.runtime.seeding import Seeding, said
from perseid.seeds.addresses import usable
from perseid.seeds.loading import dumped

router = APIRouter(route_class=KeyFirst, tags=["seeds"], responses={401: PROBLEM, 429: PROBLEM})
dispatching = APIRouter(route_class=KeyFirst, tags=["seeds"], responses={400: PROBLEM, 401: PROBLEM, 429: PROBLEM})
Named = Annotated[str, Path(max_length=100)]
_PAGE_BYTES = 4_000_000
"""Of seeds in one answer, and the last one: a seed may list 100,000 addresses."""
_ROWS_AT_ONCE = 10
_INPUT: dict[int | str, dict[str, Any]] = {400: PROBLEM, 404: PROBLEM}
_MISSING: dict[int | str, dict[str, Any]] = {404: PROBLEM}


class SeedBody(View):
    """A seed in its flat form; with `template`, only what that leaves open. See docs/seeds.md."""

    model_config = ConfigDict(extra="allow")
    seed_id: str = Field(alias="seed_id")
    site_id: str | None = Field(default=None, alias="site_id")
    task_type: str | None = Field(default=None, alias="task_type")
    payload: Any = None
    template: str | None = Field(default=None, max_length=100, description="Name of a published seed template.")


class StatsView(View):
    tasks: int
    done: int
    failed: int
    empty: int = Field(description="Done without any item where the rule expects some.")
    items: int
    exceptions: int
    p50_ms: float | None = Field(description="Of a task, from its claim to its end.")
    p95_ms: float | None


class RunView(View):
    id: str = Field(description="Of the crawl that the run is: /api/crawls and /api/jobs know it.")
    status: str
    started_at: str | None
    ended_at: str | None
    stats: StatsView
    left_out: int = Field(description="Of what its source holds: no addresses, or broken.")
    notes: list[str] = Field(description="What was left out and why, of the first of it.")
    trouble: str = Field(description="Why its source could not be read to its end; empty where it could.")


class SeedView(View):
    seed_id: str
    site_id: str
    state: str
    priority: int
    next_at: str | None = Field(description="When it is due; null for never by itself.")
    running: bool
    runs: int
    created_at: str | None
    updated_at: str | None
    seed: dict[str, Any] = Field(description="In its flat form.")


class SeedDetail(SeedView):
    run: RunView | None = Field(description="The newest.")
    total: StatsView = Field(description="Of all its runs that are still kept.")


class AddedSeed(SeedView):
    warnings: list[str]


class SeedPage(View):
    items: list[SeedView]
    next: str | None = Field(default=None, description="`after` of the next answer; null at the end.")


class Deleted(View):
    deleted: bool


class TaskView(View):
    id: int
    run: str
    seed_id: str
    site_id: str
    url: str
    state: JobState
    attempts: int
    code: str
    message: str
    items: list[ItemView]
    exceptions: list[ExceptionView]


class DispatchBody(View):
    model_config = ConfigDict(extra="forbid")
    seed_id: str | None = Field(default=None, alias="seed_id", description="Made from the addresses where null.")
    site_id: str = Field(alias="site_id")
    urls: list[str] = Field(min_length=1, max_length=100_000)
    parse_rule: Any = Field(
        default=None, alias="parse_rule", description="A rule for these addresses alone, or only its selectors."
    )


class Dispatched(View):
    seed_id: str = Field(alias="seed_id")
    site_id: str = Field(alias="site_id")
    accepted: int = Field(description="Addresses of the web among them, each once.")
    rejected: int
    warnings: list[str]


@router.post("/seeds", status_code=201, summary="Add a seed, or replace what it says", responses=_INPUT)
async def add(request: Request, caller: Called, new: SeedBody) -> AddedSeed:
    """It runs by its schedule, at once where it has none."""
    sites = sites_of(request, caller)
    read = await sites.seed_of(new.model_dump(exclude_unset=True, by_alias=True))
    row = await sites.seeding.put(read.seed)
    return AddedSeed(**seed_view(row).model_dump(), warnings=read.notes)


@router.get("/seeds", summary="Seeds by name")
async def seeds(
    request: Request, caller: Called, site: str | None = None, after: After = "", limit: Limit = 100
) -> SeedPage:
    """Fewer than `limit` where they are long: `next` says whether there are more."""
    seeding = _seeding(request, caller)
    rows: list[SeedRow] = []
    room, whole = _PAGE_BYTES, False
    while room > 0 and len(rows) < limit and not whole:
        wanted = min(_ROWS_AT_ONCE, limit - len(rows))
        some = await seeding.rows(site=site, after=rows[-1].seed if rows else after, limit=wanted)
        whole = len(some) < wanted
        for row in some:
            if room <= 0:
                whole = False
                break
            rows.append(row)
            room -= len(row.spec)
    return SeedPage(items=[seed_view(row) for row in rows], next=None if whole else rows[-1].seed)


@router.get("/seeds/{seed}", summary="A seed and its newest run", responses=_MISSING)
async def seed(request: Request, caller: Called, seed: Named) -> SeedDetail:
    seeding = _seeding(request, caller)
    row = await seeding.row(seed)
    newest = await seeding.newest(row)
    total = stats_view(await seeding.total(row))
    return SeedDetail(**seed_view(row).model_dump(), run=None if newest is None else run_view(newest), total=total)


@router.delete("/seeds/{seed}", summary="Delete it; what it collected stays", responses=_MISSING)
async def delete(request: Request, caller: Called, seed: Named) -> Deleted:
    await _seeding(request, caller).delete(seed)
    return Deleted(deleted=True)


@router.post("/seeds/{seed}/run", status_code=202, summary="Run it now, or after its run", responses=_MISSING)
async def run(request: Request, caller: Called, seed: Named) -> SeedView:
    return seed_view(await _seeding(request, caller).run(seed))


@router.post("/seeds/{seed}/pause", summary="Hold its run and begin no other", responses=_MISSING)
async def pause(request: Request, caller: Called, seed: Named) -> SeedView:
    return seed_view(await _seeding(request, caller).pause(seed))


@router.post("/seeds/{seed}/resume", summary="Go on with the run that was held", responses=_MISSING)
async def resume(request: Request, caller: Called, seed: Named) -> SeedView:
    return seed_view(await _seeding(request, caller).resume(seed))


@router.post("/seeds/{seed}/stop", summary="Cancel its run and begin no other", responses=_MISSING)
async def stop(request: Request, caller: Called, seed: Named) -> SeedView:
    return seed_view(await _seeding(request, caller).stop(seed))


@router.get("/seeds/{seed}/runs", summary="Runs, newest first", responses=_INPUT)
async def runs(
    request: Request, caller: Called, seed: Named, cursor: Cursor = None, limit: Limit = 100
) -> Page[RunView]:
    """Those that were pruned are not among them."""
    seeding = _seeding(request, caller)
    before = position(cursor)
    found = await seeding.runs(await seeding.row(seed), before=None if before is None else CrawlId(before), limit=limit)
    following = cursor_of(found[-1].crawl.id) if len(found) == limit else None
    return Page(items=[run_view(each) for each in found], next=following)


@router.get("/tasks/{task}", summary="A task: its state and what it gave", responses=_MISSING)
async def task(request: Request, caller: Called, task: Annotated[int, Path(ge=1, lt=2**62)]) -> TaskView:
    found = await _seeding(request, caller).trace(task)
    return TaskView(
        id=task,
        run=found.run.uid,
        seed_id=found.seed.seed_id,
        site_id=found.seed.site_id,
        url=found.job.url,
        state=found.job.state,
        attempts=found.job.attempts,
        code=found.job.code,
        message=found.job.message,
        items=[item_view(each) for each in found.items],
        exceptions=[exception_view(each) for each in found.exceptions],
    )


@dispatching.post("/dispatch", status_code=202, summary="Collect these addresses of a site now")
async def dispatch(request: Request, caller: Called, wanted: DispatchBody) -> Dispatched:
    """The same as adding a seed of them. Sent again under the same `seed_id` it takes the place of the earlier one."""
    given = wanted.model_dump(exclude_none=True, by_alias=True)
    given.setdefault("seed_id", _name_of(wanted))
    sites = sites_of(request, caller)
    read = await sites.seed_of(given)
    seed = read.seed
    await sites.seeding.dispatch(seed)
    found = [usable(url) for url in wanted.urls]
    return Dispatched(
        seed_id=seed.seed_id,
        site_id=seed.site_id,
        accepted=len({*found} - {None}),
        rejected=found.count(None),
        warnings=read.notes,
    )


def _name_of(wanted: DispatchBody) -> str:
    """The same for the same addresses."""
    digest = hashlib.sha256("\n".join(wanted.urls).encode("utf-8", "replace")).hexdigest()
    return f"{wanted.site_id[:60]}-{digest[:16]}"


def seed_view(row: SeedRow) -> SeedView:
    return SeedView(
        seed_id=row.seed,
        site_id=row.site,
        state=row.state.name.lower(),
        priority=row.priority,
        next_at=at(row.next_at),
        running=row.running,
        runs=row.runs,
        created_at=at(row.created_at),
        updated_at=at(row.updated_at),
        seed=dumped(said(row)),
    )


def stats_view(stats: RunStats) -> StatsView:
    return StatsView(**msgspec.to_builtins(stats))


def run_view(found: RunRow) -> RunView:
    return RunView(
        id=found.crawl.uid,
        status=found.crawl.status.name.lower(),
        started_at=at(found.crawl.created_at),
        ended_at=at(found.crawl.ended_at),
        stats=stats_view(found.stats),
        left_out=found.left_out,
        notes=list(found.notes),
        trouble=found.trouble,
    )


def _seeding(request: Request, caller: Called) -> Seeding:
    return sites_of(request, caller).seeding
