"""The independent walk, and the server of folders: what the tests of whole crawls take for the truth."""

from __future__ import annotations

from pathlib import Path

from perseid.testing import Site, in_thread
from perseid.testing.folder import Folder
from perseid.testing.walk import walk


def test_pages_are_told_by_what_they_are() -> None:
    with in_thread(Site()) as site:
        site.robots("User-agent: *\nDisallow: /private\n")
        site.links({"/": ["/a#part", "/file", "/gone", "/moved", "/private/b", "http://elsewhere.example/"]})
        site.page(
            "/a", "<A class=x HREF='sub/c?x=1&amp;y=2'>C</A> <!-- <a href=/no> --> <script>'<a href=/no>'</script>"
        )
        site.page("/sub/c", "<base href=/other/><a href=d>D</a>")
        site.respond("/file", headers={"Content-Type": "text/css"})
        site.respond("/gone", 404)
        site.redirect("/moved", "/a")
        site.page("/other/d", "<a href='mailto:x@example.org'>x</a><a href='http://[::1'>broken</a>")
        found = walk(site.url("/"))
        assert found.html == {site.url(path) for path in ("/", "/a", "/sub/c?x=1&y=2", "/other/d")}
        assert found.other == {site.url("/file")}
        assert found.missing == {site.url("/gone")}
        assert found.disallowed == {site.url("/private/b")}
        assert "/private/b" not in site.counts()


def test_a_folder_answers_as_a_site(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "index.html").write_text("<h1>Sub</h1>")
    (tmp_path / "a b.html").write_text("<h1>Space</h1>")
    folder = Folder(tmp_path, "User-agent: *\n")
    assert folder.answer("/sub").startswith(b"HTTP/1.1 301 Moved Permanently\r\n")
    assert folder.answer("/sub/?x=1").endswith(b"\r\n\r\n<h1>Sub</h1>")
    assert b"Content-Type: text/html; charset=utf-8\r\n" in folder.answer("/a%20b.html")
    assert folder.answer("/robots.txt").endswith(b"\r\n\r\nUser-agent: *\n")
    for outside in ("/../x", "/%2e%2e/x", "/nothing", "/a%00b"):
        assert folder.answer(outside).startswith(b"HTTP/1.1 404 ")
    assert folder.answer("/-/requests").endswith(b'"/nothing": 1, "/a%00b": 1}')
    assert folder.answer("/-/total").endswith(b"\r\n\r\n8")
