"""From payloads to addresses by steps: lists, templates, sitemaps, feeds, APIs, databases, files."""

from __future__ import annotations

import asyncio
import csv
import gzip
import io
import json
import tempfile
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.seeds.conftest import Run, World

from perseid.errors import SourceFailed
from perseid.model.seed import ApiSource, CsvSource, FeedSource, SitemapSource, SqlSource, Template, UrlList
from perseid.seeds.expanding import Expander, first_host
from perseid.seeds.sources import csv_file

SITE = "https://x.example"


def paths(urls: list[str]) -> list[str]:
    return [url.removeprefix(SITE) for url in urls]


# Lists and templates


async def test_a_list_comes_by_five_hundred_and_bad_addresses_are_counted(run: Any) -> None:
    found = await run.of(UrlList(urls=(*(f"{SITE}/{n}#top" for n in range(1_001)), "ftp://x", "//", "nothing")))
    assert paths(found) == [f"/{n}" for n in range(1_001)]
    assert [len(step.urls) for step in run.steps] == [500, 500, 1]
    assert run.skipped == 3
    assert run.notes[0] == "address 1002: 'ftp://x' is no address of the web"


async def test_a_template_goes_on_where_it_was(run: Any) -> None:
    said = Template(
        url=f"{SITE}/{{k}}/{{page:1..400}}?{{date:%d}}", values={"k": ("a", "b")}, since="today-1", until="today"
    )
    found = await run.of(said, forgetful=True)
    assert len(found) == len(set(found)) == 1_600
    assert paths([found[0], found[799], found[-1]]) == ["/a/1?04", "/a/400?05", "/b/400?05"]
    assert all(step.next_host == "" for step in run.steps)


async def test_a_million_addresses_take_the_memory_of_one_step(world: Any) -> None:
    said = Template(url=f"{SITE}/{{a:1..1000}}/{{b:1..1000}}")
    expander, cursor, seen = Expander(), None, 0
    tracemalloc.start()
    for at in (0, 499_500, 999_500):
        cursor = b"%d" % at
        step = await expander.step(said, cursor, world)
        seen += len(step.urls)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (seen, step.cursor, step.urls[-1]) == (1_500, None, f"{SITE}/1000/1000")
    assert peak < 1_000_000


# Sitemaps


def urlset(*locs: str | tuple[str, str]) -> str:
    pairs = [each if isinstance(each, tuple) else (each, "") for each in locs]
    entries = "".join(f"<url><loc>{loc}</loc>{f'<lastmod>{mod}</lastmod>' if mod else ''}</url>" for loc, mod in pairs)
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'


def index(*locs: str) -> str:
    entries = "".join(f"<sitemap><loc>{loc}</loc></sitemap>" for loc in locs)
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</sitemapindex>'


@pytest.mark.parametrize("forgetful", [False, True])
async def test_an_index_is_unfolded_and_each_file_is_read_to_its_end(world: Any, run: Any, forgetful: bool) -> None:
    world.lay(f"{SITE}/s.xml", index(f"{SITE}/1.xml.gz", f"{SITE}/2.xml", f"{SITE}/s.xml"))
    world.lay(f"{SITE}/1.xml.gz", gzip.compress(urlset(*(f"{SITE}/a/{n}" for n in range(1_200))).encode()))
    world.lay(f"{SITE}/2.xml", urlset(f"{SITE}/b", "/c"))
    found = await run.of(SitemapSource(url=f"{SITE}/s.xml"), forgetful=forgetful)
    assert paths(found) == [*(f"/a/{n}" for n in range(1_200)), "/b", "/c"]
    once = [f"{SITE}/s.xml", f"{SITE}/1.xml.gz", f"{SITE}/2.xml"]
    again = [f"{SITE}/s.xml", *[f"{SITE}/1.xml.gz"] * 3, f"{SITE}/2.xml"]
    assert world.asked == (again if forgetful else once)
    assert run.steps[0].next_host == "x.example"


async def test_what_is_kept_is_not_announced_as_a_request(world: Any, run: Any) -> None:
    world.lay(f"{SITE}/s.xml", urlset(*(f"{SITE}/{n}" for n in range(1_001))))
    await run.of(SitemapSource(url=f"{SITE}/s.xml"))
    assert [step.next_host for step in run.steps] == ["", "", ""]
    assert len(world.asked) == 1
    assert first_host(SitemapSource(url="https://www.X.example/s.xml")) == "x.example"


