from __future__ import annotations

import gzip
import json
import zlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perseid.links.sitemap import Sitemap, SitemapEntry, SitemapParser, candidates, parse_sitemap

if TYPE_CHECKING:
    from pathlib import Path

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def urls(body: bytes | str, content_type: str | None = None) -> list[str]:
    return [entry.url for entry in read(body, content_type).entries]


def read(body: bytes | str, content_type: str | None = None) -> Sitemap:
    return parse_sitemap(body.encode() if isinstance(body, str) else body, content_type)


def urlset(*locs: str) -> str:
    entries = "".join(f"<url><loc>{loc}</loc></url>" for loc in locs)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{NAMESPACE}">{entries}</urlset>\n'


def shared_case(shared: Path, name: str) -> tuple[dict, dict]:
    lines = (shared / "cases/cases.jsonl").read_text(encoding="utf-8").splitlines()
    case = next(case for case in map(json.loads, lines) if case["id"] == name)
    return case["input"], case["expected"]


def test_shared_case_of_many_children() -> None:
    children = [f"https://s.example/c{number}.xml" for number in [*range(1, 41), 7]]
    body = "<sitemapindex>" + "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in children)
    found = read(body + "<sitemap><loc>https://s.example/index.xml</loc></sitemap></sitemapindex>")
    assert found.kind == "index"
    assert [entry.url for entry in found.entries] == [*children, "https://s.example/index.xml"]


def test_shared_case_of_entities_and_cdata(shared: Path) -> None:
    given_, expected = shared_case(shared, "M04")
    assert urls(given_["xml"]) == expected["urls"]
    assert read(given_["xml"]).warnings == ()


def test_shared_case_of_empty_entries_and_soft_404(shared: Path) -> None:
    given_, expected = shared_case(shared, "M07")
    for case, wanted, error in zip(given_["cases"], expected["urls_per_case"], expected["errors"], strict=True):
        found = read(case.get("xml") or case["body"])
        assert [entry.url for entry in found.entries] == wanted
        if case["status"] != 500:
            assert found.error == error


def test_shared_case_of_a_bomb() -> None:
    body = gzip.compress(b"<urlset>" + b" " * 100_000_000)
    assert len(body) < 200_000
    found = read(body)
    assert (found.error, found.entries) == ("decompressed_too_large", [])


def test_kind_and_entries_of_a_urlset() -> None:
    found = read(
        f'<urlset xmlns="{NAMESPACE}"><url><loc>https://s.example/a</loc><lastmod> 2026-01-02 </lastmod>'
        "<changefreq>daily</changefreq><priority>0.5</priority></url><url><lastmod/><loc>https://s.example/b</loc></url></urlset>"
    )
    assert found == Sitemap(
        "urlset",
        [SitemapEntry("https://s.example/a", "2026-01-02"), SitemapEntry("https://s.example/b", None)],
        None,
        (),
    )


def test_prefixes_and_no_namespace() -> None:
    prefixed = f'<s:urlset xmlns:s="{NAMESPACE}"><s:url><s:loc>https://s.example/a</s:loc></s:url></s:urlset>'
    assert urls(prefixed) == ["https://s.example/a"]
    assert urls("<urlset><url><loc>https://s.example/a</loc></url></urlset>") == ["https://s.example/a"]
    undeclared = "<x:urlset><x:url><x:loc>https://s.example/a</x:loc></x:url></x:urlset>"
    assert urls(undeclared) == ["https://s.example/a"]


def test_names_in_capitals() -> None:
    assert urls("<URLSET><URL><LOC>https://s.example/a</LOC></URL></URLSET>") == ["https://s.example/a"]


def test_images_videos_and_alternates_are_no_pages() -> None:
    body = urlset(
        "https://s.example/a</loc><image:image><image:loc>https://s.example/i.png</image:loc></image:image>"
        '<image xmlns="urn:i"><loc>https://s.example/j.png</loc><url>https://s.example/k</url></image>'
        "<video:video><video:player_loc>https://s.example/v</video:player_loc><loc>https://s.example/w</loc></video:video>"
        '<xhtml:link rel="alternate" hreflang="de" href="https://s.example/de"/><image:loc>https://s.example/l.png</image:loc>'
        "<lastmod>2026</lastmod><loc>"
    )
    found = read(body)
    assert found.entries == [SitemapEntry("https://s.example/a", "2026")]
    assert found.warnings == ()


