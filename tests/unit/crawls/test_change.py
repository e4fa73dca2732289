"""What is told of a page's newest version, and which version it is compared with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from perseid.crawls.change import ChangeTracker
from perseid.errors import Unavailable
from perseid.model.document import Document
from perseid.model.ids import CrawlId, JobId, LockToken
from perseid.model.job import JobKind
from perseid.model.options import ChangeTracking
from perseid.ports.known import Snapshots
from perseid.ports.work import Lease
from perseid.store.sqlite.store import SqliteStore

URL = "http://e.test/"
EPOCH_US = 1_767_225_600_000_000
GIT = ChangeTracking(modes=("git-diff",))


@pytest.fixture
async def snapshots(tmp_path: Path) -> AsyncIterator[Snapshots]:
    store = await SqliteStore.open(tmp_path / "perseid.db")
    yield store.known
    await store.close()


def lease(job: int) -> Lease:
    return Lease(
        job=JobId(job), crawl=CrawlId(1), lock=LockToken(1), kind=JobKind.PAGE, url=URL, key=1, depth=0, host="e.test",
        gap_us=0, attempts=0, stalls=0, counted=True, payload="", hops=b"", expires_at=0,
    )  # fmt: skip


class Watch:
    """Sees versions of one page, one a second."""

    def __init__(self, tracker: ChangeTracker) -> None:
        self.tracker = tracker
        self.seen = 0

    async def see(
        self, markdown: str, *, status: int = 200, tracking: ChangeTracking = GIT, team: int = 1, job: int | None = None
    ) -> Document:
        self.seen += 1
        document = Document(
            url=URL, source_url=URL, status=status, markdown=markdown, fetched_at=EPOCH_US + self.seen * 1_000_000
        )
        return await self.tracker.track(document, tracking, team=team, lease=lease(self.seen if job is None else job))

    async def status(self, markdown: str, **options: Any) -> str:
        document = await self.see(markdown, **options)
        assert document.change_tracking is not None
        return str(document.change_tracking["changeStatus"])


@pytest.fixture
def watch(snapshots: Snapshots) -> Watch:
    return Watch(ChangeTracker(snapshots))


async def test_the_first_version_is_new(watch: Watch) -> None:
    document = await watch.see("# One")
    assert document.change_tracking == {"previousScrapeAt": None, "changeStatus": "new", "visibility": "visible"}


async def test_a_version_that_says_the_same_is_told_with_the_time_of_the_one_before(watch: Watch) -> None:
    await watch.see("# One\n\ntext")
    document = await watch.see("# One\ntext\n")
    assert document.change_tracking == {
        "previousScrapeAt": "2026-01-01T00:00:01.000Z",
        "changeStatus": "same",
        "visibility": "visible",
    }


async def test_a_change_is_shown_where_that_was_asked_for(watch: Watch) -> None:
    await watch.see("one\ntwo")
    told = (await watch.see("one\nthree")).change_tracking
    assert told is not None
    assert told["diff"]["text"].endswith("@@ -1,2 +1,2 @@\n one\n-two\n+three")
    assert told["diff"]["json"]["files"][0]["chunks"][0]["changes"][1] == {"type": "del", "ln": 2, "content": "-two"}
    told = (await watch.see("four", tracking=ChangeTracking())).change_tracking
    assert told is not None
    assert sorted(told) == ["changeStatus", "previousScrapeAt", "visibility"]


async def test_large_versions_are_compared_too(watch: Watch) -> None:
    await watch.see("word\n" * 20_000)
    told = (await watch.see("word\n" * 20_000 + "more")).change_tracking
    assert told is not None
    assert told["diff"]["text"].endswith("+more")


async def test_a_page_that_is_gone_is_removed_and_leaves_its_last_version(watch: Watch) -> None:
    await watch.see("one")
    assert await watch.status("not found", status=404) == "removed"
    assert await watch.status("one") == "same"


async def test_trouble_of_the_site_says_nothing_about_the_page(watch: Watch) -> None:
    await watch.see("one")
    document = await watch.see("oops", status=500)
    assert document.change_tracking is None
    assert document.warnings[0].startswith("changeTracking:")
    assert await watch.status("one") == "same"


async def test_teams_and_tags_have_versions_of_their_own(watch: Watch) -> None:
    await watch.see("one")
    assert await watch.status("two", team=2) == "new"
    assert await watch.status("two", tracking=ChangeTracking(tag="hourly")) == "new"
    assert await watch.status("one") == "same"


async def test_a_job_that_is_run_again_compares_with_the_same_version_again(watch: Watch) -> None:
    await watch.see("one", job=1)
    for _ in range(2):
        assert await watch.status("two", job=2) == "changed"
    assert await watch.status("two", job=3) == "same"


async def test_fields_are_compared_by_whoever_can(snapshots: Snapshots) -> None:
    async def compare(tracking: ChangeTracking, old: str, new: str) -> dict[str, Any]:
        return {str(tracking.prompt): {"previous": old, "current": new}}

    watch = Watch(ChangeTracker(snapshots, compare))
    asked = ChangeTracking(modes=("json",), prompt="price")
    await watch.see("1 EUR", tracking=asked)
    told = (await watch.see("2 EUR", tracking=asked)).change_tracking
    assert told is not None
    assert told["json"] == {"price": {"previous": "1 EUR", "current": "2 EUR"}}


async def test_without_anybody_who_can_there_is_a_warning(snapshots: Snapshots) -> None:
    async def compare(tracking: ChangeTracking, old: str, new: str) -> dict[str, Any]:
        raise Unavailable("the model did not answer")

    for tracker, words in (
        (ChangeTracker(snapshots), "none is configured"),
        (ChangeTracker(snapshots, compare), "did not answer"),
    ):
        watch = Watch(tracker)
        asked = ChangeTracking(modes=("json",), tag=words)
        await watch.see("1", tracking=asked)
        document = await watch.see("2", tracking=asked)
        assert words in document.warnings[0]
        assert document.change_tracking is not None
        assert "json" not in document.change_tracking