async def test_only_what_was_modified_and_matches(world: Any, run: Any) -> None:
    world.lay(
        f"{SITE}/s.xml",
        urlset(
            (f"{SITE}/p/old", "2025-03-01T10:00:00Z"), (f"{SITE}/p/new", "2025-03-04"), (f"{SITE}/p/unsaid", ""),
            (f"{SITE}/p/month", "2025-03"), (f"{SITE}/p/year", "2024"), (f"{SITE}/other", "2025-03-05"),
            (f"{SITE}/p/x.pdf", "2025-03-05"),
        ),
    )  # fmt: skip
    said = SitemapSource(url=f"{SITE}/s.xml", match=("/p/",), exclude=(r"\.pdf$",), modified_since="today-2")
    assert paths(await run.of(said)) == ["/p/new", "/p/unsaid", "/p/month"]


async def test_a_file_of_an_index_that_cannot_be_read_costs_only_itself(world: Any, run: Any) -> None:
    world.lay(f"{SITE}/s.xml", index(f"{SITE}/gone.xml", f"{SITE}/away.xml", f"{SITE}/page.xml", f"{SITE}/1.xml"))
    world.lay(f"{SITE}/gone.xml", "", status=404)
    world.lay(f"{SITE}/page.xml", "<!doctype html><html><body>Sorry", kind="text/html")
    world.lay(f"{SITE}/1.xml", urlset(f"{SITE}/a").replace("</urlset>", "<url><loc>/b</loc>"))
    assert paths(await run.of(SitemapSource(url=f"{SITE}/s.xml"))) == ["/a", "/b"]
    assert run.skipped == 3
    assert run.notes[:2] == [f"the sitemap {SITE}/gone.xml answered 404", f"{SITE}/away.xml can't be reached"]
    assert "is no sitemap (not_xml)" in run.notes[2]


async def test_a_seed_without_its_sitemap_fails_and_says_why(world: Any, run: Any) -> None:
    world.lay(f"{SITE}/gone.xml", "", status=404)
    world.lay(f"{SITE}/down.xml", "", status=503)
    world.lay(f"{SITE}/page.xml", "<!doctype html><html><body>Sorry", kind="text/html")
    for name, said, retryable in (
        ("gone", "answered 404", False),
        ("down", "answered 503", True),
        ("page", "is no sitemap", False),
        ("away", "can't be reached", True),
    ):
        with pytest.raises(SourceFailed, match=said) as raised:
            await run.of(SitemapSource(url=f"{SITE}/{name}.xml"))
        assert raised.value.retryable is retryable


async def test_indexes_that_name_each_other_come_to_an_end(world: Any, run: Any) -> None:
    world.lay(f"{SITE}/a.xml", index(f"{SITE}/b.xml", f"{SITE}/a.xml"))
    world.lay(f"{SITE}/b.xml", index(f"{SITE}/a.xml", f"{SITE}/b.xml", f"{SITE}/c.xml"))
    world.lay(f"{SITE}/c.xml", urlset(f"{SITE}/1"))
    assert paths(await run.of(SitemapSource(url=f"{SITE}/a.xml"))) == ["/1"]
    assert len(world.asked) == 3


async def test_a_sitemap_that_is_another_one_each_time_comes_to_an_end(world: Any, run: Any) -> None:
    counted = 0
    lay = world.fetch

    async def fetch(url: str) -> Any:
        nonlocal counted
        counted += 1
        world.lay(url, urlset(*(f"{SITE}/{n}" for n in range(1_500)), f"{SITE}/at?{counted}"))
        return await lay(url)

    world.fetch = fetch
    found = await run.of(SitemapSource(url=f"{SITE}/s.xml"), forgetful=True, most=20)
    assert {f"{SITE}/{n}" for n in range(1_500)} <= set(found)


# Feeds