def test_locations_without_entries_are_pages() -> None:
    body = "<urlset><loc>https://s.example/a</loc><lastmod>2026</lastmod><loc>https://s.example/b</loc></urlset>"
    assert read(body).entries == [
        SitemapEntry("https://s.example/a", "2026"),
        SitemapEntry("https://s.example/b", None),
    ]


def test_a_file_that_goes_on_without_entries_is_left() -> None:
    found = read(urlset("https://s.example/a", "https://s.example/b").replace("<url>", "<x/>" * 400_000 + "<url>"))
    assert found.entries == [SitemapEntry("https://s.example/a", None), SitemapEntry("https://s.example/b", None)]
    found = read(urlset("https://s.example/a").replace("</urlset>", "<x/>" * 600_000))
    assert ([entry.url for entry in found.entries], found.error) == (["https://s.example/a"], "decompressed_too_large")


def test_two_locations_in_one_entry_are_two_pages() -> None:
    assert urls(urlset("https://s.example/a</loc><loc>https://s.example/b")) == [
        "https://s.example/a",
        "https://s.example/b",
    ]


def test_comments_and_processing_instructions_are_skipped() -> None:
    body = urlset("https://s.example/<!-- x -->a<?y z?>", "https://s.example/b").replace(
        "<url>", "<!-- <url><loc>https://s.example/no</loc></url> --><url>"
    )
    assert urls(body) == ["https://s.example/a", "https://s.example/b"]


def test_entries_of_the_other_kind_are_left_out_and_told() -> None:
    body = urlset("https://s.example/a").replace(
        "</urlset>", "<sitemap><loc>https://s.example/s.xml</loc></sitemap></urlset>"
    )
    found = read(body)
    assert ([entry.url for entry in found.entries], found.warnings) == (["https://s.example/a"], ("mixed_kinds",))


def test_the_entries_say_what_a_misnamed_root_does_not() -> None:
    assert read("<urlset><sitemap><loc>https://s.example/s.xml</loc></sitemap></urlset>").kind == "index"
    assert read("<urls><url><loc>https://s.example/a</loc></url></urls>").kind == "urlset"


@pytest.mark.parametrize("body", ["", "  \n", "{}", '{"url": "https://s.example/"}', "%PDF-1.7\0", "<", "<a/>", "not found", "<!DOCTYPE HTML><p>x", "<html><url><loc>https://s.example/a</loc></url></html>", "<!-- x --><HTML><body><a href='https://s.example/'>", "\0\0\0", "\ufeff", "<?xml version='1.0'?>"])  # fmt: skip
def test_what_is_no_sitemap_says_so(body: str) -> None:
    found = read(body)
    assert (found.kind, found.entries, found.error) == (None, [], "not_xml")


def test_an_empty_sitemap_is_no_error() -> None:
    assert read("<urlset/>") == Sitemap("urlset", [], None, ())
    assert read("<sitemapindex></sitemapindex>") == Sitemap("index", [], None, ())


def test_plain_text() -> None:
    body = "\ufeffhttps://s.example/a\r\n\r\n  HTTP://s.example/b \rnot a url\n/relative\nhttps://s.example/ü"
    found = read(body, "text/plain")
    assert found.kind == "text"
    assert [entry.url for entry in found.entries] == [
        "https://s.example/a",
        "HTTP://s.example/b",
        "https://s.example/ü",
    ]
    assert read(body.encode("utf-16")).entries == found.entries


def test_a_line_too_long_for_a_url_is_dropped() -> None:
    found = read("https://s.example/" + "x" * 100_000 + "\nhttps://s.example/a\n")
    assert [entry.url for entry in found.entries] == ["https://s.example/a"]
    assert found.warnings == ("long_url_dropped",)


def test_rss() -> None:
    found = read(
        '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>T</title><link>https://s.example/</link>'
        '<atom:link href="https://s.example/feed" rel="self"/><image><link>https://s.example/img</link></image>'
        "<item><title>A</title><link>https://s.example/a</link><guid>https://s.example/?p=1</guid><pubDate>Mon, 02 Mar 2026</pubDate></item>"
        "<item><guid>https://s.example/b</guid><dc:date>2026-01-01</dc:date></item>"
        '<item><guid isPermaLink="false">17</guid></item><link>https://s.example/late</link></channel></rss>'
    )
    assert found == Sitemap(
        "rss",
        [SitemapEntry("https://s.example/a", "Mon, 02 Mar 2026"), SitemapEntry("https://s.example/b", "2026-01-01")],
        None,
        (),
    )


