"""POST /extract and POST /crawl/params-preview: what a language model is asked."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, field_validator, model_validator

from perseid.answers.schema import Checker
from perseid.api.firecrawl.body.base import Body, Int, Loose, Prompt, refuse
from perseid.api.firecrawl.body.page import Page, PageV1, PageV2, Request
from perseid.api.firecrawl.body.url import WebUrl
from perseid.api.firecrawl.body.webhook import Webhook
from perseid.errors import ConfigError

NOTHING = "Either urls or a prompt must be given"
MOST_URLS = 10


class ExtractAgent(Body):
    model: str | None = None
    prompt: str | None = None


class Extract(Request):
    urls: Annotated[list[str], Field(max_length=MOST_URLS)] | None = None
    prompt: Prompt | None = None
    system_prompt: Prompt | None = None
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    limit: Annotated[Int, Field(gt=0)] | None = None
    ignore_sitemap: bool = False
    include_subdomains: bool = True
    allow_external_links: bool = False
    enable_web_search: bool = False
    url_trace: bool = False
    timeout: Annotated[Int, Field(gt=0, le=10**10)] | None = None
    agent: ExtractAgent | None = None
    show_sources: bool = False
    webhook: Webhook | None = None
    ignore_invalid_urls: bool = Field(default=False, alias="ignoreInvalidURLs")

    @field_validator("schema_")
    @classmethod
    def _compiles(cls, schema: dict[str, Any] | None) -> dict[str, Any] | None:
        try:
            Checker(schema or {})
        except ConfigError as error:
            raise refuse(str(error)) from None
        return schema

    @model_validator(mode="after")
    def _something_to_go_by(self) -> Self:
        if not self.urls and not self.prompt:
            raise refuse(NOTHING)
        return self

    @property
    def page(self) -> Page:
        """How the pages are read."""
        raise NotImplementedError


class ExtractV1(Extract):
    scrape_options: PageV1 = Field(default_factory=PageV1)

    @property
    def page(self) -> Page:
        return self.scrape_options


class ExtractV2(Extract):
    scrape_options: PageV2 = Field(default_factory=PageV2)
    ignore_invalid_urls: bool = Field(default=True, alias="ignoreInvalidURLs")

    @property
    def page(self) -> Page:
        return self.scrape_options


class ParamsPreview(Loose):
    url: WebUrl
    prompt: Prompt