RSS = """<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xml:base="https://x.example/blog/">
<channel><title>x</title><link>https://x.example/</link><atom:link rel="self" href="https://x.example/feed"/>
<atom:link rel="next" href="?page=2"/>
<item><title>1</title><link>one</link></item>
<item><title>2</title><guid>https://x.example/two</guid></item>
<item><title>3</title><guid isPermaLink="false">tag:3</guid></item>
<item><title>4</title><link><![CDATA[ https://x.example/four?a=1&b=2 ]]></link></item>
<item><title>5</title><link>https://feeds.example/5</link>
  <o:origLink xmlns:o="http://rssnamespace.org/feedburner/ext/1.0">https://x.example/five</o:origLink></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/blog/"><link href="https://x.example/"/>
<entry xml:base="2025/"><link rel="self" href="self"/><link rel="alternate" type="application/pdf" href="one.pdf"/>
  <link rel="alternate" type="text/html" href="one"/></entry>
<entry><id>https://x.example/two</id></entry>
<entry><link href="/three"/><link rel="edit" href="/edit"/></entry></feed>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel rdf:about="https://x.example/"><link>https://x.example/</link></channel>
<item rdf:about="https://x.example/one"><link>https://x.example/one</link></item>
<item rdf:about="https://x.example/two"></item></rdf:RDF>"""
JSON_FEED = {
    "version": "https://jsonfeed.org/version/1.1", "next_url": "/feed.json?page=2",
    "items": [{"id": "1", "url": "/one"}, {"id": "https://x.example/two"}, {"id": "3"}, {"external_url": "https://y.example/4"}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("body", "expected", "skipped"),
    [
        (RSS, ["/blog/one", "/two", "/four?a=1&b=2", "/five"], 1),
        (ATOM, ["/blog/2025/one", "/two", "/three"], 0),
        (RDF, ["/one", "/two"], 0),
        (json.dumps(JSON_FEED), ["/one", "/two", "https://y.example/4"], 1),
        (RSS.replace("<title>3</title>", "<title>3 & 4 < 5"), ["/two", "/four?a=1&b=2"], None),
        ("<rss><channel></channel></rss>", [], 0),
    ],
    ids=["rss", "atom", "rdf", "json", "broken", "empty"],
)
async def test_a_feed_gives_the_pages_of_its_entries(
    world: Any, run: Any, body: str, expected: list[str], skipped: int | None
) -> None:
    world.lay(f"{SITE}/feed", body)
    found = paths(await run.of(FeedSource(url=f"{SITE}/feed")))
    assert found == expected or (skipped is None and set(expected) <= set(found))
    assert skipped is None or run.skipped == skipped


async def test_a_feed_is_followed_to_its_older_pages(world: Any, run: Any) -> None:
    world.lay(f"{SITE}/feed.json", json.dumps(JSON_FEED))
    world.lay(f"{SITE}/feed.json?page=2", json.dumps({"items": [{"url": "/old"}], "next_url": "?page=3"}))
    assert paths(await run.of(FeedSource(url=f"{SITE}/feed.json", max_pages=2)))[-1] == "/old"
    assert world.asked == [f"{SITE}/feed.json", f"{SITE}/feed.json?page=2"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<!doctype html><title>x</title><p>Hello", "is no feed, but a web page"),
        ("{}", "has no list of `items`"),
        ('{"items": [', "is no feed: this is no JSON"),
        ("<svg xmlns='http://www.w3.org/2000/svg'/>", "its root is 'svg'"),
        ("", "is no feed"),
    ],
)
async def test_what_is_no_feed_says_so(world: Any, run: Any, body: str, said: str) -> None:
    world.lay(f"{SITE}/feed", body)
    with pytest.raises(SourceFailed, match=said):
        await run.of(FeedSource(url=f"{SITE}/feed"))


# APIs


async def test_an_api_is_counted_through_until_a_page_is_empty(world: Any, run: Any) -> None:
    for page in range(4):
        items = [{"id": f"{page}/{n}", "slug": "a b"} for n in range(3)] if page < 3 else []
        world.lay(f"{SITE}/api?q=x&from={page * 3}", json.dumps({"data": {"items": items}}))
    said = ApiSource(
        url=f"{SITE}/api?from=9&q=x", items="$.data.items[*]", template=f"{SITE}/{{id}}?{{slug}}", parameter="from",
        start=0, step=3,
    )  # fmt: skip
    found = paths(await run.of(said, forgetful=True))
    assert (len(found), found[0]) == (9, "/0%2F0?a%20b")
    assert len(world.asked) == 4


