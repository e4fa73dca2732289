"""What goes to the process that converts slow and hostile documents, and what comes back from it."""

from __future__ import annotations

import msgspec

from perseid.content.sniff import Kind
from perseid.model.options import ScrapeOptions


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
    warnings: list[str] = []
    error: str | None = None
