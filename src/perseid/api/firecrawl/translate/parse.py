"""Uploads: which files are taken, and which options make no sense for them."""

from __future__ import annotations

from typing import NamedTuple

from perseid.api.firecrawl.body.formats import ChangeTracking, Plain, Screenshot
from perseid.api.firecrawl.body.page import Page
from perseid.api.firecrawl.errors import WireError

UNSUPPORTED_TYPE = "UNSUPPORTED_FILE_TYPE"
UNSUPPORTED_OPTIONS = "PARSE_UNSUPPORTED_OPTIONS"


class FileFormat(NamedTuple):
    """One kind of file. All are of the kind that clients call a document; none is an image."""

    name: str
    extensions: tuple[str, ...]
    types: tuple[str, ...]
    readable: bool


_OFFICE = "application/vnd.openxmlformats-officedocument"
_ODF = "application/vnd.oasis.opendocument"
FORMATS = (
    FileFormat("html", (".html", ".htm", ".xhtml"), ("text/html", "application/xhtml+xml"), readable=True),
    FileFormat("pdf", (".pdf",), ("application/pdf",), readable=True),
    FileFormat("docx", (".docx", ".docm"), (f"{_OFFICE}.wordprocessingml.document",), readable=True),
    FileFormat("csv", (".csv",), ("text/csv",), readable=True),
    FileFormat("doc", (".doc",), ("application/msword",), readable=False),
    FileFormat("odt", (".odt",), (f"{_ODF}.text",), readable=False),
    FileFormat("rtf", (".rtf",), ("application/rtf", "text/rtf"), readable=False),
    FileFormat("epub", (".epub",), ("application/epub+zip",), readable=False),
    FileFormat("xlsx", (".xlsx", ".xlsm", ".xlsb"), (f"{_OFFICE}.spreadsheetml.sheet",), readable=False),
    FileFormat("xls", (".xls",), ("application/vnd.ms-excel",), readable=False),
    FileFormat("ods", (".ods",), (f"{_ODF}.spreadsheet",), readable=False),
    FileFormat("pptx", (".pptx", ".pptm"), (f"{_OFFICE}.presentationml.presentation",), readable=False),
    FileFormat("ppt", (".ppt",), ("application/vnd.ms-powerpoint",), readable=False),
    FileFormat("odp", (".odp",), (f"{_ODF}.presentation",), readable=False),
)


def check_file(filename: str, content_type: str | None) -> None:
    """Raises `WireError` 400 for a kind of file that is never taken. Its name counts, else what it is sent as."""
    extension = f".{filename.rpartition('.')[2].lower()}" if "." in filename else ""
    plain = (content_type or "").partition(";")[0].strip().lower()
    if any(extension in each.extensions or (not extension and plain in each.types) for each in FORMATS):
        return
    taken = ", ".join(each.extensions[0] for each in FORMATS)
    message = f"Files of the kind of {filename!r} can't be turned into text; those that can be sent are {taken}"
    raise WireError(400, message, UNSUPPORTED_TYPE)


def check_options(page: Page) -> None:
    """Raises `WireError` 400 for what only a site can answer to."""
    asked = page.formats_wanted
    named = {
        "actions": bool(page.actions),
        "waitFor": page.wait_for > 0,
        "location": page.location is not None,
        "mobile": page.mobile,
        f"proxy {page.proxy}": page.proxy not in {"auto", "basic"},
        "the screenshot format": any(isinstance(each, Screenshot) for each in asked),
        "the changeTracking format": any(isinstance(each, ChangeTracking) for each in asked),
        "the branding format": any(isinstance(each, Plain) and each.type == "branding" for each in asked),
        "the rawBase64 format": any(isinstance(each, Plain) and each.type == "rawBase64" for each in asked),
    }
    wrong = [name for name, found in named.items() if found]
    if wrong:
        raise WireError(400, f"A file has no use for: {', '.join(wrong)}", UNSUPPORTED_OPTIONS)
