"""The state of a job that goes on while it is being told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from perseid.api.firecrawl.reporting import Report, report
from perseid.config.settings import FetchSettings, Settings, WorkerSettings
from perseid.model.crawl import CrawlStatus
from perseid.model.options import ScrapeOptions
from perseid.model.terms import Terms
from perseid.runtime.service import Service
from perseid.testing import Site
from perseid.worker.stop import Stop


class _Slow(Service):
    """Somebody else does all of the work right after pages were first looked for."""

    looked = False

    async def documents(self, *args: Any, **options: Any) -> Any:
        found = await super().documents(*args, **options)
        if not self.looked:
            self.looked = True
            [crawl] = await self.crawls(1)

            async def over() -> bool:
                return (await self.crawl(1, crawl.uid)).status is not CrawlStatus.SCRAPING

            await self.engine.work(Stop(), over, concurrency=4)
        return found


async def test_who_is_told_of_the_end_is_told_all(site: Site, tmp_path: Path) -> None:
    site.links({"/a": [], "/b": []})
    settings = Settings(fetch=FetchSettings(allow_private="true"), worker=WorkerSettings(poll_s=0.05))
    async with _Slow.open(tmp_path, settings) as service:
        job = await service.start_batch([site.url("/a"), site.url("/b")], ScrapeOptions(), Terms())
        told = await report(service, job, Report(0, 100))
    assert (told.body["status"], told.body["completed"], len(told.body["data"])) == ("completed", 2, 2)
