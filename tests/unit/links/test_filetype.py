from __future__ import annotations

import pytest

from perseid.links.filetype import DOCUMENTS, STOPPED, extension, stopped_extension


@pytest.mark.parametrize(
    "path",
    [
        "/a.png", "/a.JPG", "/a.webp", "/a.svg", "/v.mp4", "/s.mp3", "/f.woff2", "/p.zip", "/p.tar.gz", "/s.css",
        "/s.js", "/i.exe", "/i.dmg", "/i.deb", "/i.iso", "/m.wasm", "/p.7z", "/x.jar", "/favicon.ico", "/a.min.js",
        "/a.d/b.gif", "/a.jpg;v=1", "/a%20b.png", "/.hidden.zip", "/a.xlsx", "/a.pptx",
    ],
)  # fmt: skip
def test_files_without_page_text_are_not_followed(path: str) -> None:
    assert stopped_extension(path)


@pytest.mark.parametrize(
    "path",
    [
        "/", "", "/a", "/a.html", "/a.PDF", "/a.docx", "/a.xml", "/a.txt", "/a.md", "/a.json", "/a.php", "/a.aspx",
        "/a.csv", "/a.unknown", "/v1.2", "/16.0", "/example.com", "/a.png/", "/a.zip/b", "/png", "/.png",
        "/.js", "/a.", "/wiki/File:Map.png", "/wiki/File%3AMap.png", "/main.c", "/a.b/c",
    ],
)  # fmt: skip
def test_documents_and_what_nobody_knows_are_followed(path: str) -> None:
    assert stopped_extension(path) is None


def test_no_extension_is_both() -> None:
    assert STOPPED.isdisjoint(DOCUMENTS)


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/a/Report.PDF;v=1", "pdf"), ("/a.b/c", ""), ("/.zip", ""), ("/a.tar.gz", "gz"), ("/a.", ""), ("", "")],
)
def test_the_extension_is_that_of_the_last_segment(path: str, expected: str) -> None:
    assert extension(path) == expected
