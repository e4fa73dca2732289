"""The shapes of answers, for the description of the interface: nothing is validated by them on its way out."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Answer(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="allow")


class Failure(Answer):
    """Anything but success. `code` is stable, `error` for people."""

    success: Literal[False] = False
    code: str | None = Field(None, examples=["BAD_REQUEST"])
    error: str
    details: Any = None


class BareFailure(Answer):
    error: str


class Metadata(Answer):
    source_url: str = Field(alias="sourceURL", examples=["https://example.org/docs/"])
    url: str
    status_code: int
    content_type: str | None = None
    title: str | None = None
    language: Any = None
    error: str | None = None
    proxy_used: Literal["basic"]
    scrape_id: str
    credits_used: int
    cache_state: Literal["hit", "miss"] | None = None
    cached_at: str | None = None
    num_pages: int | None = None
    concurrency_limited: bool | None = None


class Attribute(Answer):
    selector: str
    attribute: str
    values: list[str]


class Document(Answer):
    """One page: only the formats that were asked for are there."""

    markdown: str | None = Field(None, examples=["# Docs\n\nWelcome."])
    html: str | None = None
    raw_html: str | None = None
    raw_base64: str | None = Field(None, alias="rawBase64")
    links: list[str] | None = None
    images: list[str] | None = None
    summary: str | None = None
    json_: Any = Field(None, alias="json")
    extract: Any = None
    answer: Any = None
    highlights: Any = None
    attributes: list[Attribute] | None = None
    change_tracking: dict[str, Any] | None = None
    warning: str | None = None
    metadata: Metadata


class Scraped(Answer):
    """`success` is false with the code of a name that did not resolve."""

    success: bool
    data: Document | None = None
    code: str | None = None
    error: str | None = None
    scrape_id: str | None = Field(None, alias="scrape_id")


class Started(Answer):
    success: Literal[True]
    id: str
    url: str | None = None
    invalid_urls: list[str] | None = Field(None, alias="invalidURLs")


class JobState(Answer):
    success: bool
    status: Literal["scraping", "completed", "failed", "cancelled"]
    completed: int
    total: int
    credits_used: int
    expires_at: str
    next: str | None = None
    data: list[Document]
    created_at: str | None = None
    completed_at: str | None = None
    duration: float | None = None
    warning: str | None = None
    error: str | None = None


class JobError(Answer):
    id: str
    timestamp: str | None = None
    url: str
    code: str | None = None
    error: str


class JobErrors(Answer):
    success: Literal[True]
    errors: list[JobError]
    robots_blocked: list[str]


class Cancelled(Answer):
    status: Literal["cancelled"]


class ActiveCrawl(Answer):
    id: str
    team_id: str
    url: str
    created_at: str = Field(alias="created_at")
    options: dict[str, Any]


class ActiveCrawls(Answer):
    success: Literal[True]
    crawls: list[ActiveCrawl]


class Link(Answer):
    url: str
    title: str | None = None
    description: str | None = None


class MappedV2(Answer):
    success: Literal[True]
    id: str
    links: list[Link]
    warning: str | None = None


class MappedV1(Answer):
    success: Literal[True]
    links: list[str]
    warning: str | None = None


class Concurrency(Answer):
    success: Literal[True]
    concurrency: int
    max_concurrency: int


class QueueStatus(Answer):
    success: Literal[True]
    jobs_in_queue: int
    active_jobs_in_queue: int
    waiting_jobs_in_queue: int
    max_concurrency: int
    most_recent_success: str | None


class Usage(Answer):
    success: Literal[True]
    data: dict[str, Any]


class Periods(Answer):
    success: Literal[True]
    periods: list[dict[str, Any]]


class Searched(Answer):
    success: Literal[True]
    data: Any
    id: str
    credits_used: int | None = None
    warning: str | None = None


class ExtractState(Answer):
    success: bool
    data: Any
    status: Literal["processing", "completed", "failed", "cancelled"]
    error: str | None = None
    expires_at: str


class Preview(Answer):
    success: Literal[True]
    data: dict[str, Any]


class Upload(Answer):
    success: Literal[True]
    upload_url: str
    upload_ref: str
    expires_at: str


class Uploaded(Answer):
    success: Literal[True]
    upload_ref: str


class FileFormats(Answer):
    formats: list[dict[str, Any]]


class ParseFormats(Answer):
    success: Literal[True]
    data: FileFormats
