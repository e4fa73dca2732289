"""Entries read many at once: the same as by expat, whatever stands between them and however the bytes arrive."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.links.sitemap import MAX_ENTRIES, Sitemap, SitemapParser, scanner, strict
from perseid.links.sitemap.plain import forgiving, plain
from perseid.links.sitemap.scanner import unescape

PLAIN = [
    b"<url><loc>https://s.example/a</loc></url>",
    b"\n  <url>\r\n<loc> https://s.example/b?x=1&amp;y=&amp; </loc>\t<lastmod>2026-01-02</lastmod> </url>",
    b"<url><loc>https://s.example/c</loc><changefreq>daily</changefreq></url>",
    b"<url><loc>https://s.example/d</loc><lastmod> </lastmod><priority>0.5</priority></url>",
    b"<url><loc></loc><lastmod>2026</lastmod></url>",
    b"<url><loc>/relative</loc></url>",
    "<url><loc>https://s.example/ünï</loc></url>".encode(),
    "<url><loc>\u3000https://s.example/wide\u00a0</loc></url>".encode(),
    b"<url><loc>https://s.example/" + b"long/" * 4_000 + b"</loc></url>",
    b"<url><loc>https://s.example/e</loc><lastmod>" + b"2026" * 40 + b"</lastmod></url>",
    b"<sitemap><loc>https://s.example/s.xml</loc></sitemap>",
]
OTHER = [
    b"<url><loc>https://s.example/?a&b</loc></url>",
    b"<url><loc>https://s.example/&lt;&#65;&eacute;</loc></url>",
    b"<url><loc><![CDATA[https://s.example/]]></loc></url>",
    b"<url><loc>https://s.example/1</loc><loc>https://s.example/2</loc></url>",
    b"<url><lastmod>2026</lastmod><loc>https://s.example/3</loc></url>",
    b"<url><loc>https://s.example/3</loc><lastmod/></url>",
    b"<url a='1'><loc>https://s.example/4</loc></url >",
    b"<x:url><x:loc>https://s.example/5</x:loc></x:url>",
    b"<url><loc>https://s.example/6</loc><image:image xmlns:image='i'><image:loc>i</image:loc></image:image></url>",
    b"<url><loc>https://s.example/7]]></loc></url>",
    b"<url><loc>https://s.example/\xff</loc></url>",
    b"<url><loc>https://s.example/\xef\xbf\xbf</loc></url>",
    b"<url><loc>https://s.example/\x01</loc></url>",
    b"<url><loc>https://s.example/8",
    b"</url>",
    b"<group>",
    b"</group>",
    b"<loc>https://s.example/9</loc>",
    b"<!-- ",
    b" -->",
    b"<![CDATA[",
    b"]]>",
    b"junk & more",
    b"</urlset>",
    b"<url/>",
    b"<?p </url> ?>",
]
BEGINNINGS = [b"<urlset>", b"<?xml version='1.0'?><urlset xmlns='x'>", b"<sitemapindex>", b"<foo>", b"", b"<rss>"]


FIRST = 2_048
"""Bytes of the first chunk, from which the reader learns what it has before it."""


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A first chunk with, mostly, an entry in it, and what follows."""
    pieces = draw(
        st.lists(st.one_of(st.sampled_from(PLAIN), st.sampled_from(PLAIN), st.sampled_from(OTHER)), max_size=30)
    )
    first = draw(st.sampled_from(BEGINNINGS)) + draw(st.sampled_from([PLAIN[0], PLAIN[0], PLAIN[-1], b""]))
    return first.ljust(FIRST) + b"".join(pieces) + draw(st.sampled_from([b"", b"</urlset>"]))


def read(body: bytes, chunk: int, most: int) -> Sitemap:
    parser = SitemapParser(max_entries=most)
    entries = parser.feed(body[:FIRST])
    for at in range(FIRST, len(body), chunk):
        entries += parser.feed(body[at : at + chunk])
    entries += parser.close()
    return Sitemap(parser.kind, entries, parser.error, parser.warnings)


