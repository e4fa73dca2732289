"""A page as callers get it; the same for both versions but for the formats that only one of them knows."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid5

from perseid.api.firecrawl.asked import Asked
from perseid.api.firecrawl.wire.metadata import of_fetch, of_page
from perseid.model.document import Document


def wire_document(
    document: Document, asked: Asked, *, scrape_id: str, warnings: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Formats that were not asked for are absent. `warnings` are those of the job, before the page's own."""
    page: dict[str, Any] = {} if asked.nothing else _formats(document)
    page |= {name: value for name, value in document.answers.items() if value is not None}
    if document.attributes is not None:
        page["attributes"] = [
            {"selector": each.selector, "attribute": each.attribute, "values": each.values}
            for each in document.attributes
        ]
    if document.change_tracking is not None:
        page["changeTracking"] = document.change_tracking
    told = [*warnings, *document.warnings]
    if told:
        page["warning"] = " ".join(told)
    page["metadata"] = of_page(document.metadata) | of_fetch(
        document,
        source_url=asked.as_sent(document.source_url),
        scrape_id=scrape_id,
        counted=credits_of(document, asked),
    )
    return page


def credits_of(document: Document, asked: Asked) -> int:
    """A page of a PDF counts as one, like a page of a site."""
    pages = document.metadata.get("numPages")
    return max(asked.credits, pages) if isinstance(pages, int) else asked.credits


def _formats(document: Document) -> dict[str, Any]:
    formats = {
        "markdown": document.markdown,
        "html": document.html,
        "rawHtml": document.raw_html,
        "rawBase64": document.raw_base64,
        "links": document.links,
        "images": document.images,
    }
    return {name: value for name, value in formats.items() if value is not None}


def page_id(uid: str, number: int) -> str:
    """A UUID for one page of a job, the same whenever it is asked for."""
    return str(uuid5(UUID(uid), f"page {number}"))


def failure_id(uid: str, job: int) -> str:
    return str(uuid5(UUID(uid), f"job {job}"))