def test_rss_1() -> None:
    body = (
        '<rdf:RDF xmlns:rdf="urn:r" xmlns="http://purl.org/rss/1.0/"><channel><link>https://s.example/</link></channel>'
        "<item><link>https://s.example/a</link></item></rdf:RDF>"
    )
    assert urls(body) == ["https://s.example/a"]


def test_atom() -> None:
    found = read(
        '<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://s.example/"/><updated>2020</updated>'
        '<entry><link rel="self" href="https://s.example/self"/><link rel="alternate" href="https://s.example/a?x&amp;y"/>'
        '<published>2025</published><updated>2026</updated></entry><entry><link href="https://s.example/b"/>'
        '<source><link href="https://o.example/"/></source><published>2025</published></entry></feed>'
    )
    assert found == Sitemap(
        "atom", [SitemapEntry("https://s.example/a?x&y", "2026"), SitemapEntry("https://s.example/b", "2025")], None, ()
    )


@pytest.mark.parametrize(
    ("declared", "codec"),
    [("utf-8", "utf-8-sig"), ("utf-16", "utf-16"), ("utf-16", "utf-16-le"), ("utf-16", "utf-16-be"), ("ISO-8859-1", "latin-1"), ("windows-1252", "cp1252"), ("utf-16", "utf-8"), ("no-such", "utf-8"), ("rot13", "utf-8"), ("gb2312", "gbk")],
)  # fmt: skip
def test_encodings(declared: str, codec: str) -> None:
    letter = "镕" if codec == "gbk" else "é"
    body = urlset(f"https://s.example/{letter}").replace("UTF-8", declared)
    found = read(body.encode(codec))
    assert ([entry.url for entry in found.entries], found.warnings) == ([f"https://s.example/{letter}"], ())


def test_the_charset_of_http_counts_where_the_file_declares_none() -> None:
    body = "<urlset><url><loc>https://s.example/é</loc></url></urlset>".encode("latin-1")
    assert urls(body, "application/xml; charset=ISO-8859-1") == ["https://s.example/é"]
    assert urls(urlset("https://s.example/é"), "text/xml; charset=latin1") == ["https://s.example/é"]


@pytest.mark.parametrize("junk", ["\n \t", "\0", "\ufeff\n", "Warning: Undefined array key in /x.php\n"])
def test_junk_before_the_declaration(junk: str) -> None:
    assert urls(junk + urlset("https://s.example/a")) == ["https://s.example/a"]


def test_gzip_in_all_its_forms() -> None:
    body = urlset("https://s.example/a").encode()
    members = gzip.compress(body[:40]) + gzip.compress(body[40:])
    for packed in (gzip.compress(body), gzip.compress(gzip.compress(body)), members, members + b"\0" * 20):
        assert read(packed) == Sitemap("urlset", [SitemapEntry("https://s.example/a", None)], None, ())


def test_gzip_is_unpacked_only_so_deep() -> None:
    body = urlset("https://s.example/a").encode()
    for _ in range(20):
        body = gzip.compress(body)
    assert read(body).error == "not_xml"