async def test_an_api_is_followed_by_its_next_address_or_cursor(world: Any, run: Any) -> None:
    world.lay(f"{SITE}/api", json.dumps({"urls": ["/a", "b", 5, None], "next": "?after=2"}))
    world.lay(f"{SITE}/api?after=2", json.dumps({"urls": ["https://y.example/"], "next": None}))
    assert paths(await run.of(ApiSource(url=f"{SITE}/api", items="$.urls", next="$.next"))) == [
        "/a", "/b", "https://y.example/",
    ]  # fmt: skip
    assert run.skipped == 2
    world.lay(f"{SITE}/api", json.dumps({"ids": [1, 2], "cursor": "x=&y"}))
    world.lay(f"{SITE}/api?c=x%3D%26y", json.dumps({"ids": [3]}))
    by_cursor = ApiSource(url=f"{SITE}/api", items="$.ids[*]", template="/p/{value}", next="$.cursor", parameter="c")
    assert paths(await run.of(by_cursor)) == ["/p/1", "/p/2", "/p/3"]


async def test_an_api_ends_at_a_repeated_page_and_at_its_bound(world: Any, run: Any) -> None:
    for page in range(1, 6):
        body = json.dumps([f"/{min(page, 3)}"])
        world.lay(f"{SITE}/api?page={page}", body)
    said = ApiSource(url=f"{SITE}/api", items="$[*]", parameter="page")
    assert paths(await run.of(said)) == ["/1", "/2", "/3"]
    assert paths(await run.of(ApiSource(url=f"{SITE}/api", items="$[*]", parameter="page", max_pages=2))) == [
        "/1",
        "/2",
    ]
    world.lay(f"{SITE}/self", json.dumps({"u": ["/x"], "next": "/self"}))
    assert paths(await run.of(ApiSource(url=f"{SITE}/self", items="$.u", next="$.next"))) == ["/x"]


async def test_a_large_page_of_an_api_is_asked_for_once(world: Any, run: Any) -> None:
    world.lay(f"{SITE}/api", json.dumps([f"/{n}" for n in range(1_100)]))
    assert len(await run.of(ApiSource(url=f"{SITE}/api", items="$[*]"))) == 1_100
    assert len(world.asked) == 1


async def test_an_api_that_answers_with_something_else_says_so(world: Any, run: Any) -> None:
    world.lay(f"{SITE}/api", "<!doctype html>Log in")
    with pytest.raises(SourceFailed, match=r"answers with no JSON.*begins with '<!doctype html>Log in'"):
        await run.of(ApiSource(url=f"{SITE}/api", items="$[*]"))
    world.lay(f"{SITE}/api", "", status=401)
    with pytest.raises(SourceFailed, match=r"the API https://x\.example/api answered 401"):
        await run.of(ApiSource(url=f"{SITE}/api", items="$[*]"))


# Databases


@pytest.fixture
def shop(tmp_path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(tmp_path / "shop.db"))
    connection.execute("CREATE TABLE p(id INTEGER PRIMARY KEY, slug TEXT, url TEXT)")
    with connection:  # one commit
        connection.executemany(
            "INSERT INTO p(slug, url) VALUES (?, ?)", ((f"s {n}", f"{SITE}/{n}") for n in range(1_001))
        )
    return connection


@pytest.mark.parametrize("key", [None, "id", "slug"])
async def test_the_rows_of_a_query_come_by_five_hundred(run: Any, shop: apsw.Connection, key: str | None) -> None:
    query = "SELECT url, id, slug FROM p ORDER BY id; -- all of them"
    found = await run.of(SqlSource(connection="db", query=query.replace("; --", " --"), key=key))
    assert set(paths(found)) == {f"/{n}" for n in range(1_001)}
    assert [len(step.urls) for step in run.steps] == [500, 500, 1]
    assert "is none" not in str(run.notes)


async def test_rows_fill_a_template_and_bad_ones_are_counted(run: Any, shop: apsw.Connection) -> None:
    shop.execute("UPDATE p SET slug = NULL WHERE id = 2")
    said = SqlSource(
        connection="db", query="SELECT * FROM p WHERE id < 4", key="id", template=f"{SITE}/{{id}}?{{slug}}"
    )
    assert paths(await run.of(said)) == ["/1?s%200", "/3?s%202"]
    assert run.skipped == 1
    assert await run.of(SqlSource(connection="db", query="SELECT url FROM p WHERE 0")) == []


