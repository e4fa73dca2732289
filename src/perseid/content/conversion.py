"""What goes to the process that converts slow and hostile documents, and what comes back from it."""

from __future__ import annotations

from importlib.util import find_spec

import msgspec

from perseid.content.sniff import Kind
from perseid.model.options import ScrapeOptions

OFFICE_INSTALL = 'pip install "perseid[office]"'


class Request(msgspec.Struct, frozen=True):
    """One line of JSON on stdin; the document follows as the rest."""

    kind: Kind
    memory_bytes: int
    cpu_s: int
    url: str = ""
    source_url: str = ""
    status: int = 200
    headers: list[tuple[str, str]] = []
    fetched_at: int = 0
    options: ScrapeOptions = ScrapeOptions()


class Pdf(msgspec.Struct, frozen=True):
    """What a PDF holds. `error` says why nothing could be read: encrypted, broken."""

    markdown: str = ""
    title: str | None = None
    pages: int = 0
    """Those that were to be read."""
    total: int | None = None
    """All pages of the file, where fewer were to be read."""
    warnings: list[str] = []
    error: str | None = None


class Office(msgspec.Struct, frozen=True):
    """What an office file holds, as HTML. `error` says why nothing could be read."""

    html: str = ""
    title: str | None = None
    pages: int | None = None
    """As the program that wrote it counted them."""
    warnings: list[str] = []
    error: str | None = None


def office_installed() -> bool:
    """Whether the extra that reads office files is there."""
    return find_spec("mammoth") is not None