@pytest.mark.parametrize("damage", ["checksum", "cut", "middle"])
def test_damaged_gzip_gives_what_came_before(damage: str) -> None:
    locs = [f"https://s.example/{zlib.crc32(bytes([number % 256, number // 256]))}" for number in range(3_000)]
    packed = bytearray(gzip.compress(urlset(*locs).encode()))
    if damage == "checksum":
        packed[-6] ^= 1
    elif damage == "cut":
        del packed[-2_000:]
    else:
        packed[len(packed) // 2 :] = b"\xff" * 1_000
    found = read(bytes(packed))
    least = 3_000 if damage == "checksum" else 1_000
    assert least <= len(found.entries) <= 3_000
    assert [entry.url for entry in found.entries[:1_000]] == locs[:1_000]
    assert "corrupt_gzip" in found.warnings


def test_the_bound_on_bytes_keeps_what_was_read() -> None:
    body = urlset(*(f"https://s.example/{number:06}" for number in range(10_000))).encode()
    for packed in (body, gzip.compress(body), gzip.compress(gzip.compress(body))):
        found = parse_sitemap(packed, max_inflated_bytes=100_000)
        assert found.error == "decompressed_too_large"
        assert 2_100 < len(found.entries) < 2_200
        assert found.entries[-1].url == f"https://s.example/{len(found.entries) - 1:06}"


def test_the_bound_on_entries() -> None:
    body = urlset("https://s.example/1", "https://s.example/2", "https://s.example/3").encode()
    assert parse_sitemap(body, max_entries=3).error is None
    found = parse_sitemap(body, max_entries=2)
    assert ([entry.url[-1] for entry in found.entries], found.error) == (["1", "2"], "too_many_entries")


def test_after_an_error_everything_is_ignored() -> None:
    parser = SitemapParser()
    assert parser.feed(b"<!doctype html>" + b" " * 2_000) == []
    assert parser.error == "not_xml"
    assert parser.feed(urlset("https://s.example/a").encode()) == []
    assert (parser.close(), parser.close()) == ([], [])


def test_entries_arrive_while_the_file_does() -> None:
    parser = SitemapParser()
    body = urlset(*(f"https://s.example/{number}" for number in range(1_000))).encode()
    assert len(parser.feed(body[:20_000])) > 400
    assert parser.kind == "urlset"


@given(st.sampled_from(["xml", "gzip", "text", "broken", "utf-16", "rss"]), st.integers(1, 700), st.data())
def test_chunks_make_no_difference(form: str, size: int, data: st.DataObject) -> None:
    names = data.draw(st.lists(st.text("aé&<>\"' ]!-", max_size=6), max_size=12))
    escaped = [name.replace("&", "&amp;").replace("<", "&lt;") for name in names]
    body = urlset(*(f"https://s.example/{name}" for name in escaped)).encode()
    if form == "gzip":
        body = gzip.compress(body[:50]) + gzip.compress(body[50:])
    elif form == "text":
        body = "\r\n".join(f"https://s.example/{name}" for name in names).encode()
    elif form == "broken":
        body = body.replace(b"&amp;", b"&").replace(b"</loc>", b"</lok>", 1)
    elif form == "utf-16":
        body = body.decode().encode("utf-16")
    elif form == "rss":
        body = body.replace(b"urlset", b"rss").replace(b"url>", b"item>").replace(b"loc>", b"link>")
    whole = parse_sitemap(body)
    parser = SitemapParser()
    entries = [entry for at in range(0, len(body), size) for entry in parser.feed(body[at : at + size])]
    entries += parser.close()
    assert Sitemap(parser.kind, entries, parser.error, parser.warnings) == whole
    if form != "broken" and names:
        assert [entry.url for entry in whole.entries] == [
            f"https://s.example/{name.split(' ')[0] if form == 'text' else name.rstrip()}" for name in names
        ]


@given(
    st.binary(max_size=600),
    st.sampled_from([b"", b"<urlset><url><loc>", b"\x1f\x8b\x08\0", b"<rss><item>", b"<!DOCTYPE x ["]),
)
def test_nothing_raises(body: bytes, start: bytes) -> None:
    found = read(start + body)
    assert all(entry.url for entry in found.entries)


def test_candidates_in_order_and_once() -> None:
    assert candidates(
        "https://docs.acme.co.uk/guide/?q#x",
        ["https://docs.acme.co.uk/sitemap.xml", "/other.xml", "ftp://x.example/s.xml", "https://cdn.example/s.xml#f"],
    ) == [
        "https://docs.acme.co.uk/sitemap.xml",
        "https://docs.acme.co.uk/other.xml",
        "https://cdn.example/s.xml",
        "https://docs.acme.co.uk/guide/sitemap.xml",
        "https://acme.co.uk/sitemap.xml",
    ]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("https://acme.example", ["https://acme.example/sitemap.xml"]),
        ("https://acme.example/map/s.XML?a=1", ["https://acme.example/map/s.XML?a=1", "https://acme.example/sitemap.xml"]),
        ("https://acme.example/s.xml.gz", ["https://acme.example/s.xml.gz", "https://acme.example/sitemap.xml"]),
        ("https://www.acme.example:8443/", ["https://www.acme.example:8443/sitemap.xml", "https://acme.example:8443/sitemap.xml"]),
        ("http://127.0.0.1:81/a", ["http://127.0.0.1:81/a/sitemap.xml", "http://127.0.0.1:81/sitemap.xml"]),
        ("http://me.github.io/", ["http://me.github.io/sitemap.xml"]),
        ("http://http.acme.example/", ["http://http.acme.example/sitemap.xml", "http://acme.example/sitemap.xml"]),
        ("mailto:a@b.example", []),
        ("not a url", []),
    ],
)  # fmt: skip
def test_candidates(start: str, expected: list[str]) -> None:
    assert candidates(start) == expected