async def test_rows_that_come_and_go_while_they_are_read_by_a_key(world: Any, shop: apsw.Connection) -> None:
    said = SqlSource(connection="db", query="SELECT url, id FROM p", key="id")
    expander = Expander()
    first = await expander.step(said, None, world)
    shop.execute("DELETE FROM p WHERE id <= 400")
    second = await expander.step(said, first.cursor, world)
    assert second.urls[0] == f"{SITE}/500"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (SqlSource(connection="db", query="SELECT none FROM p"), "refuses the query: .*no such column: none"),
        (SqlSource(connection="other", query="SELECT 1"), "no connection is named 'other' in the settings; there are: db"),
        (SqlSource(connection="db", query="SELECT url, slug FROM p", key="id"), "no such column"),
        (SqlSource(connection="db", query="SELECT url, 5 AS k FROM p", key="k"), "is not unique: 5 is there twice"),
        (SqlSource(connection="db", query="SELECT url, id + 0.5 AS k FROM p", key="k"), "must be a whole number or a text"),
        (SqlSource(connection="db", query="SELECT 1) ; DELETE FROM p; --"), "may only be read|refuses the query"),
        (SqlSource(connection="db", query="SELECT load_extension('x')"), "may only be read|refuses the query"),
    ],
)  # fmt: skip
async def test_a_query_that_cannot_be_read_says_why(
    run: Any, shop: apsw.Connection, said: SqlSource, message: str
) -> None:
    with pytest.raises(SourceFailed, match=message):
        await run.of(said)
    assert shop.execute("SELECT count(*) FROM p").get == 1_001


# Files


def write(folder: Path, text: str | bytes, name: str = "urls.csv") -> CsvSource:
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return CsvSource(folder="in", file=name)


def said(**how: Any) -> CsvSource:
    return CsvSource(folder="in", file="urls.csv", **how)


async def test_a_file_is_read_on_from_a_byte(world: Any, run: Any) -> None:
    lines = [f'{n},"a ""b""\r\nc,ü",{SITE}/{n}' for n in range(1_001)]
    write(world.folder, "\ufeffid,text,url\r\n" + "\r\n".join(lines))
    found = await run.of(said(column="url"), forgetful=True)
    assert paths(found) == [f"/{n}" for n in range(1_001)]
    assert [len(step.urls) for step in run.steps] == [500, 500, 1]


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12), min_size=1, max_size=30),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"]),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 200),
)
def test_any_rows_are_read_whatever_parts_they_come_in(texts: list[str], encoding: str, end: str, part: int) -> None:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerow(["text", "url"])
    writer.writerows([text, f"{SITE}/{n}"] for n, text in enumerate(texts))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_file, "PART", part)
        world = World(Path(folder))
        write(world.folder, buffer.getvalue().encode(encoding))
        run = Run(world)
        found = asyncio.run(run.of(said(column="url", encoding=encoding), forgetful=True))
    assert (paths(found), run.skipped) == ([f"/{n}" for n in range(len(texts))], 0)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "gbk", "cp1252", "utf-8", "iso2022_jp"])
async def test_encodings(world: Any, run: Any, encoding: str) -> None:
    word = {"cp1252": "größe", "iso2022_jp": "日本"}.get(encoding, "鞋子")
    write(world.folder, f"wort;url\n{word};{SITE}/ਊ\n".replace("ਊ", "x").encode(encoding))
    found = await run.of(said(template="https://x.example/{wort:raw}", delimiter=";", encoding=encoding))
    assert len(found) == 1
    assert found == [(await run.of(Template(url="https://x.example/{k}", values={"k": (word,)})))[0]]


