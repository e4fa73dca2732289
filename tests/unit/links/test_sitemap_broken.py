"""Sitemaps that are no well-formed XML: what can be read is read."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.links.sitemap import Sitemap, SitemapEntry, SitemapParser, parse_sitemap
from perseid.links.sitemap.scanner import attributes_of, unescape


def urls(body: bytes | str) -> list[str]:
    return [entry.url for entry in parse_sitemap(body.encode() if isinstance(body, str) else body).entries]


GOOD = "<url><loc>https://s.example/good</loc></url>"


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        ("<url><loc>https://s.example/?a=1&b=2</loc></url>", ["?a=1&b=2"]),
        ("<url><loc>https://s.example/?a=1&copy=2&amp;c=3</loc></url>", ["?a=1&copy=2&c=3"]),
        ("<url><loc>https://s.example/&eacute;&nbsp;&nosuch;</loc></url>", ["é\xa0&nosuch;"]),
        ("<url><loc>https://s.example/&#233;&#xE9;&#0;&#xD800;&#99999999999;</loc></url>", ["éé&#0;&#xD800;&#99999999999;"]),
        ("<url><loc>https://s.example/a</url>", ["a"]),
        ("<url><loc>https://s.example/a<lastmod>2026</lastmod></url>", ["a"]),
        ("<url><loc>https://s.example/a", ["a"]),
        ("<url><priority>0.5<loc>https://s.example/a</loc></url>", ["a"]),
        ("<url><image:image><image:loc>x</image:loc><loc>https://s.example/no</loc></url>", []),
        ("<url><loc>https://s.example/a</loc></loc></url></url>", ["a"]),
        ("<url <loc>https://s.example/a</loc></url>", ["a"]),
        ("<url><loc>https://s.example/a</loc></url><", ["a"]),
        ("<url><loc><![CDATA[https://s.example/?a&b]]></loc></url><x a=1>", ["?a&b"]),
        ("<url><loc>https://s.example/\x01a</loc></url>", ["\x01a"]),
        ("<url><loc>https://s.example/a</loc></url></urlset></urlset>", ["a"]),
        ("<!-- a -- b --><url><loc>https://s.example/a</loc></url>", ["a"]),
        ("<!-- never closed <url><loc>https://s.example/a</loc></url>", ["a"]),
        ("<url>\n<loc\n>https://s.example/a</loc\n></url>&", ["a"]),
    ],
)  # fmt: skip
def test_entries_around_and_within_the_fault_are_kept(broken: str, expected: list[str]) -> None:
    found = parse_sitemap(f"<urlset>{GOOD}{broken}{GOOD}</urlset>".encode())
    names = [entry.url.removeprefix("https://s.example/") for entry in found.entries]
    assert names == ["good", *expected, "good"]
    assert found.error is None
    assert found.warnings == ("broken_xml",) or "never closed" in broken


def test_invalid_utf_8_costs_one_letter() -> None:
    found = parse_sitemap(b"<urlset><url><loc>https://s.example/\xe9</loc></url>" + GOOD.encode() + b"</urlset>")
    assert [entry.url for entry in found.entries] == ["https://s.example/\ufffd", "https://s.example/good"]


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("<url><loc>https://s.example/a</loc><lastmod>20", [SitemapEntry("https://s.example/a", None)]),
        ("<url><loc>https://s.example/a</loc></url", [SitemapEntry("https://s.example/a", None)]),
        ("<url><loc>https://s.example/a", []),
        ("<url><loc>https://s.example/a</lo", []),
        ("<url><loc>https://s.example/&am", []),
        ("<url><loc><![CDATA[https://s.example/", []),
        ("<ur", []),
        ("", []),
    ],
)
def test_a_file_that_was_cut_off_gives_whole_values_only(end: str, expected: list[SitemapEntry]) -> None:
    found = parse_sitemap(f"<urlset>{GOOD}{end}".encode())
    assert found == Sitemap("urlset", [SitemapEntry("https://s.example/good", None), *expected], None, ("truncated",))


NODES = st.recursive(
    st.text("ab &\u00e9", max_size=5).map(lambda text: text.replace("&", "&amp;")),
    lambda inner: st.tuples(st.sampled_from(["url", "loc", "lastmod", "priority", "image:loc", "x"]), st.lists(inner, max_size=4)).map(
        lambda node: f"<{node[0]}>{''.join(node[1])}</{node[0]}>"
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.lists(NODES, max_size=5))
def test_whatever_the_nesting_nothing_raises_and_chunks_make_no_difference(nodes: list[str]) -> None:
    for start in ("<urlset>", "<urlset>&"):
        body = f"{start}{''.join(nodes)}</urlset>".encode()
        parser = SitemapParser()
        entries = [entry for at in range(0, len(body), 7) for entry in parser.feed(body[at : at + 7])]
        assert entries + parser.close() == parse_sitemap(body).entries


@given(st.lists(st.tuples(st.text("ab<&\u00e9", min_size=1, max_size=5), st.booleans(), st.booleans()), max_size=6))
def test_the_lenient_reader_agrees_with_the_strict_one(rows: list[tuple[str, bool, bool]]) -> None:
    entries = ""
    for name, dated, imaged in rows:
        escaped = name.replace("&", "&amp;").replace("<", "&lt;")
        entries += f"<url>\n <loc>https://s.example/{escaped}</loc>"
        entries += "<image:image><image:loc>i</image:loc><loc>j</loc></image:image>" * imaged
        entries += f"<lastmod>{escaped}</lastmod>" * dated + "<!-- <loc>c</loc> --></url>"
    strict = parse_sitemap(f"<urlset>{entries}</urlset>".encode())
    lenient = parse_sitemap(f"<urlset>&{entries}</urlset>".encode())
    assert strict.warnings == ()
    assert lenient.warnings == ("broken_xml",)
    assert (
        lenient.entries
        == strict.entries
        == [SitemapEntry(f"https://s.example/{name}", name if dated else None) for name, dated, _ in rows]
    )


def test_own_entities_are_not_expanded() -> None:
    lol = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 30))
    body = f'<!DOCTYPE urlset [<!ENTITY l0 "lol">{lol}<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset>'
    start = time.process_time()
    assert urls(body + "<url><loc>https://s.example/&l29;&x;</loc></url></urlset>") == ["https://s.example/&l29;&x;"]
    assert time.process_time() - start < 0.5


def test_a_plain_doctype_does_no_harm() -> None:
    body = f'<!DOCTYPE urlset SYSTEM "http://x.example/s.dtd"><urlset>{GOOD}</urlset>'
    assert parse_sitemap(body.encode()).warnings == ()
    assert urls(body) == ["https://s.example/good"]


def test_broken_feeds() -> None:
    rss = "<rss><channel><item><description>a<br>b</description><link>https://s.example/?a&b</link></item></channel>"
    assert urls(rss) == ["https://s.example/?a&b"]
    atom = "<feed><entry><title>a & b</title><link rel=alternate href='https://s.example/?a&amp;b'/></entry></feed>"
    assert urls(atom) == ["https://s.example/?a&b"]


def test_html_is_recognised_by_the_lenient_reader_too() -> None:
    assert parse_sitemap(b"<!-- a -- b --><!doctype html><p>").error == "not_xml"
    assert parse_sitemap(b"<?php & ?>&<html><p>").error == "not_xml"


@pytest.mark.parametrize(
    "unit",
    [
        b"<url>",
        b"<a>",
        b"<!--",
        b"<![CDATA[",
        b"<url><loc>",
        b"<",
        b"&",
        b"</url>",
        b"<url><loc>&<!--",
        b"<a b='",
        b"x",
    ],
)
@pytest.mark.parametrize("start", [b"<urlset>", b"<urlset>&<url><loc>", b"<urlset>&"])
def test_hostile_files_are_read_in_linear_time(start: bytes, unit: bytes) -> None:
    body = start + unit * (400_000 // len(unit))
    began = time.process_time()
    parser = SitemapParser()
    for at in range(0, len(body), 65_536):
        parser.feed(body[at : at + 65_536])
    parser.close()
    assert time.process_time() - began < 3


@given(st.text("ab&;#x1<>", max_size=40))
def test_text_without_references_stays_what_it_is(text: str) -> None:
    assert unescape(text.replace("&", "")) == text.replace("&", "")
    assert unescape(text.replace("&", "&amp;")) == text


def test_attributes() -> None:
    assert attributes_of(' a="1" b = \'2 "\' c=3 d href="x&amp;y" /') == {"a": "1", "b": '2 "', "c": "3", "href": "x&y"}
    assert attributes_of('a="never closed') == {"a": "never closed"}
    assert attributes_of("=") == {}
