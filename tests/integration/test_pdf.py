"""PDF and heavy HTML through real child processes."""

from __future__ import annotations

import asyncio
import zlib
from base64 import b64encode

import pytest

from perseid.content.pipeline import Built, Failed, Page
from perseid.crawls.child import ChildLimits
from perseid.crawls.convert import Converter
from perseid.model.options import ScrapeOptions

LINES = [
    "A long title",
    "",
    "First paragraph that goes on",
    "over two lines of the page.",
    "",
    "See https://x.example/y for more.",
]


def pdf(lines: list[str], *, pages: int = 1, title: str = "The Title") -> bytes:
    """A valid PDF with one line of text under the other; blank ones leave a gap."""
    body = ["BT"]
    height = 780
    for number, line in enumerate(lines):
        height -= 16
        if line:
            font = "F2" if line.startswith(("def", " ")) else "F1"
            size = 24 if number == 0 else 11
            escaped = line.lstrip().replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
            body.append(
                f"/{font} {size} Tf 1 0 0 1 {50 + 6.6 * (len(line) - len(line.lstrip())):g} {height} Tm ({escaped}) Tj"
            )
    stream = zlib.compress("\n".join([*body, "ET"]).encode("latin-1"))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{' '.join(['4 0 R'] * pages)}] /Count {pages} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R /F2 7 0 R >> >> /Contents 5 0 R >>",
        f"<< /Length {len(stream)} /Filter /FlateDecode >>\nstream\n".encode() + stream + b"\nendstream",
        f"<< /Title ({title}) >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>",
    ]
    out = b"%PDF-1.4\n"
    places = []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    table = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    return out + f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info 6 0 R >>\nstartxref\n{table}\n%%EOF".encode()


def page(body: bytes, content_type: str = "application/pdf") -> Page:
    return Page("https://x.example/a.pdf", "https://x.example/a.pdf", 200, (("content-type", content_type),), body, 1)


async def test_a_pdf_becomes_headings_and_paragraphs() -> None:
    built = await Converter().document_of(page(pdf(LINES)), ScrapeOptions(formats=("markdown", "links")))
    assert isinstance(built, Built)
    assert built.document.markdown == (
        "# A long title\n\nFirst paragraph that goes on over two lines of the page.\n\nSee https://x.example/y for more."
    )
    assert built.document.title == "The Title"
    assert built.document.metadata["numPages"] == 1
    assert built.document.links == ["https://x.example/y"]


async def test_lines_in_a_font_of_fixed_width_are_code() -> None:
    lines = ["Head", "", "The function reads:", "def f(x):", "    if x:", "        return 1", "and so on."]
    built = await Converter().document_of(page(pdf(lines)), ScrapeOptions())
    assert isinstance(built, Built)
    assert "\n\n```\ndef f(x):\n    if x:\n        return 1\n```\n\nand so on." in (built.document.markdown or "")


async def test_a_pdf_is_known_by_its_bytes_not_its_label() -> None:
    built = await Converter().document_of(page(pdf(LINES), "text/html"), ScrapeOptions())
    assert isinstance(built, Built)
    assert "First paragraph" in (built.document.markdown or "")


@pytest.mark.parametrize("body", [b"%PDF-1.7\nnothing", pdf(LINES)[:300], b"%PDF-1.4\n" + b"\xff\x00" * 5000])
async def test_a_broken_pdf_is_a_failure_with_its_reason(body: bytes) -> None:
    failed = await Converter().document_of(page(body), ScrapeOptions())
    assert isinstance(failed, Failed)
    assert failed.code == "conversion_error"
    assert "broken" in failed.message


async def test_a_conversion_over_its_time_is_stopped() -> None:
    converter = Converter(ChildLimits(wall_s=0.05))
    failed = await converter.document_of(page(pdf(LINES, pages=2000)), ScrapeOptions())
    assert isinstance(failed, Failed)
    assert "took over" in failed.message


async def test_a_conversion_over_its_memory_is_a_failure() -> None:
    converter = Converter(ChildLimits(memory_bytes=100 * 1024 * 1024))
    failed = await converter.document_of(page(pdf(LINES) + b"\n" * 80_000_000), ScrapeOptions())
    assert isinstance(failed, Failed)
    assert failed.code == "conversion_error"


async def test_an_answer_over_its_size_is_a_failure() -> None:
    converter = Converter(ChildLimits(answer_bytes=10))
    failed = await converter.document_of(page(pdf(LINES)), ScrapeOptions())
    assert isinstance(failed, Failed)
    assert "larger than allowed" in failed.message


async def test_a_cancelled_conversion_leaves_no_process_and_frees_its_slot() -> None:
    converter = Converter(ChildLimits(most_at_once=1))
    task = asyncio.create_task(converter.document_of(page(pdf(LINES, pages=2000)), ScrapeOptions()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert isinstance(await converter.document_of(page(pdf(LINES)), ScrapeOptions()), Built)


async def test_parsing_can_be_switched_off() -> None:
    body = pdf(LINES)
    asked = ScrapeOptions(parse_pdf=False, formats=("markdown", "html", "rawHtml", "links"))
    built = await Converter().document_of(page(body), asked)
    assert isinstance(built, Built)
    got = built.document
    encoded = b64encode(body).decode()
    assert (got.markdown, got.html, got.raw_html, got.links) == (encoded, encoded, encoded, [])
    assert "numPages" not in got.metadata


async def test_only_as_many_pages_are_read_as_asked_for() -> None:
    built = await Converter().document_of(page(pdf(LINES, pages=5)), ScrapeOptions(pdf_max_pages=2))
    assert isinstance(built, Built)
    assert (built.document.markdown or "").count(LINES[0]) == 2
    assert (built.document.metadata["numPages"], built.document.metadata["totalPages"]) == (2, 5)
    built = await Converter().document_of(page(pdf(LINES, pages=2)), ScrapeOptions(pdf_max_pages=2))
    assert isinstance(built, Built)
    assert "totalPages" not in built.document.metadata


async def test_heavy_html_is_built_in_a_child() -> None:
    body = b"<title>T</title><main><h1>H</h1>" + b"<p>Some text with a <a href=/x>link</a> in it.</p>" * 80_000
    built = await Converter().document_of(page(body, "text/html"), ScrapeOptions(formats=("markdown", "links")))
    assert isinstance(built, Built)
    assert built.document.title == "T"
    assert built.document.links == ["https://x.example/x"]
    assert (built.document.markdown or "").count("[link](https://x.example/x)") == 80_000
