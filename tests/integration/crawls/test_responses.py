"""What answers of all kinds become: documents, failures with their bodies, never empty pages."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from perseid.testing import Answer, Site

PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj "
    b"4 0 obj<</Length 52>>stream\nBT /F1 24 Tf 20 200 Td (Orchard figures) Tj ET     \nendstream endobj "
    b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R>>\n"
)


async def _one(site: Site, lab: Any, answer: Answer, **scrape: Any) -> Any:
    site.handle("/page", lambda _request: answer)
    return await lab.batch([site.url("/page")], **scrape)


@pytest.mark.parametrize("status", [404, 410, 500])
async def test_bodies_of_errors_are_kept_and_listed_as_failures(site: Site, lab: Any, status: int) -> None:
    found = await _one(site, lab, Answer(status=status, body="<h1>Sorry, gone</h1>"), max_attempts=1)
    assert found.documents == []
    assert found.failures[site.url("/page")].status == status
    assert found.crawl.counts.documents == 1


async def test_a_truncated_body_is_tried_again(site: Site, lab: Any) -> None:
    whole = "<p>whole</p>" * 50
    site.sequence("/page", [Answer(body=whole, cut_after=100), Answer(body=whole)])
    found = await lab.batch([site.url("/page")])
    assert [document.markdown.count("whole") for document in found.documents] == [50]


@pytest.mark.parametrize("how", [{"cut_after": 20}, {"chunked": True, "last_chunk": False, "close": True}])
async def test_a_body_that_is_always_truncated_fails(site: Site, lab: Any, how: dict[str, Any]) -> None:
    found = await _one(site, lab, Answer(body="<p>never whole, ever</p>" * 9, **how), max_attempts=2)
    assert found.codes == {site.url("/page"): "truncated_body"}
    assert site.counts()["/page"] == 2


@pytest.mark.parametrize(
    "body",
    [b"\x89PNG\r\n\x1a\n" + b"\0" * 40, b"PK\x03\x04" + b"\0" * 60, b"\x7fELF" + b"\0" * 60],
    ids=["png", "zip", "elf"],
)
async def test_binary_that_says_it_is_html_is_no_page(site: Site, lab: Any, body: bytes) -> None:
    found = await _one(site, lab, Answer(body=body))
    assert found.codes == {site.url("/page"): "unsupported_file"}


async def test_a_pdf_becomes_text(site: Site, lab: Any) -> None:
    found = await _one(site, lab, Answer(headers={"Content-Type": "application/pdf"}, body=PDF))
    assert found.failures == {}
    assert "Orchard figures" in found.documents[0].markdown


@pytest.mark.parametrize(
    ("kind", "body", "shown"),
    [
        ("application/json", '{"name": "orchard"}', "orchard"),
        ("application/xml", "<trees><tree>apple</tree></trees>", "apple"),
        ("text/plain", "plain words", "plain words"),
        ("text/markdown", "# A heading\n\ntext", "# A heading"),
    ],
)
async def test_text_of_other_kinds_becomes_a_document(site: Site, lab: Any, kind: str, body: str, shown: str) -> None:
    found = await _one(site, lab, Answer(headers={"Content-Type": kind}, body=body))
    assert shown in found.documents[0].markdown


async def test_links_of_markdown_are_followed(site: Site, lab: Any) -> None:
    site.respond("/", headers={"Content-Type": "text/markdown"}, body="See [the next](/next).")
    site.page("/next", "<p>next</p>")
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.paths == ["/", "/next"]


async def test_an_empty_body_is_a_page_without_text(site: Site, lab: Any) -> None:
    found = await _one(site, lab, Answer(body=b""))
    assert found.failures == {}
    assert found.documents[0].markdown == ""


async def test_a_body_without_end_is_too_large(site: Site, open_lab: Any) -> None:
    lab = await open_lab(fetch={"max_html_bytes": 100_000})
    async with asyncio.timeout(10):
        found = await _one(site, lab, Answer(body=b"<p>again</p>" * 100, endless=True))
    assert found.codes == {site.url("/page"): "body_too_large"}


@pytest.mark.parametrize(
    ("header", "encoding", "head"),
    [
        ("text/html; charset=windows-1251", "cp1251", ""),
        ("text/html", "utf-8", "<meta charset=utf-8>"),
        ("text/html", "shift_jis", "<meta charset=shift_jis>"),
        ("text/html; charset=nonsense", "utf-8", "<meta charset=utf-8>"),
        ("text/html", "utf-16", ""),
        ("text/html; charset=gb2312", "gb18030", ""),
    ],
)
async def test_charsets_survive_the_way_into_the_store(
    site: Site, lab: Any, header: str, encoding: str, head: str
) -> None:
    word = {"cp1251": "яблоня", "shift_jis": "りんご", "gb18030": "苹果"}.get(encoding, "Äpfel €")
    body = f"<html><head>{head}<title>{word}</title></head><body><p>{word}</p></body></html>".encode(encoding)
    found = await _one(site, lab, Answer(headers={"Content-Type": header}, body=body))
    assert (found.documents[0].title, found.documents[0].markdown.strip()) == (word, word)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
async def test_content_codings_are_undone(site: Site, lab: Any, coding: Any) -> None:
    found = await _one(site, lab, Answer(body="<p>unpacked</p>", coding=coding))
    assert found.documents[0].markdown.strip() == "unpacked"


async def test_a_document_beyond_the_database_lies_beside_it(site: Site, open_lab: Any) -> None:
    lab = await open_lab(store={"blob_bytes": 1024})
    words = " ".join(f"word{n * 7919 % 100003}" for n in range(20_000))
    found = await _one(site, lab, Answer(body=f"<p>{words}</p>"))
    assert "word7919 " in found.documents[0].markdown


@pytest.mark.parametrize(
    "raw",
    [b"HTTP/1.1 abc\r\n\r\n", b"\x00\xff\xfe garbage\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nx"],
    ids=["status", "garbage", "nothing", "length"],
)
async def test_an_answer_that_is_no_http_is_a_failure(site: Site, lab: Any, raw: bytes) -> None:
    found = await _one(site, lab, Answer(raw=raw), max_attempts=1)
    assert found.documents == []
    assert set(found.codes.values()) <= {"bad_response", "connection_error", "truncated_body"}
    assert len(found.codes) == 1


async def test_hostile_text_reaches_the_store_clean(site: Site, lab: Any) -> None:
    found = await _one(site, lab, Answer(body="<title>a\0b</title><p>&#xD800;&#0;x\0y</p>" + "<div>" * 5000))
    assert found.failures == {}
    line = found.documents[0]
    assert "\0" not in (line.title or "") + (line.markdown or "")


async def test_a_bug_of_ours_costs_one_page(site: Site, lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    convert = lab.client._engine.converter.document_of

    async def buggy(page: Any, options: Any) -> Any:
        if page.url.endswith("/a"):
            raise ZeroDivisionError("a bug")
        return await convert(page, options)

    monkeypatch.setattr(lab.client._engine.converter, "document_of", buggy)
    site.links({"/": ["/a", "/b"]})
    found = await lab.crawl(site.url("/"), sitemap="skip")
    assert found.paths == ["/", "/b"]
    assert found.codes == {site.url("/a"): "internal_error"}
    assert "ZeroDivisionError" in found.failures[site.url("/a")].message


async def test_an_error_with_a_picture_for_a_body_is_that_error(site: Site, lab: Any) -> None:
    picture = Answer(status=404, headers={"Content-Type": "image/png"}, body=b"\x89PNG\r\n\x1a\n" + b"\0" * 40)
    found = await _one(site, lab, picture)
    assert found.codes == {site.url("/page"): "http_404"}
