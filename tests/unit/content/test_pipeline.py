from __future__ import annotations

from perseid.content.pipeline import Built, Page, build
from perseid.model.options import FORMATS, ScrapeOptions

HTML = b"""<html lang=en><title>T</title><body><nav><a href=/nav>n</a></nav><main><h1>Head</h1>
<p>Some text that is long enough to count as a paragraph, <a href="../b?x=1">with a link</a>.</p></main>"""


def page(body: bytes, content_type: str | None = "text/html", status: int = 200) -> Page:
    headers = (("content-type", content_type),) if content_type else ()
    return Page("https://x.example/a/b", "http://x.example/a/b#c", status, headers, body, 7)


def test_a_page_becomes_a_document_with_all_formats() -> None:
    built = build(page(HTML), ScrapeOptions(formats=FORMATS))
    assert isinstance(built, Built)
    document = built.document
    assert "[with a link](https://x.example/b?x=1)" in (document.markdown or "")
    assert document.links == ["https://x.example/nav", "https://x.example/b?x=1"]
    assert built.hrefs == ["/nav", "../b?x=1"]
    assert document.metadata["sourceURL"] == "http://x.example/a/b#c"
    assert document.title == "T"
