"""Files that are sent instead of fetched."""

import os
from pathlib import Path

import pytest
from firecrawl.v2.types import ScrapeOptions
from talk import sync

FILES = Path(os.environ["FILES"])


def test_html() -> None:
    page = sync().parse(b"<title>T</title><h1>Sent</h1><p>As a file.</p>", filename="a.html", content_type="text/html")
    assert page.markdown == "# Sent\n\nAs a file."
    assert page.metadata.title == "T"


def test_pdf() -> None:
    page = sync().parse(FILES / "paper.pdf", options=ScrapeOptions(formats=["markdown"]))
    assert "spectrophotometric observations" in page.markdown


def test_word() -> None:
    page = sync().parse(FILES / "report.docx", options=ScrapeOptions(formats=["markdown", "html"]))
    assert "The walls of the orchard" in page.markdown
    assert "<p>" in page.html


def test_what_is_no_document_is_refused() -> None:
    with pytest.raises(Exception, match="can't be turned into text"):
        sync().parse(b"\x89PNG", filename="a.png", content_type="image/png")