@pytest.mark.parametrize(
    ("first", "body"),
    [
        (b"", PLAIN[2]),
        (b"<urlset>", b"<!-- </url>" + PLAIN[0] + b" -->" + PLAIN[2]),
        (b"<urlset>", b"<!-- " + b" " * 1_100 + b"</url>" + PLAIN[0] + b" -->" + PLAIN[2]),
        (b"<urlset>", b"<url><![CDATA[</url>" + PLAIN[0] + b"]]></url>" + PLAIN[2]),
        (b"<urlset>", b"<group>" + PLAIN[0] + b"</group>" + PLAIN[2]),
        (b"<urlset>", b"<url><image>" + PLAIN[0] + b"</image></url>" + PLAIN[2]),
        (b"<urlset>", b"<url><loc>https://s.example/a</loc><lastmod>20>26]]></lastmod></url>" + PLAIN[2]),
        (b"<urlset>", b"<url><loc>https://s.example/]]></loc></url>" + PLAIN[2]),
        (b"<urlset>", b"<url><loc>https://s.example/\xff</loc></url>" + PLAIN[2]),
        (b"<urlset>", b"</urlset>" + PLAIN[0]),
    ],
)
@pytest.mark.parametrize("chunk", [1, 70_000])
def test_what_only_looks_like_an_entry_is_told_from_one(first: bytes, body: bytes, chunk: int) -> None:
    whole = first + b"<url><loc>".ljust(FIRST - len(first) - 12, b"x") + b"</loc></url>" + body
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strict, "ENDS", {})
        patch.setattr(scanner, "forgiving", lambda _text, at, *_: ([], at))
        expected = read(whole, chunk, MAX_ENTRIES)
    assert read(whole, chunk, MAX_ENTRIES) == expected


@given(body=files(), chunk=st.sampled_from([7, 100, 1_500, 70_000]), most=st.sampled_from([5, MAX_ENTRIES]))
def test_same_as_by_expat_alone(body: bytes, chunk: int, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strict, "ENDS", {})
        patch.setattr(scanner, "forgiving", lambda _text, at, *_: ([], at))
        expected = read(body, chunk, most)
    assert read(body, chunk, most) == expected


def test_common_form_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []

    def spy(data: bytes, at: int, name: str, most: int) -> tuple[list[object], int]:
        entries, end = plain(data, at, name, most)
        taken.append(len(entries))
        return list(entries), end

    monkeypatch.setattr(strict, "plain", spy)
    entry = b"<url>\n<loc>https://s.example/%d?a=1&amp;b=2</loc>\n<lastmod>2026-01-01</lastmod>\n</url>\n"
    body = b"<urlset>" + b"".join(entry % number for number in range(5_000)) + b"</urlset>"
    found = read(body, 16_384, MAX_ENTRIES)
    assert [entry.url for entry in found.entries] == [f"https://s.example/{n}?a=1&b=2" for n in range(5_000)]
    assert sum(taken) > 4_500


def test_entries_of_another_form_are_left() -> None:
    data = b"".join(PLAIN[:2]) + b"<url a='1'>"
    entries, end = plain(data, 0, "url", 10)
    assert [entry.url for entry in entries] == ["https://s.example/a", "https://s.example/b?x=1&y=&"]
    assert data[end:] == b"<url a='1'>"
    assert plain(data, end, "url", 10) == ([], end)


def test_no_more_than_asked_for() -> None:
    entries, end = plain(PLAIN[0] * 3, 0, "url", 2)
    assert (len(entries), end) == (2, 2 * len(PLAIN[0]))


def test_what_is_no_xml_is_read_at_once_too() -> None:
    text = "\n<url><loc> https://s.example/?a&b&amp;c&eacute; </loc><lastmod>&nbsp;</lastmod></url>" + "<url><x>"
    ((entry,), end) = forgiving(text, 0, "url", 10, unescape)
    assert entry == ("https://s.example/?a&b&cé", None)
    assert text[end:] == "<url><x>"
