"""POST /scrape: a URL and how to read it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from perseid.api.firecrawl.body.base import Body, Int, Prompt
from perseid.api.firecrawl.body.page import Page, PageV1, PageV2, Request
from perseid.api.firecrawl.body.url import WebUrl


class Scrape(Page, Request):
    url: WebUrl
    zero_data_retention: bool = False


class Agent(Body):
    """A browser that acts by itself, of version 1."""

    model: Literal["fire-1", "FIRE-1"] = "fire-1"
    prompt: Prompt
    session_id: str | None = None
    wait_before_closing_ms: Annotated[Int, Field(ge=0)] | None = None


class ScrapeV1(PageV1, Scrape):
    agent: Agent | None = None
    timeout: Annotated[Int, Field(ge=1000, le=10**10)] | None = 30_000


class ScrapeV2(PageV2, Scrape):
    pass
