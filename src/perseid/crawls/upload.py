"""A file that somebody sent us, made a document like a page: nothing of it is kept, and nothing is fetched."""

from __future__ import annotations

from urllib.parse import quote

from perseid.content.conversion import OFFICE_INSTALL, office_installed
from perseid.content.pipeline import Built, Page
from perseid.content.sniff import Kind, sniff
from perseid.crawls.convert import Converter
from perseid.crawls.start import check_scrape
from perseid.errors import MissingExtra, ScrapeFailed
from perseid.model.document import Document
from perseid.model.options import ScrapeOptions
from perseid.ports.clock import Clock

HOST = "upload.invalid"
"""No such host exists (RFC 6761, 6.4): relative links of an upload lead nowhere, and say so."""


async def convert_upload(
    data: bytes, filename: str, content_type: str | None, options: ScrapeOptions, *, converter: Converter, clock: Clock
) -> Document:
    """The document of an uploaded file; `filename` is its source.

    Raises `ScrapeFailed` where it can't be turned into text, `MissingExtra` where that takes a package which
    isn't installed, and `ConfigError`.
    """
    check_scrape(options)
    path = quote(filename.replace("\\", "/").rpartition("/")[2], errors="replace")
    url = f"https://{HOST}/{path}"
    headers = () if content_type is None else (("content-type", content_type),)
    if not office_installed() and sniff(data, content_type=content_type, path=path) is Kind.DOCX:
        raise MissingExtra(f"turning Word documents into text needs an extra that is not installed: {OFFICE_INSTALL}")
    page = Page(url, filename, 200, headers, data, clock.now_us())
    built = await converter.document_of(page, options)
    if isinstance(built, Built):
        return built.document
    raise ScrapeFailed(filename, built.code.value, built.message)
