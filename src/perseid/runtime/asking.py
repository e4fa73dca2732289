"""What a server does with the help of others: a language model, a search engine, a file that was sent."""

from __future__ import annotations

from typing import Any

from perseid.answers.enrich import Enricher, for_asks
from perseid.answers.propose import crawl_options_from_prompt
from perseid.crawls.extract import Extracts, ExtractStatus
from perseid.crawls.search import Found, Scrape, SearchPlan, search_and_scrape
from perseid.crawls.upload import convert_upload
from perseid.model.document import Document
from perseid.model.options import ScrapeOptions
from perseid.runtime.backends import web_search
from perseid.runtime.engine import Engine
from perseid.runtime.reading import Reading

_LONGEST_UPLOAD_S = 150.0
"""For what is asked of a model about a file, where the caller sets no time."""


class Asking(Reading):
    """Close it when done."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._search = web_search(engine.settings.search)
        self._extracts = Extracts(
            inspect=engine.store, blobs=engine.blobs, model=engine.model, timeout_s=engine.settings.llm.timeout_s
        )

    async def close(self) -> None:
        await self._extracts.close()
        await self._search.close()

    async def upload(
        self, data: bytes, filename: str, content_type: str | None, options: ScrapeOptions, *, timeout_s: float | None
    ) -> Document:
        """A file made a document, with what the model has to say of it.

        Raises `ScrapeFailed`, `MissingExtra`, `ConfigError`.
        """
        clock, began_s = self.engine.clock, self.engine.clock.monotonic_s()
        asked = for_asks(options)
        document = await convert_upload(
            data, filename, content_type, asked, converter=self.engine.converter, clock=clock
        )
        if not options.asks:
            return document
        within_s = _LONGEST_UPLOAD_S if timeout_s is None else timeout_s
        enricher = Enricher(self.engine.model, timeout_s=self.settings.llm.timeout_s, within_s=within_s)
        return await enricher.enrich(document, options, spent_s=clock.monotonic_s() - began_s)

    async def options_from_prompt(self, url: str, prompt: str) -> dict[str, Any]:
        """Options of a crawl, in the names of the Firecrawl API. Raises `Unavailable`, `ConfigError`."""
        timeout_s = self.settings.llm.timeout_s
        return await crawl_options_from_prompt(self.engine.model, url, prompt, timeout_s=timeout_s)

    async def search(self, plan: SearchPlan, *, scrape: Scrape | None = None) -> Found:
        """Raises `Unavailable` when nothing answered."""
        return await search_and_scrape(self._search, plan, scrape=scrape)

    async def extract_status(self, team: int, uid: str) -> ExtractStatus:
        """Raises `NotFound`, also for what is no extract or another team's."""
        await self.crawl(team, uid)
        return await self._extracts.status(uid)