async def test_bad_lines_are_told_and_left_out(world: Any, run: Any) -> None:
    body = (
        f"url,n\n{SITE}/1,1\n".encode() + b'"broken"quote,2\n' + f"{SITE}/2,3\n\n".encode() + b"\xff\xfe,4\n"
        + f'{SITE}/3\n"{SITE}/4,5\n{SITE}/5,6\n'.encode()
    )  # fmt: skip
    write(world.folder, body)
    assert paths(await run.of(said(column="url"))) == ["/1", "/2", "/3", "/5"]
    assert run.skipped == 3
    assert run.notes == [
        """line 3 of urls.csv: ',' expected after '"'""",
        "line 6 of urls.csv: it is not written in utf-8",
        "line 8 of urls.csv: unexpected end of data",
    ]


async def test_a_quote_that_stays_open_does_not_swallow_the_file(world: Any, run: Any) -> None:
    many = "".join(f"{SITE}/{n}\n" for n in range(8_000))
    write(world.folder, f'url\n"{SITE}/lost\n{many}')
    found = await run.of(said())
    assert paths(found) == [f"/{n}" for n in range(8_000)]
    assert run.notes == ["line 2 of urls.csv: field larger than field limit (131072)"]


async def test_a_line_without_end_is_left_out(world: Any, run: Any) -> None:
    write(world.folder, f"url\n{'x,' * 1_000_000}\n{SITE}/1\n")
    assert paths(await run.of(said())) == ["/1"]
    assert "a row of more than 1048576 bytes" in run.notes[0]


async def test_columns_without_a_header(world: Any, run: Any) -> None:
    write(world.folder, f"7,{SITE}/1\n8,{SITE}/2")
    assert paths(await run.of(said(header=False, column="2"))) == ["/1", "/2"]
    assert paths(await run.of(said(header=False, template=f"{SITE}/n/{{1}}"))) == ["/n/7", "/n/8"]


async def test_a_file_that_cannot_be_read_says_why(world: Any, run: Any, tmp_path: Path) -> None:
    write(world.folder, "a,b\n1,2\n")
    (tmp_path / "out").symlink_to("/etc/hostname")
    for payload, message in (
        (said(column="url"), "has no column 'url'; its columns are a, b"),
        (CsvSource(folder="in", file="none.csv"), "can't be read: No such file"),
        (CsvSource(folder="in", file="out"), "leads out of the folder"),
        (CsvSource(folder="in", file="."), "is no file|can't be read: Is a directory"),
        (CsvSource(folder="other", file="x"), "no folder is named 'other' in the settings; there are: in"),
    ):
        with pytest.raises(SourceFailed, match=message):
            await run.of(payload)


async def test_a_file_that_is_replaced_meanwhile_is_not_read_on(world: Any) -> None:
    write(world.folder, "url\n" + "".join(f"{SITE}/{n}\n" for n in range(900)))
    expander = Expander()
    first = await expander.step(said(), None, world)
    with (world.folder / "urls.csv").open("a") as stream:
        stream.write(f"{SITE}/more\n")
    second = await expander.step(said(), first.cursor, world)
    assert second.urls[-1] == f"{SITE}/more"
    write(world.folder, "url\n" + "".join(f"{SITE}/b/{n}\n" for n in range(900)), "new.csv")
    (world.folder / "new.csv").rename(world.folder / "urls.csv")
    with pytest.raises(SourceFailed, match="was replaced while it was being read"):
        await expander.step(said(), first.cursor, world)


@given(
    st.one_of(
        st.binary(max_size=300),
        st.tuples(
            st.sampled_from([RSS, ATOM, RDF, json.dumps(JSON_FEED)]), st.integers(0, 1_000), st.binary(max_size=6)
        ).map(lambda cut: cut[0].encode()[: cut[1]] + cut[2] + cut[0].encode()[cut[1] + len(cut[2]) :]),
        st.recursive(st.none() | st.text(max_size=5) | st.integers(), st.lists, max_leaves=8).map(
            lambda v: json.dumps(v).encode()
        ),
    )
)
def test_no_answer_is_too_strange(body: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        world.lay(f"{SITE}/x", body)
        for said in (
            FeedSource(url=f"{SITE}/x", max_pages=2),
            SitemapSource(url=f"{SITE}/x"),
            ApiSource(url=f"{SITE}/x", items="$..*", next="$[0]", max_pages=2),
        ):
            found: list[str] = []
            with suppress(SourceFailed):
                found = asyncio.run(Run(world).of(said))
            assert all(url.startswith(("http://", "https://")) for url in found)
