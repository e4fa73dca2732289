"""POST /batch/scrape: pages named one by one."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from perseid.api.firecrawl.body.base import Int, reading_of, refuse
from perseid.api.firecrawl.body.page import Page, PageV1, PageV2, Request
from perseid.api.firecrawl.body.url import WebUrl, fault
from perseid.api.firecrawl.body.webhook import Webhook

NO_URLS = "No valid URLs provided"


def _uuid(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return str(UUID(value))
        except ValueError:
            pass
    raise ValueError("a job id is a UUID")


JobUid = Annotated[str, BeforeValidator(_uuid), Field(json_schema_extra={"format": "uuid"})]


class Batch(Page, Request):
    urls: Annotated[list[WebUrl], Field(min_length=1)]
    webhook: Webhook | None = None
    append_to_id: JobUid | None = None
    ignore_invalid_urls: bool = Field(default=False, alias="ignoreInvalidURLs")
    max_concurrency: Annotated[Int, Field(gt=0, le=10_000)] | None = None
    zero_data_retention: bool = False

    @model_validator(mode="before")
    @classmethod
    def _part_invalid(cls, data: Any, info: ValidationInfo) -> Any:
        """Only who says so has bad URLs set aside; whoever relies on the default has every URL checked."""
        if not isinstance(data, dict) or data.get("ignoreInvalidURLs") is not True:
            return data
        urls = data.get("urls")
        if not isinstance(urls, list) or not all(isinstance(url, str) for url in urls):
            return data
        reading = reading_of(info)
        reading.invalid_urls = [url for url in urls if fault(url, reading.hosts) is not None]
        bad = set(reading.invalid_urls)
        if urls and bad.issuperset(urls):
            raise refuse(NO_URLS, "urls")
        return {**data, "urls": [url for url in urls if url not in bad]}

    @property
    def invalid_urls(self) -> list[str] | None:
        """The URLs set aside; None where nobody was to set any aside."""
        return self.reading.invalid_urls if self.ignore_invalid_urls else None


class BatchV1(PageV1, Batch):
    pass


class BatchV2(PageV2, Batch):
    ignore_invalid_urls: bool = Field(default=True, alias="ignoreInvalidURLs")
