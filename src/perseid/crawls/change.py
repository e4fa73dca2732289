"""Tracking how a page changes: each version is compared with the last one that the team saw of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from perseid.content.diff import diff, same
from perseid.crawls.pack import squeeze, unpack
from perseid.errors import PerseidError
from perseid.model.document import Document
from perseid.model.options import ChangeTracking
from perseid.ports.known import Snapshot, Snapshots
from perseid.ports.work import Lease

Compare = Callable[[ChangeTracking, str, str], Awaitable[dict[str, Any]]]
"""Two versions as markdown, the older first, to `{field: {"previous": …, "current": …}}`."""
_LARGE = 20_000
"""Characters from which on comparing is done beside the event loop."""


class _Version(msgspec.Struct, frozen=True, array_like=True):
    taken_at: int
    markdown: str


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """A page's newest version, and the one that job compared it with: run again, it compares with that again."""

    job: tuple[int, int]
    newest: _Version
    before: _Version | None = None


class ChangeTracker:
    def __init__(self, snapshots: Snapshots, compare: Compare | None = None) -> None:
        self._snapshots = snapshots
        self._compare = compare

    async def track(self, document: Document, tracking: ChangeTracking, *, team: int, lease: Lease) -> Document:
        """The document with what became of its page, which is kept as its newest version.

        A page that is gone, or that the site is in trouble with, leaves the version before it.
        """
        if document.status >= 400 and document.status != 404:
            warning = f"changeTracking: the site answered {document.status}, which says nothing about the page"
            return msgspec.structs.replace(document, warnings=[*document.warnings, warning])
        tag = tracking.tag or ""
        job = (int(lease.crawl), int(lease.job))
        before = await self._before(team, document.source_url, tag, job)
        newest = _Version(document.fetched_at, document.markdown or "")
        found, warnings = await self._found(document, tracking, before, newest)
        if document.status != 404:
            kept = squeeze(msgspec.msgpack.encode(_Kept(job, newest, before)))
            snapshot = Snapshot(newest.taken_at, kept)
            await self._snapshots.put_snapshot(team, document.source_url, tag, snapshot)
        return msgspec.structs.replace(document, change_tracking=found, warnings=[*document.warnings, *warnings])

    async def _before(self, team: int, url: str, tag: str, job: tuple[int, int]) -> _Version | None:
        snapshot = await self._snapshots.snapshot(team, url, tag)
        if snapshot is None:
            return None
        kept = msgspec.msgpack.decode(unpack(snapshot.body), type=_Kept)
        return kept.before if kept.job == job else kept.newest

    async def _found(
        self, document: Document, tracking: ChangeTracking, before: _Version | None, newest: _Version
    ) -> tuple[dict[str, Any], list[str]]:
        found: dict[str, Any] = {
            "previousScrapeAt": None if before is None else _iso(before.taken_at),
            "changeStatus": "new",
            "visibility": "visible",
        }
        if document.status == 404:
            found["changeStatus"] = "removed"
        elif before is not None:
            old, new = before.markdown, newest.markdown
            found["changeStatus"] = "same" if await _beside(same, old, new) else "changed"
            if found["changeStatus"] == "changed":
                return found, await self._details(found, tracking, old, new)
        return found, []

    async def _details(self, found: dict[str, Any], tracking: ChangeTracking, old: str, new: str) -> list[str]:
        """Add what the modes ask for; the warnings."""
        if "git-diff" in tracking.modes:
            text, files = await _beside(diff, old, new)
            found["diff"] = {"text": text, "json": {"files": files}}
        if "json" not in tracking.modes:
            return []
        if self._compare is None:
            return ["changeTracking: comparing by fields needs a language model, and none is configured"]
        try:
            found["json"] = await self._compare(tracking, old, new)
        except PerseidError as error:
            return [f"changeTracking: {error}"]
        return []


async def _beside(work: Callable[[str, str], Any], old: str, new: str) -> Any:
    """Large texts are compared in a thread, so that other pages don't wait."""
    if len(old) + len(new) < _LARGE:
        return work(old, new)
    return await asyncio.to_thread(work, old, new)


def _iso(at_us: int) -> str:
    moment = datetime.fromtimestamp(at_us // 1_000 / 1_000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
