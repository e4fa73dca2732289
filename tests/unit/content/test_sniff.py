from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.content.sniff import Kind, sniff

HTML = b"<!doctype html><html><body><p>x</p></body></html>"


def archive(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name in names:
            file.writestr(name, "application/epub+zip" if name == "mimetype" else "x")
    return out.getvalue()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"%PDF-1.7\n%\xe2\xe3", Kind.PDF),
        (b"\r\n\r\n%PDF-1.4", Kind.PDF),
        (b"\x89PNG\r\n\x1a\n\x00\x00", Kind.IMAGE),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", Kind.IMAGE),
        (b"GIF89a\x01\x00", Kind.IMAGE),
        (b"RIFF\x24\x00\x00\x00WEBPVP8 ", Kind.IMAGE),
        (b"RIFF\x24\x00\x00\x00WAVEfmt ", Kind.AUDIO),
        (b"\x00\x00\x00\x1cftypavif\x00", Kind.IMAGE),
        (b"\x00\x00\x00\x18ftypmp42\x00", Kind.VIDEO),
        (b"ID3\x04\x00", Kind.AUDIO),
        (b"\x1f\x8b\x08\x00", Kind.ARCHIVE),
        (b"wOF2\x00\x01", Kind.FONT),
        (b"\x7fELF\x02\x01", Kind.BINARY),
        (b"MZ\x90\x00\x03\x00", Kind.BINARY),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Kind.OLE),
        (b"{\\rtf1\\ansi", Kind.RTF),
        (archive("[Content_Types].xml", "word/document.xml"), Kind.DOCX),
        (archive("[Content_Types].xml", "xl/workbook.xml"), Kind.XLSX),
        (archive("[Content_Types].xml", "ppt/presentation.xml"), Kind.PPTX),
        (archive("mimetype", "META-INF/container.xml"), Kind.EPUB),
        (archive("a.txt"), Kind.ARCHIVE),
        (bytes(range(256)) * 20, Kind.BINARY),
        (b"a\x00b\x02c", Kind.BINARY),
    ],
)
@pytest.mark.parametrize("label", [None, "text/html; charset=utf-8", "application/octet-stream", "text/plain"])
def test_binary_is_known_by_its_bytes(body: bytes, kind: Kind, label: str | None) -> None:
    assert sniff(body, content_type=label) is kind


@pytest.mark.parametrize(
    ("body", "label", "kind"),
    [
        (HTML, None, Kind.HTML),
        (HTML, "application/octet-stream", Kind.HTML),
        (HTML, "image/png", Kind.HTML),
        (HTML, "application/xhtml+xml", Kind.HTML),
        (HTML, "text/plain", Kind.TEXT),
        (b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><body/></html>", "text/xml", Kind.HTML),
        (b"<?xml version='1.0'?><rss><channel/></rss>", "text/html", Kind.XML),
        (b"<?xml version='1.0'?><a/>", None, Kind.XML),
        (b"<rss version='2.0'/>", "application/rss+xml", Kind.XML),
        (b'{"a": [1, 2]}', "application/ld+json", Kind.JSON),
        (b'\n{"a": 1}\n', "text/html", Kind.JSON),
        (b"[1, 2]", None, Kind.JSON),
        (b"{ not json", "text/html", Kind.HTML),
        (b"# T\n\ntext", "text/markdown", Kind.MARKDOWN),
        (b"BM and MZ begin this text", "text/plain", Kind.TEXT),
        (b"hello", None, Kind.TEXT),
        (b"<svg/>", "image/svg+xml", Kind.IMAGE),
        (b"", "text/html", Kind.EMPTY),
        (b" \r\n\t", "text/html", Kind.EMPTY),
        (b"<p>one stray \x00 or \x01 is no binary" + b" text" * 100, "text/html", Kind.HTML),
        (b"<p>A short page with one \x00 in its text.</p>", "text/html", Kind.HTML),
        (b"Short text, one \x00 and one \x01.", None, Kind.TEXT),
    ],
)
def test_kinds_of_text(body: bytes, label: str | None, kind: Kind) -> None:
    assert sniff(body, content_type=label) is kind


def test_the_suffix_tells_markdown_from_plain_text() -> None:
    assert sniff(b"# T", content_type="text/plain", path="/a/README.md") is Kind.MARKDOWN


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_text(encoding: str) -> None:
    assert sniff(HTML.decode().encode(encoding)) is Kind.HTML


@given(st.binary(max_size=200), st.sampled_from([None, "text/html", "text/xml", "application/json", "x/y"]))
def test_any_bytes_have_a_kind(body: bytes, label: str | None) -> None:
    assert sniff(body, content_type=label) in Kind
