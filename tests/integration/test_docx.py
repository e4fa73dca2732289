"""Word documents through real child processes, as pages and as uploads."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest

from perseid.content.pipeline import Built, Failed, Page
from perseid.crawls.child import ChildLimits
from perseid.crawls.convert import Converter
from perseid.crawls.upload import convert_upload
from perseid.errors import ConfigError, MissingExtra, ScrapeFailed
from perseid.model.document import Document
from perseid.model.options import ScrapeOptions
from perseid.testing import Answer, Site
from perseid.testing.clock import FakeClock

MIME = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
OFFICE = "http://schemas.openxmlformats.org"
W = f'xmlns:w="{OFFICE}/wordprocessingml/2006/main" xmlns:r="{OFFICE}/officeDocument/2006/relationships"'
RELATED = f"{OFFICE}/officeDocument/2006/relationships"


def paragraph(text: str, style: str = "", bold: str = "") -> str:
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    strong = f"<w:r><w:rPr><w:b/></w:rPr><w:t>{bold}</w:t></w:r>" if bold else ""
    return f'<w:p>{named}<w:r><w:t xml:space="preserve">{text}</w:t></w:r>{strong}</w:p>'


def table(*rows: tuple[str, ...]) -> str:
    cells = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


LINK = '<w:p><w:hyperlink r:id="link"><w:r><w:t>more</w:t></w:r></w:hyperlink></w:p>'
BODY = (
    paragraph("Report", "Title")
    + paragraph("First part", "Heading1")
    + paragraph("Some text, ", bold="in bold")
    + table(("a", "b"), ("1", "2"))
    + LINK
)


def docx(body: str = BODY, *, title: str = "The Report", pages: int | None = 3) -> bytes:
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{OFFICE}/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{MIME}.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{OFFICE}/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{RELATED}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{OFFICE}/package/2006/relationships">'
        f'<Relationship Id="link" Type="{RELATED}/hyperlink" Target="https://y.example/more" TargetMode="External"/>'
        "</Relationships>",
        "word/styles.xml": f"<w:styles {W}>"
        + "".join(
            f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/></w:style>'
            for key, name in (("Title", "Title"), ("Heading1", "heading 1"))
        )
        + "</w:styles>",
        "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
        "docProps/core.xml": f'<cp:coreProperties xmlns:cp="{OFFICE}/package/2006/metadata/core-properties" '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></cp:coreProperties>',
    }
    if pages is not None:
        namespace = f"{OFFICE}/officeDocument/2006/extended-properties"
        parts["docProps/app.xml"] = f'<Properties xmlns="{namespace}"><Pages>{pages}</Pages></Properties>'
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return out.getvalue()


async def converted(body: bytes, limits: ChildLimits | None = None, **options: object) -> Built | Failed:
    page = Page("https://x.example/a.docx", "https://x.example/a.docx", 200, (("content-type", MIME),), body, 1)
    return await Converter(limits or ChildLimits()).document_of(page, ScrapeOptions(**options))  # type: ignore[arg-type]


async def test_a_word_document_becomes_markdown_and_html() -> None:
    built = await converted(docx(), formats=("markdown", "html", "links"))
    assert isinstance(built, Built)
    got = built.document
    assert got.markdown == (
        "# Report\n\n# First part\n\nSome text, **in bold**\n\n"
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n\n[more](https://y.example/more)"
    )
    assert "<strong>in bold</strong>" in (got.html or "")
    assert got.links == ["https://y.example/more"]
    assert (got.title, got.metadata["title"], got.metadata["numPages"]) == ("The Report", "The Report", 3)
    assert (got.metadata["contentType"], got.warnings) == (MIME, [])


async def test_selectors_choose_in_word_documents_too() -> None:
    built = await converted(docx(), include_tags=("table",), only_main_content=True)
    assert isinstance(built, Built)
    assert built.document.markdown == "| a | b |\n| --- | --- |\n| 1 | 2 |"


async def test_what_a_document_does_not_say_is_left_out() -> None:
    built = await converted(docx(title="", pages=None))
    assert isinstance(built, Built)
    assert built.document.title is None
    assert not {"title", "numPages"} & set(built.document.metadata)


@pytest.mark.parametrize(
    "body", [docx()[:400] + b"[Content_Types].xml word/", docx("<w:p>"), docx("<!DOCTYPE x>" + BODY)]
)
async def test_a_broken_document_is_a_failure_with_its_reason(body: bytes) -> None:
    failed = await converted(body)
    assert isinstance(failed, Failed)
    assert failed.code == "conversion_error"
    assert "broken" in failed.message


async def test_a_document_that_takes_too_much_dies_alone() -> None:
    failed = await converted(docx("<w:p/>" * 400_000), ChildLimits(cpu_s=2))
    assert isinstance(failed, Failed)
    assert failed.code == "conversion_error"


async def test_word_documents_are_crawled(site: Site, lab: Any) -> None:
    site.page("/", "<a href=/a.docx>report</a>")
    site.handle("/a.docx", lambda _request: Answer(headers={"Content-Type": MIME}, body=docx()))
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert {document.title for document in found.documents} == {None, "The Report"}


async def upload(data: bytes, filename: str, content_type: str | None = None, **options: object) -> Document:
    asked = ScrapeOptions(**options)  # type: ignore[arg-type]
    return await convert_upload(data, filename, content_type, asked, converter=Converter(), clock=FakeClock())


async def test_an_upload_is_read_like_a_page() -> None:
    got = await upload(
        b"<title>T</title><p>text <a href=/x>link</a></p>", "my notes.html", formats=("markdown", "links")
    )
    assert (got.title, got.markdown) == ("T", "text [link](https://upload.invalid/x)")
    assert (got.source_url, got.metadata["sourceURL"], got.url) == (
        "my notes.html", "my notes.html", "https://upload.invalid/my%20notes.html",
    )  # fmt: skip
    assert (got.status, got.fetched_at) == (200, FakeClock().now_us())


async def test_uploads_of_documents_go_through_the_same_processes() -> None:
    got = await upload(docx(), "C:\\reports\\report.docx", MIME)
    assert (got.title, got.url) == ("The Report", "https://upload.invalid/report.docx")


async def test_an_upload_that_is_no_text_is_refused() -> None:
    with pytest.raises(ScrapeFailed, match=r"a\.xlsx.*xlsx") as told:
        await upload(b"PK\x03\x04[Content_Types].xml xl/", "a.xlsx")
    assert told.value.failure == "unsupported_file"
    with pytest.raises(ConfigError):
        await upload(b"x", "a.txt", timeout_s=0)


async def test_a_word_upload_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perseid.crawls.upload.office_installed", lambda: False)
    with pytest.raises(MissingExtra, match=r'pip install "perseid\[office\]"'):
        await upload(docx(), "a.docx")
